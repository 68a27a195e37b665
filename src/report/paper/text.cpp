#include "core/text.h"

#include <fmt/format.h>

#include "report/epochs.h"
#include "report/paper/forms.h"
#include "report/text/table.h"

namespace sweetspot::report::paper {
namespace {

std::vector<std::int64_t> epochs_of(const Experiment& experiment) {
  std::vector<std::int64_t> list;
  for (std::int64_t i = 1; i <= experiment.epochs; ++i) list.push_back(i);
  return list;
}

std::string heading(const Device& device) {
  return fmt::format("{} ({})", device.is_gpu() ? "GPU" : "CPU", core::printable(device.hardware));
}

std::string device_tables(const Experiment& experiment, const std::string& mark) {
  std::string text;
  for (const Device& device : experiment.devices)
    text += fmt::format("{}{}\n\n{}\n", mark, heading(device),
                        epoch_tables(device.trials, epochs_of(experiment)));
  return text;
}

std::string verdict_mark(Verdict verdict) {
  switch (verdict) {
    case Verdict::holds:
      return "✓";
    case Verdict::does_not_hold:
      return "✗";
    case Verdict::undecided:
      return "?";
    case Verdict::not_tested:
      return "–";
  }
  return "";
}

}  // namespace

std::string text(const Experiment& experiment, const std::vector<Claim>& claims) {
  std::string out = device_tables(experiment, "");
  out += "What the paper says, and what this machine says to it\n\n";
  for (const Claim& claim : claims) {
    out += fmt::format("{} {} ({}): {}\n    {}\n", verdict_mark(claim.verdict), claim.says,
                       claim.source, words(claim.verdict), claim.evidence);
    if (!claim.overhead.empty()) out += fmt::format("    {}\n", claim.overhead);
  }
  out += "\n";
  for (const std::string& sentence : method(experiment)) out += fmt::format("- {}\n", sentence);
  return out;
}

std::string markdown(const Experiment& experiment, const std::vector<Claim>& claims) {
  std::string out = "# The paper on this machine\n\n";
  if (!experiment.message.empty()) out += experiment.message + "\n\n";
  Table table({{"the paper says", true}, {"where", true}, {"here", true}, {"evidence", true}});
  for (const Claim& claim : claims)
    table.add({claim.says, claim.source, fmt::format("**{}**", words(claim.verdict)),
               claim.overhead.empty() ? claim.evidence : claim.evidence + "; " + claim.overhead});
  out += table.text() + "\n" + device_tables(experiment, "## ") + "## How\n\n";
  for (const std::string& sentence : method(experiment)) out += fmt::format("- {}\n", sentence);
  return out;
}

}  // namespace sweetspot::report::paper
