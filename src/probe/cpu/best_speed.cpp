#include "probe/cpu/best_speed.h"

#include <nlohmann/json.hpp>

#include "probe/cpu/cache_file.h"
#include "probe/proc/host.h"
#include "probe/proc/text_file.h"

namespace sweetspot::probe::cpu {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int best_speed_schema = 2;

std::string this_boot() { return proc::read_text("/proc/sys/kernel/random/boot_id").value_or(""); }

Json key(const std::string& boot, int cores) {
  return {{"schema_version", best_speed_schema}, {"boot", boot}, {"cores", cores}};
}

}  // namespace

std::optional<Beat> read_best_speed(const fs::path& file, const std::string& boot, int cores) {
  const Json json = Json::parse(proc::read_text(file).value_or(""), nullptr, false);
  if (!json.is_object()) return std::nullopt;
  const Json wanted = key(boot, cores);
  for (const auto& [name, value] : wanted.items())
    if (json.value(name, Json()) != value) return std::nullopt;
  const Json additions = json.value("additions_per_second", Json());
  const Json exchange = json.value("exchange_bytes_per_second", Json());
  if (!additions.is_number() || !exchange.is_number()) return std::nullopt;
  return Beat{additions.get<double>(), exchange.get<double>()};
}

bool write_best_speed(const fs::path& file, const std::string& boot, int cores, const Beat& speed) {
  Json json = key(boot, cores);
  json["additions_per_second"] = speed.additions_per_second;
  json["exchange_bytes_per_second"] = speed.exchange_bytes_per_second;
  return write_cache(file, json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

std::optional<Beat> best_speed_so_far() {
  const auto file = cache_file("best-speed.json");
  if (!file) return std::nullopt;
  return read_best_speed(*file, this_boot(), proc::usable_cores());
}

void remember_best_speed(const Beat& speed) {
  if (const auto file = cache_file("best-speed.json"))
    write_best_speed(*file, this_boot(), proc::usable_cores(), speed);
}

}  // namespace sweetspot::probe::cpu
