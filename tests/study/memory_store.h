#pragma once
#include <algorithm>

#include "advise/answer.h"
#include "core/error.h"
#include "store/store.h"

namespace sweetspot::tests {

// A study in memory that outlives its writers; its disk can be full after some trials.
struct Kept {
  trial::Study study;
  std::size_t room = 1000;
  int saves = 0;
};

// What is stored as the answer, if it is of that kind.
template <class T>
std::optional<T> stored(const Kept& kept) {
  const advise::Answer answer = advise::answer_of(kept.study);
  const T* made = answer.get<T>();
  return made ? std::optional(*made) : std::nullopt;
}

class MemoryWriter : public store::Writer {
 public:
  explicit MemoryWriter(Kept& kept) : kept_(kept), opened_(kept.study) {}
  const trial::Study& study() const override { return opened_; }
  void save(std::span<trial::Trial> trials) override {
    const auto is_new = [](const trial::Trial& trial) { return trial.id == 0; };
    const auto added = static_cast<std::size_t>(std::ranges::count_if(trials, is_new));
    if (kept_.study.trials.size() + added > kept_.room)
      throw core::MachineError("the disk is full");
    for (trial::Trial& trial : trials) {
      if (!is_new(trial)) {
        kept_.study.trials[static_cast<std::size_t>(trial.id - 1)] = trial;
        continue;
      }
      trial.id = static_cast<std::int64_t>(kept_.study.trials.size()) + 1;
      kept_.study.trials.push_back(trial);
    }
    ++kept_.saves;
  }
  void amend(const trial::Trial& trial) override {
    trial::Trial& kept = kept_.study.trials[static_cast<std::size_t>(trial.id - 1)];
    std::vector<trial::Step> raw = std::move(kept.raw);
    kept = trial, kept.raw = std::move(raw);
  }
  void set_answer(const std::string& answer) override { kept_.study.answer = answer; }
  void set_end(trial::End end) override { kept_.study.end = end; }
  void set_running(std::int64_t batch) override { kept_.study.running = {batch, 0}; }

 private:
  Kept& kept_;
  trial::Study opened_;  // as it was when this writer opened it
};

}  // namespace sweetspot::tests
