#include "architecture/tables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sweetspot::architecture {

const std::vector<Part>& parts() {
  static const std::vector<Part> list = {
      {"cli", "arguments, progress, exit codes", {"tuning", "sweep", "serve", "report"}},
      {"api", "the library of include/sweetspot", {"tuning", "report"}},
      {"serve", "live dashboard", {"report", "store"}},
      {"sweep", "every point of a grid, here or elsewhere", {"learning", "cluster"}},
      {"learning",
       "trials that train, and their studies: to a target, in branches",
       {"study", "convergence"}},
      {"tuning", "a whole tune: search, checks of the answer, confirmation", {"study"}, {"engine"}},
      {"study",
       "the loop: ask, measure, tell",
       {"measure", "search", "advise", "store"},
       {"engine"}},
      {"cluster", "Slurm and the files of its tasks, mpirun", {"store"}},
      {"report", "table, html, csv, json", {"advise", "trial"}},
      {"advise", "diagnosis, recommendation", {"search", "convergence", "collective"}},
      {"search", "what the trials say, what next", {"energy", "memory"}},
      {"measure", "rounds of trials", {"workload", "telemetry"}, {"engine"}},
      {"workload", "run steps at this setting", {"engine", "data", "probe", "trial"}},
      {"telemetry",
       "readings of the device and contention during a trial",
       {"engine", "probe", "trial"}},
      {"engine", "plan and run training steps", {"model", "convergence", "collective"}},
      {"energy", "power over the batch", {"stats"}},
      {"memory", "memory over the batch, and its limits", {"stats", "trial"}},
      {"convergence", "noise scale, critical batch, learning-rate rules, sharpness", {"stats"}},
      {"collective", "sums over ranks, and the time they take", {"core"}},
      {"data", "data sets, input pipeline", {"core"}},
      {"model", "Keras JSON, shapes, the zoo", {"core"}},
      {"probe", "readings of the machine", {"core"}},
      {"store", "trial history", {"trial"}},
      {"trial", "plain values", {"core"}},
      {"stats", "estimates, intervals, fits", {"core"}},
      {"core", "units, errors, text, buffers", {}},
  };
  return list;
}

const std::vector<FolderUse>& folder_uses() {
  static const std::vector<FolderUse> list = {
      {"cli/commands", {"cli/flags", "cli/help", "cli/live"}},
      {"engine/cuda/ops", {"engine/cuda/kernels"}},
      {"probe/cpu", {"probe/proc"}},
      {"report/compare", {"report/charts", "report/html"}},
      {"report/html", {"report/charts", "report/text"}},
      {"report/paper", {"report/charts"}},
      {"report/text", {"report/charts"}},
      {"workload/command/client", {"workload/command/process"}},
      {"workload/command/gpu", {"workload/command/process"}},
  };
  return list;
}

const std::vector<Dependency>& dependencies() {
  static const std::vector<Dependency> list = {
      {"SIMD intrinsics", R"(immintrin\.h)", {"engine/cpu/"}},
      {"the CUDA runtime", R"(cuda.*)", {"engine/cuda/", "collective/gpu/"}},
      {"NCCL", R"(nccl\.h)", {"collective/gpu/"}},
      {"MPI", R"(mpi\.h)", {"collective/mpi/"}},
      {"SQLite, SQLiteCpp", R"(sqlite3\.h|SQLiteCpp/.*)", {"store/sqlite/"}},
      {"libpq", R"(libpq.*)", {"store/postgres/"}},
      {"zlib, OpenSSL, libcurl", R"(zlib\.h|openssl/.*|curl/.*)", {"data/"}},
      {"Boost.Math", R"(boost/math/.*)", {"stats/"}},
      {"Boost.CRC", R"(boost/crc\.hpp)", {"report/exports/"}},
      {"Boost.Beast, Boost.Asio", R"(boost/(?!math/|crc\.).*)", {"serve/http/"}},
      {"CLI11", R"(CLI/.*)", {"cli/"}},
      {"PCRE2", R"(pcre2.*)", {"workload/command/output/"}},
      {"libyaml, toml++", R"(yaml\.h|toml\+\+/.*)", {"workload/command/config/"}},
  };
  return list;
}

std::string graph() {
  std::string text = "graph TD\n";
  for (const Part& part : parts()) {
    text += fmt::format("  {0}[<b>{0}</b><br>{1}]", part.name, part.what);
    if (!part.uses.empty()) text += fmt::format(" --> {}", fmt::join(part.uses, " & "));
    text += '\n';
  }
  return text;
}

std::string dependency_table() {
  std::string text = "| dependency | included in |\n|---|---|\n";
  for (const Dependency& dependency : dependencies())
    text += fmt::format("| {} | `src/{}` |\n", dependency.name,
                        fmt::join(dependency.folders, "`, `src/"));
  return text;
}

}  // namespace sweetspot::architecture
