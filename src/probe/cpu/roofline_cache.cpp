#include <nlohmann/json.hpp>

#include "probe/cpu/cache_file.h"
#include "probe/cpu/roofline.h"
#include "probe/proc/text_file.h"

namespace sweetspot::probe::cpu {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int roofline_schema = 1;  // a file of another one is measured again, and replaced

// The entries, or none where the file is missing, cut short or not ours.
Json entries_of(const fs::path& file) {
  const Json json = Json::parse(proc::read_text(file).value_or(""), nullptr, false);
  if (!json.is_object() || json.value("schema_version", Json()) != roofline_schema)
    return Json::array();
  const Json entries = json.value("entries", Json());
  return entries.is_array() ? entries : Json::array();
}

bool is_of(const Json& entry, const RooflineKey& key) {
  return entry.is_object() && entry.value("cpu", Json()) == key.cpu &&
         entry.value("threads", Json()) == key.threads;
}

std::optional<double> positive(const Json& entry, const char* name) {
  const Json value = entry.value(name, Json());
  if (!value.is_number() || !(value.get<double>() > 0)) return std::nullopt;
  return value.get<double>();
}

}  // namespace

std::optional<Roofline> read_roofline(const fs::path& file, const RooflineKey& key) {
  for (const Json& entry : entries_of(file)) {
    if (!is_of(entry, key)) continue;
    const auto flops = positive(entry, "flops_per_second");
    const auto bytes = positive(entry, "bytes_per_second");
    if (flops && bytes) return Roofline{*flops, *bytes};
  }
  return std::nullopt;
}

bool write_roofline(const fs::path& file, const RooflineKey& key, const Roofline& roofline) {
  Json kept = Json::array();
  for (const Json& entry : entries_of(file))
    if (!is_of(entry, key)) kept.push_back(entry);
  kept.push_back({{"cpu", key.cpu},
                  {"threads", key.threads},
                  {"flops_per_second", roofline.flops_per_second},
                  {"bytes_per_second", roofline.bytes_per_second}});
  return write_cache(file, Json{{"schema_version", roofline_schema}, {"entries", kept}}.dump(
                               2, ' ', false, Json::error_handler_t::replace) +
                               "\n");
}

std::optional<fs::path> roofline_file() { return cache_file("roofline.json"); }

}  // namespace sweetspot::probe::cpu
