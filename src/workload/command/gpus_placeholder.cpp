#include <cstdlib>
#include <sstream>

#include "core/error.h"
#include "core/placeholders.h"
#include "workload/command/gpu/gpus.h"
#include "workload/command/options.h"

namespace sweetspot::workload::command {
namespace {

constexpr const char* placeholder = "{gpus}";

std::vector<std::string*> texts_of(Options& options) {
  std::vector<std::string*> texts;
  for (std::string& argument : options.argv) texts.push_back(&argument);
  for (auto& [name, value] : options.environment) texts.push_back(&value);
  for (auto* hook : {&options.setup, &options.prepare, &options.conclude, &options.cleanup})
    if (*hook) texts.push_back(&**hook);
  for (Edit& edit : options.edits) texts.push_back(&edit.value);
  return texts;
}

// CUDA_VISIBLE_DEVICES lists them up to the first that is none.
std::optional<int> listed(const Options& options) {
  constexpr const char* variable = "CUDA_VISIBLE_DEVICES";
  const char* ours = std::getenv(variable);
  std::optional<std::string> list = ours ? std::optional<std::string>(ours) : std::nullopt;
  for (const auto& [name, value] : options.environment)
    if (name == variable) list = value;
  if (!list) return std::nullopt;
  int count = 0;
  std::istringstream parts(*list);
  for (std::string part; std::getline(parts, part, ',') && !part.empty() && part[0] != '-';)
    ++count;
  return count;
}

int visible(const Options& options) {
  if (const auto count = listed(options)) return *count;
  constexpr core::Seconds patience{60};
  const gpu::Gpus gpus;
  const std::vector<gpu::Device>* found = gpus.within(patience);
  return found ? static_cast<int>(found->size()) : 0;
}

}  // namespace

void settle_gpus(Options& options) {
  bool used = false;
  for (const std::string* text : texts_of(options))
    used = used || text->find(placeholder) != text->npos;
  if (options.folder)
    used = used || options.folder->string().find(placeholder) != std::string::npos;
  if (!used && options.batch_is == trial::BatchIs::unsaid) return;
  if (!options.gpus) options.gpus = visible(options);
  if (*options.gpus == 0)
    throw core::InputError(
        "no GPU can be seen whose number could be counted; say --gpus N, for processes on the CPU "
        "too");
  const std::vector<core::Placeholder> placeholders = {
      {placeholder, std::to_string(*options.gpus)}};
  for (std::string* text : texts_of(options)) *text = core::filled(*text, placeholders);
  if (options.folder) options.folder = core::filled(options.folder->string(), placeholders);
}

}  // namespace sweetspot::workload::command
