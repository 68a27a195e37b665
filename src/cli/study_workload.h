#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "advise/request.h"
#include "cli/flags/native_flags.h"
#include "cli/flags/study_flags.h"
#include "core/buffer.h"
#include "measure/measure.h"
#include "report/command.h"
#include "store/store.h"
#include "trial/study.h"
#include "workload/training.h"
#include "workload/workload.h"

namespace sweetspot::cli {

// The `sweetspot train` command line with the given flags, at any setting.
report::Command train_command(const NativeFlags& flags);

// The workload that the flags name, ready to be measured, and what is known of it.
struct StudyWorkload {
  std::unique_ptr<workload::Workload> workload;  // one of the two
  std::unique_ptr<workload::Training> training;
  std::string title;  // "paper-cnn on mnist"
  trial::Setting base;
  advise::RunFacts facts;
  advise::Roofline operations_roofline;  // as in the facts, and a GPU's rated one
  int threads = 1;
  workload::native::Device device;
  std::vector<std::string> reasons;  // in addition to those of the search
  report::Command command;           // trains at any setting
  std::string identity;              // JSON, for the study key
  // How its trials are measured: a program is started for each, and observed from outside.
  measure::MeasureOptions measure;
  std::optional<int> most_workers;  // if the program lets them be chosen
  int ranks = 1;                    // of ours that make a step together
  int batch_parts = 1;              // GPUs that a program's batch is divided among
  trial::Setting handed(trial::Setting setting) const {
    return setting.batch /= batch_parts, setting;
  }
};
StudyWorkload open_workload(const StudyFlags& flags);
// The same for training instead of timing: by epochs, with the sharpness of each end point if
// requested, and a program until it is stopped.
StudyWorkload open_training(const StudyFlags& flags, bool sharpness = false);
// What its trials may take of the free memory, and what the flags say of their results.
void add_limits(const StudyFlags& flags, StudyWorkload& opened);
// What the flags ask of it, as far as all commands have it in common.
advise::Request request_of(const StudyFlags& flags, const StudyWorkload& opened,
                           advise::Request::Kind kind);
// The study of this key, resumed or new. One that could not confirm the batch is restarted, unless
// the user says that it arrives: something other than the command was fixed.
std::unique_ptr<store::Writer> open_study(store::Store& store, const trial::StudyKey& study_key,
                                          const StudyWorkload& opened, const StudyFlags& flags);
// What the store keeps about this program and machine, with the facts of the run.
trial::Environment store_environment(const StudyWorkload& opened);

}  // namespace sweetspot::cli
