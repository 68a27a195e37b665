#include "cli/power_guard.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <functional>
#include <sstream>
#include <system_error>

#include "cli/commands/commands.h"
#include "cli/output.h"
#include "core/error.h"
#include "core/number.h"
#include "core/text.h"
#include "probe/nvml/power_limit.h"

namespace sweetspot::cli {
namespace {

namespace nvml = probe::nvml;

std::string watts_of(double milliwatts) { return fmt::format("{:g} W", milliwatts / 1e3); }

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

// --- What the guard does.

struct Guarded {
  nvml::PowerLimit gpu;
  unsigned before_mw = 0;
  std::optional<unsigned> set_mw{};  // by us, last
};

class Guard {
 public:
  explicit Guard(std::vector<Guarded> gpus) : gpus_(std::move(gpus)) {}
  // However it ends.
  ~Guard() { put_back(); }

  std::string answer(const std::string& request) {
    if (request == "try") return set({});
    if (request == "look") return look();
    if (request == "end") return put_back();
    unsigned milliwatts = 0;
    if (std::istringstream(request) >> milliwatts) return set(milliwatts);
    return "unknown";
  }

 private:
  // nullopt: each to its current value, which the driver rejects without permission.
  std::string set(std::optional<unsigned> milliwatts) {
    for (Guarded& guarded : gpus_) {
      const unsigned wanted = milliwatts.value_or(guarded.before_mw);
      if (milliwatts) guarded.set_mw = milliwatts;
      const nvml::Status status = guarded.gpu.set_mw(wanted);
      if (status == nvml::Status::no_permission) return "denied";
      if (status != nvml::Status::ok)
        return fmt::format("failed {} {}", guarded.gpu.index(), static_cast<int>(status));
      if (milliwatts) guarded.set_mw = guarded.gpu.now_mw().value_or(wanted);  // it may round
    }
    return "ok";
  }

  std::string look() const {
    for (const Guarded& guarded : gpus_)
      if (const auto now = guarded.gpu.now_mw(); guarded.set_mw && now && *now != *guarded.set_mw)
        return fmt::format("changed {} {}", guarded.gpu.index(), *now);
    return "ok";
  }

  // A value that is no longer ours belongs to somebody else.
  std::string put_back() {
    std::string left;
    for (Guarded& guarded : gpus_) {
      if (!guarded.set_mw) continue;
      const auto now = guarded.gpu.now_mw();
      const bool is_ours = !now || *now == *guarded.set_mw;
      if (!is_ours)
        left += fmt::format(" {} {}", guarded.gpu.index(), *now);
      else if (guarded.gpu.set_mw(guarded.before_mw) != nvml::Status::ok)
        Output::talk(fmt::format(
            "sweetspot: the power limit of GPU {} could not be put back; run: {}",
            guarded.gpu.index(), limit_command({guarded.gpu.index()}, guarded.before_mw / 1e3)));
      guarded.set_mw.reset();
    }
    return left.empty() ? "ok" : "left" + left;
  }

