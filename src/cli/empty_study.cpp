#include "cli/empty_study.h"

#include "core/error.h"

namespace sweetspot::cli {
namespace {

class RemovedIfEmpty : public store::Writer {
 public:
  RemovedIfEmpty(store::Store& store, std::unique_ptr<store::Writer> writer)
      : store_(store), writer_(std::move(writer)), is_empty_(writer_->study().trials.empty()) {}

  ~RemovedIfEmpty() override {
    const bool remove = is_empty_ && writer_->study().answer.empty();
    const std::int64_t id = writer_->study().id;
    writer_.reset();  // and its lock with it
    if (!remove) return;
    try {
      store_.remove(id);
    } catch (const core::Error&) {  // an empty study that stays harms nobody
    }
  }

  const trial::Study& study() const override { return writer_->study(); }
  void save(std::span<trial::Trial> trials) override {
    writer_->save(trials);
    is_empty_ = is_empty_ && trials.empty();
  }
  void amend(const trial::Trial& trial) override { writer_->amend(trial); }
  void set_answer(const std::string& answer) override { writer_->set_answer(answer); }
  void set_state(trial::StudyState state) override { writer_->set_state(state); }
  void set_running(std::int64_t batch) override { writer_->set_running(batch); }

 private:
  store::Store& store_;
  std::unique_ptr<store::Writer> writer_;
  bool is_empty_;
};

}  // namespace

std::unique_ptr<store::Writer> removed_if_empty(store::Store& store,
                                                std::unique_ptr<store::Writer> writer) {
  return std::make_unique<RemovedIfEmpty>(store, std::move(writer));
}

}  // namespace sweetspot::cli
