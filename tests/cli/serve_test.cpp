// The dashboard's command, as a process beside the process that measures.
#include <csignal>
#include <functional>
#include <nlohmann/json.hpp>

#include "cli/support.h"
#include "serve/support.h"
#include "temporary_folder.h"
#include "words.h"

namespace sweetspot::tests {
namespace {

using testing::StartsWith;

class ServeCommand : public testing::Test {
 protected:
  // Serves a database on a free port until `meanwhile`, which is given the URL's host and token,
  // has returned.
  Finished serve(std::vector<std::string> more,
                 const std::function<void(const std::string&, const std::string&)>& meanwhile) {
    Launch launch;
    launch.arguments = {"serve", "--port", "0", "--db", database()};
    launch.arguments.insert(launch.arguments.end(), more.begin(), more.end());
    launch.stdout_file = (folder_ / "url").string();
    launch.cues = {{"until Ctrl-C", [&](pid_t server) {
                      const std::string url = read_file(folder_ / "url");
                      const std::size_t host = url.find("//") + 2, end = url.find('/', host);
                      meanwhile(url.substr(host, end - host),
                                url.substr(end, url.size() - end - 1));
                      kill(server, SIGINT);
                    }}};
    return run(launch);
  }
  std::string database() const { return (folder_ / "a.db").string(); }
  void sweep(const std::string& batches) const {
    const Finished finished = run({"sweep", "--workload", "fake:fixed=2ms,sample=10us", "--batch",
                                   batches, "--db", database()});
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
  }
  TemporaryFolder folder_;
};

TEST_F(ServeCommand, ShowsAStudyOfAnotherProcessWhileItRuns) {
  const Finished finished = serve({}, [&](const std::string& host, const std::string& target) {
    EXPECT_THAT(target, StartsWith("/?token="));
    Client stream(host);
    stream.send(request("/events" + target.substr(1), host));
    stream.read_until("event: study");
    sweep("16,48");
    const std::string events = stream.read_until("\"batch\":48");
    EXPECT_NE(events.find("\"batch\":16"), std::string::npos);
    const std::string page = ask(host, request(target, host));
    EXPECT_EQ(status_of(page), 200);
    EXPECT_NE(page.find("sha256-"), std::string::npos);
    EXPECT_EQ(status_of(ask(host, request("/", host))), 403);
    EXPECT_EQ(status_of(ask(host, request(target, "evil.example"))), 421);
  });
  EXPECT_EQ(finished.exit_code, 130) << finished.err;
  EXPECT_WORDS(finished.err);
}

TEST_F(ServeCommand, ShowsItToAllOfThisMachineWhenAsked) {
  const Finished finished = serve({"--no-token", "--allow-host", "Tunnel:9"},
                                  [&](const std::string& host, const std::string& target) {
                                    EXPECT_EQ(target, "/");
                                    EXPECT_EQ(status_of(ask(host, request("/", host))), 200);
                                    EXPECT_EQ(status_of(ask(host, request("/", "tunnel:9"))), 200);
                                    EXPECT_EQ(status_of(ask(host, request("/", "tunnel:10"))), 421);
                                  });
  EXPECT_EQ(finished.exit_code, 130) << finished.err;
}

TEST_F(ServeCommand, SaysItsUrlAsJson) {
  Launch launch;
  launch.arguments = {"serve", "--port", "0", "--json", "--db", database()};
  launch.signal_when_seen = "until Ctrl-C";
  launch.signal = SIGTERM;
  const Finished finished = run(launch);
  EXPECT_EQ(finished.exit_code, 143);
  EXPECT_THAT(json_of(finished)["url"].get<std::string>(), StartsWith("http://127.0.0.1:"));
}

TEST_F(ServeCommand, RefusesWhatCannotBeServed) {
  const std::string db = database();
  for (const char* host : {"0.0.0.0", "::"})
    expect_sentence(run({"serve", "--db", db, "--host", host, "--no-token"}), 2);
  expect_sentence(run({"serve", "--db", db, "--host", "example.org"}), 2);
  expect_sentence(run({"serve", "--db", db, "--port", "65536"}), 2);
  expect_sentence(run({"serve", "--db", (folder_ / "no" / "a.db").string()}), 2);
  write_file(db, std::string(5000, 'x'));
  expect_sentence(run({"serve", "--db", db, "--port", "0"}), 2);
  const serve::http::Listener taken = serve::http::listen({});
  const std::string port = taken.host.substr(taken.host.find(':') + 1);
  expect_sentence(run({"serve", "--db", (folder_ / "b.db").string(), "--port", port}), 1, port);
}

}  // namespace
}  // namespace sweetspot::tests