  std::vector<Guarded> gpus_;
};

// A line up to a newline; nullopt at the end of file.
std::optional<std::string> read_line(int from) {
  std::string line;
  for (char c = 0;;) {
    const ssize_t got = ::read(from, &c, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    if (c == '\n') return line;
    line += c;
  }
}

bool write_line(int to, const std::string& line) {
  const std::string text = line + "\n";
  return ::send(to, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
}

int guard_power_limits(const std::string& gpus) {
  // Ctrl-C and a closed terminal are not for us: the socket shows when it is over.
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) ::signal(number, SIG_IGN);
  std::vector<Guarded> guarded;
  const nvml::PowerLimitsFound found = nvml::power_limits();
  for (const std::string& index : split(gpus))
    for (const nvml::PowerLimit& gpu : found.gpus)
      if (std::to_string(gpu.index()) == index)
        if (const auto now = gpu.now_mw()) guarded.push_back({gpu, *now});
  Guard guard(std::move(guarded));
  while (const auto request = read_line(STDIN_FILENO))
    if (!write_line(STDIN_FILENO, guard.answer(*request))) break;
  return 0;
}

std::string system_words() { return std::generic_category().message(errno); }

}  // namespace

PowerGuard::PowerGuard(int socket, int pid, std::vector<unsigned> gpus)
    : socket_(socket), pid_(pid), gpus_(std::move(gpus)) {}

std::unique_ptr<PowerGuard> PowerGuard::start(const std::vector<unsigned>& gpus,
                                              std::string& reason) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw core::MachineError(fmt::format("cannot make a socket: {}", system_words()));
  const std::string list = fmt::format("{}", fmt::join(gpus, ","));
  const char* const arguments[] = {"sweetspot", "power-guard", list.c_str(), nullptr};
  const pid_t pid = ::fork();
  if (pid < 0) {
    const std::string why = system_words();
    ::close(ends[0]), ::close(ends[1]);
    throw core::MachineError(fmt::format("cannot start another process: {}", why));
  }
  if (pid == 0) {
    ::setsid();
    ::dup2(ends[1], STDIN_FILENO);
    ::dup2(STDERR_FILENO, STDOUT_FILENO);  // stdout is for results
    ::execv("/proc/self/exe", const_cast<char* const*>(arguments));
    ::_exit(127);
  }
  ::close(ends[1]);
  std::unique_ptr<PowerGuard> guard(new PowerGuard(ends[0], pid, gpus));
  const std::string answer = guard->ask("try");
  if (answer == "ok") return guard;
  if (answer != "denied")
    throw core::MachineError(fmt::format(
        "the driver does not let power limits be set ({}); look at nvidia-smi -q -d POWER",
        answer));
  reason = fmt::format(
      "this user may not set power limits; run sweetspot with sudo, or set one yourself ({}) and "
      "leave out --power-limits",
      limit_command(gpus, 300));
  return nullptr;
}

PowerGuard::~PowerGuard() {
  std::istringstream left;
  try {
    left.str(ask("end"));
  } catch (const core::Error& error) {
    Output::talk(fmt::format("sweetspot: {}", error.what()));
  }
  ::close(socket_);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  std::string word;
  unsigned gpu = 0, milliwatts = 0;
  if (left >> word; word != "left") return;
  while (left >> gpu >> milliwatts)
    Output::talk(fmt::format(
        "sweetspot: somebody else set the power limit of GPU {} to {} meanwhile; it is left so",
        gpu, watts_of(milliwatts)));
}

std::string PowerGuard::ask(const std::string& request) {
  if (write_line(socket_, request))
    if (const auto answer = read_line(socket_)) return *answer;
  throw core::MachineError(fmt::format(
      "the process that puts power limits back is gone; see nvidia-smi -i {} -q -d POWER for the "
      "default, and set it with nvidia-smi -pl",
      fmt::join(gpus_, ",")));
}

void PowerGuard::set(double watts) {
  const std::string answer = ask(std::to_string(std::lround(1e3 * watts)));
  if (answer != "ok")
    throw core::MachineError(
        fmt::format("the driver does not set a power limit of {:g} W ({})", watts, answer));
}

std::optional<std::string> PowerGuard::changed() {
  std::istringstream answer(ask("look"));
  std::string word;
  unsigned gpu = 0, milliwatts = 0;
  if (!(answer >> word >> gpu >> milliwatts) || word != "changed") return std::nullopt;
  return fmt::format("somebody else set the power limit of GPU {} to {} while it ran", gpu,
                     watts_of(milliwatts));
}

std::vector<double> parse_power_limits(const std::string& text) {
  constexpr const char* flag = "--power-limits";
  std::vector<double> watts;
  for (std::string part : split(text)) {
    part = core::trimmed(part);
    if (part.ends_with('W') || part.ends_with('w')) part.pop_back();
    watts.push_back(core::parse_real(core::trimmed(part), flag, {0, false}, {1e5}));
  }
  if (watts.empty()) throw core::InputError("--power-limits has none; write for example 300W,500W");
  std::ranges::sort(watts, std::greater());
  watts.erase(std::unique(watts.begin(), watts.end()), watts.end());
  return watts;
}

std::vector<unsigned> gpus_to_limit(const std::string& visible_devices, const std::string& bus_id,
                                    const std::vector<double>& watts) {
  const nvml::PowerLimitsFound found = nvml::power_limits();
  const std::vector<std::string> visible = split(visible_devices);
  const auto is_visible = [&](const nvml::PowerLimit& gpu) {
    if (!bus_id.empty()) return probe::gpu::is_same_bus(gpu.bus_id(), bus_id);
    return visible.empty() || std::ranges::any_of(visible, [&](const std::string& name) {
             return name == std::to_string(gpu.index()) ||
                    (name.starts_with("GPU-") && gpu.uuid().starts_with(name));
           });
  };
  std::vector<unsigned> chosen;
  for (const nvml::PowerLimit& gpu : found.gpus) {
    if (!is_visible(gpu)) continue;
    const std::string name = fmt::format("GPU {} ({})", gpu.index(), core::printable(gpu.name()));
    const auto range = gpu.range();
    if (!range || !gpu.now_mw())
      throw core::InputError(
          fmt::format("{} has no power limit that could be set; leave out --power-limits", name));
    for (const double each : watts)
      if (1e3 * each < range->least_mw || 1e3 * each > range->most_mw)
        throw core::InputError(fmt::format("--power-limits: {} allows {:g} to {} and not {:g} W",
                                           name, range->least_mw / 1e3, watts_of(range->most_mw),
                                           each));
    chosen.push_back(gpu.index());
  }
  if (chosen.empty())
    throw core::InputError(
        fmt::format("--power-limits needs an NVIDIA GPU that the trials run on{}; leave it out",
                    found.reason.empty() ? "" : ", and " + found.reason));
  return chosen;
}

std::string limit_command(const std::vector<unsigned>& gpus, double watts) {
  return fmt::format("sudo nvidia-smi -i {} -pl {:g}", fmt::join(gpus, ","), watts);
}

void add_power_guard(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand(
      "power-guard", "puts power limits back when the sweetspot that set them is gone");
  command->group("");  // hidden: a sweetspot starts it, with a socket as its input
  const auto gpus = std::make_shared<std::string>();
  command->add_option("gpus", *gpus)->required();
  command->callback(
      [&chosen, gpus] { chosen = [gpus](Output&) { return guard_power_limits(*gpus); }; });
}

}  // namespace sweetspot::cli
