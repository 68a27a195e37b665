#include <fmt/format.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/flags/flags.h"
#include "cli/output.h"
#include "cli/signals.h"
#include "core/error.h"
#include "core/text.h"
#include "serve/dashboard.h"
#include "serve/http/server.h"

namespace sweetspot::cli {
namespace {

namespace http = serve::http;
using Json = nlohmann::ordered_json;

constexpr int default_port = 8177, last_port = 65535;
constexpr int background_priority = 10;

struct ServeFlags {
  std::optional<std::string> db;
  std::string host = "127.0.0.1";
  int port = default_port;
  std::vector<std::string> allowed_hosts;
  bool no_token = false, json = false;
};

void check(const ServeFlags& flags) {
  if (flags.no_token && !http::is_loopback(flags.host))
    throw core::InputError(
        fmt::format("--no-token would show the studies to whoever reaches {}; leave it out, or "
                    "leave out --host",
                    core::printable(flags.host)));
}

// "name" is the name with our port; behind a tunnel with another port, "name:port".
void allow(const std::vector<std::string>& asked, http::Listener& listener) {
  const std::string port = listener.host.substr(listener.host.rfind(':'));
  for (const std::string& host : asked) {
    const bool has_port = host.rfind(':') != std::string::npos && !host.ends_with(']');
    listener.hosts.push_back(core::lower(has_port ? host : host + port));
  }
}

void say_where(const ServeFlags& flags, const std::string& url, const std::string& db, bool empty,
               Output& output) {
  if (flags.json) {
    Json json = result_object();
    json["url"] = url;
    json["db"] = db;
    output.print_json(json);
  } else {
    output.print(url + "\n");
  }
  Output::talk(fmt::format("the studies of {}, live and read-only, until Ctrl-C{}",
                           core::printable(db),
                           empty ? "; there is none yet: the page fills when one begins" : ""));
  if (!http::is_loopback(flags.host))
    Output::talk(
        "sweetspot: this is not encrypted: whoever is on the way sees the token and the studies; "
        "ssh -L is safer");
}

// Over SSH the URL refers to the remote machine's loopback.
void say_tunnel(const ServeFlags& flags, const http::Listener& listener) {
  if (!std::getenv("SSH_CONNECTION") || !http::is_loopback(flags.host)) return;
  const std::string port = listener.host.substr(listener.host.rfind(':') + 1);
  Output::talk(fmt::format("from your own machine: ssh -L {}:{} THIS-MACHINE, then the same URL",
                           port, listener.host));
}

int run(const ServeFlags& flags, Output& output) {
  check(flags);
  const std::string db = store::store_url(flags.db);
  const std::unique_ptr<store::Store> store = store::open_store(db);
  const bool empty = store->studies().empty();  // reports a bad database first
  http::Listener listener = http::listen({flags.host, static_cast<std::uint16_t>(flags.port)});
  allow(flags.allowed_hosts, listener);
  const std::string token = flags.no_token ? "" : http::random_token();
  const std::string url = fmt::format("http://{}/{}", listener.host,
                                      token.empty() ? "" : fmt::format("?token={}", token));
  const SignalDescriptor signals;
  // A concurrent study has priority.
  setpriority(PRIO_PROCESS, 0, background_priority);
  say_where(flags, url, db, empty, output);
  say_tunnel(flags, listener);
  serve::Dashboard dashboard(*store, token);
  const http::Access access(listener.hosts, token);
  http::serve(std::move(listener), access, dashboard, signals.number());
  return 128 + signals.received();
}

}  // namespace

void add_serve(CLI::App& app, Action& chosen) {
  CLI::App* command =
      app.add_subcommand("serve", "show the studies as a live page in the browser, until Ctrl-C");
  const auto flags = std::make_shared<ServeFlags>();
  db_flag(*command, flags->db);
  whole_flag(*command, "--port", flags->port, {0, last_port}, "0: any free port");
  command
      ->add_option("--host", flags->host,
                   "the address to listen on; others than the loopback are reachable from outside")
      ->type_name("ADDRESS")
      ->capture_default_str();
  command
      ->add_option("--allow-host", flags->allowed_hosts,
                   "an additional Host name, or name:port, that browsers may use; may be repeated")
      ->type_name("NAME")
      ->allow_extra_args(false);
  command->add_flag("--no-token", flags->no_token,
                    "let every user of this machine read; only on the loopback");
  command->add_flag("--json", flags->json, "the URL as one JSON object on stdout");
  command->footer(
      "\nExamples:\n"
      "  sweetspot serve                     in one terminal, sweetspot tune in another\n"
      "  sweetspot serve --db other.db --port 0");
  command->callback(
      [&chosen, flags] { chosen = [flags](Output& output) { return run(*flags, output); }; });
}

}  // namespace sweetspot::cli
