#include "cluster/slurm/slurm.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <map>

#include "core/error.h"
#include "core/shell.h"
#include "core/text.h"

namespace sweetspot::cluster::slurm {
namespace {

struct Said {
  std::string text;
  bool worked = false;
};

Said run(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += core::shell_word(word) + " ";
  FILE* pipe = ::popen((line + "2>&1").c_str(), "r");
  if (!pipe) return {};
  Said said;
  std::array<char, 4096> bytes;
  for (std::size_t count; (count = std::fread(bytes.data(), 1, bytes.size(), pipe)) > 0;)
    said.text.append(bytes.data(), count);
  said.worked = ::pclose(pipe) == 0;
  return said;
}

std::string first_line(const std::string& text) {
  return core::printable(text.substr(0, text.find('\n')));
}

bool is_job(std::string_view id) {
  return !id.empty() && id.find_first_not_of("0123456789") == std::string_view::npos;
}

// From "1234" or, with several clusters, "1234;cluster": the last line, after warnings.
std::string job_id(const std::string& text) {
  const std::size_t end = text.find_last_not_of(" \r\n");
  if (end == std::string::npos) return "";
  const std::string last = text.substr(text.rfind('\n', end) + 1);
  return last.substr(0, last.find_first_of("; \r\n"));
}

class SlurmScheduler : public Scheduler {
 public:
  explicit SlurmScheduler(Options options) : options_(std::move(options)) {}

  std::string submit(std::span<const std::size_t> tasks) override {
    const std::filesystem::path script = options_.folder / "job.sh";
    std::ofstream(script) << job_script(options_, tasks);
    const Said said = run({"sbatch", "--parsable", script.string()});
    const std::string id = job_id(said.text);
    if (!said.worked || !is_job(id))
      throw core::InputError(fmt::format(
          "Slurm did not take the job ({}); see sbatch --help for what can be passed on, "
          "and sinfo for "
          "what there is",
          first_line(said.text)));
    submitted_[id].assign(tasks.begin(), tasks.end());
    return id;
  }

  std::vector<Task> tasks(const std::string& job) override {
    const Said said = run({"squeue", "--array", "--noheader", "--states=all", "--jobs=" + job,
                           "--format=%K|%T|%r|%N"});
    if (said.worked) {
      std::vector<Task> found = parse_tasks(said.text, submitted_[job], options_.folder);
      if (!found.empty()) return found;
    }
    // Slurm forgets jobs some minutes after their end; its accounting does not, if enabled.
    const Said accounts = run({"sacct", "--noheader", "--parsable2", "--allocations",
                               "--jobs=" + job, "--format=JobID,State,ExitCode,NodeList"});
    if (accounts.worked) return parse_tasks(accounts.text, submitted_[job], options_.folder);
    throw core::MachineError(
        fmt::format("Slurm tells nothing of job {} ({}); see that squeue works here, and run the "
                    "same command again",
                    job, first_line(said.text)));
  }

  void cancel(const std::string& job) override { run({"scancel", job}); }

 private:
  Options options_;
  std::map<std::string, std::vector<std::size_t>> submitted_;  // by job
};

}  // namespace

std::unique_ptr<Scheduler> open(const Options& options) {
  return std::make_unique<SlurmScheduler>(options);
}

}  // namespace sweetspot::cluster::slurm
