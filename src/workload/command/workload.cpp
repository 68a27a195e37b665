#include "workload/command/workload.h"

#include "workload/command/batch_destinations.h"
#include "workload/command/program_trials.h"
#include "workload/command/session.h"

namespace sweetspot::workload::command {

CommandWorkload::CommandWorkload(Options options)
    : trials_(std::make_unique<Trials>(std::move(options))) {}

CommandWorkload::~CommandWorkload() {
  try {
    finish();
  } catch (...) {
  }
}

std::string CommandWorkload::name() const { return title(trials_->options()); }

std::string CommandWorkload::device() const {
  return trials_->device().empty() ? "cpu" : trials_->device();
}

std::optional<std::string> CommandWorkload::batch_handover() const {
  if (trials_->options().batch_arrives) return std::nullopt;
  return batch_destinations_words(trials_->options());
}

std::unique_ptr<Session> CommandWorkload::open(const trial::Setting& setting) {
  return std::make_unique<CommandSession>(*trials_, setting);
}

void CommandWorkload::finish() { trials_->finish(); }

}  // namespace sweetspot::workload::command
