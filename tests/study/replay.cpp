#include "study/replay.h"

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "stats/round_table.h"

namespace sweetspot::study {
namespace {

std::string unzipped(const std::filesystem::path& file) {
  gzFile in = gzopen(file.c_str(), "rb");
  if (!in) throw std::runtime_error("no recording " + file.string());
  std::string text;
  char buffer[1 << 16];
  for (int read = 0; (read = gzread(in, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(read));
  gzclose(in);
  return text;
}

double octave(double batch) { return std::log2(batch); }

}  // namespace

Recording::Recording(const std::filesystem::path& file) {
  const std::string text = unzipped(file);
  const std::size_t line = text.find('\n');
  const auto head = nlohmann::json::parse(text.substr(0, line));
  machine_ = head["machine"], device_ = head["device"], model_ = head["model"];
  batches_ = head["batches"].get<std::vector<std::int64_t>>();
  const std::int64_t twin = batches_.back();
  batches_.pop_back();
  twin_ = static_cast<std::size_t>(std::ranges::find(batches_, twin) - batches_.begin());
  const std::size_t columns = batches_.size() + 1;
  const bool tells_slowed = head.value("slowed", false);
  // Preceded by the other processes' share, and perhaps followed by the slowed flags.
  const std::size_t bytes = (columns + 1 + tells_slowed) * sizeof(float);
  for (std::size_t at = line + 1; at + bytes <= text.size(); at += bytes) {
    std::vector<float>& round = table_.emplace_back(columns);
    std::memcpy(round.data(), text.data() + at + sizeof(float), columns * sizeof(float));
    float slowed = 0;
    if (tells_slowed) std::memcpy(&slowed, text.data() + at + bytes - sizeof(float), sizeof(float));
    slowed_.push_back(static_cast<std::uint32_t>(slowed));
  }
  std::vector<stats::RoundTimes> blocks(batches_.size());
  for (std::size_t i = 0; i < batches_.size(); ++i)
    for (std::size_t round = 0; round < table_.size(); ++round)
      if (!(slowed_[round] >> i & 1))
        blocks[i][static_cast<std::int32_t>(round)] = table_[round][i];
  calm_ = stats::RoundTable(blocks).estimates();
}

// Interpolates time per sample, which changes less than the time of a step.
double Recording::interpolated(const std::vector<double>& values, double batch) const {
  const auto above =
      std::ranges::lower_bound(batches_, static_cast<std::int64_t>(std::ceil(batch)));
  const auto i = static_cast<std::size_t>(above - batches_.begin());
  const auto per_sample = [&](std::size_t k) {
    return values[k] - std::log(static_cast<double>(batches_[k]));
  };
  if (i == 0) return per_sample(0) + std::log(batch);
  if (i == batches_.size()) return per_sample(i - 1) + std::log(batch);
  const double from = octave(static_cast<double>(batches_[i - 1]));
  const double to = octave(static_cast<double>(batches_[i]));
  const double share = (octave(batch) - from) / (to - from);
  return (1 - share) * per_sample(i - 1) + share * per_sample(i) + std::log(batch);
}

double Recording::seconds(std::int64_t batch, std::int64_t round) const {
  const std::vector<float>& at = table_[static_cast<std::size_t>(round % rounds())];
  return std::exp(interpolated({at.begin(), at.end() - 1}, static_cast<double>(batch)));
}

bool Recording::slowed(std::int64_t batch, std::int64_t round) const {
  const auto above = std::ranges::lower_bound(batches_, batch) - batches_.begin();
  return slowed_[static_cast<std::size_t>(round % rounds())] >> above & 1;
}

std::vector<std::pair<double, double>> Recording::twins() const {
  std::vector<std::pair<double, double>> all;
  for (const std::vector<float>& round : table_) all.emplace_back(round[twin_], round.back());
  return all;
}

double Recording::true_speed(double batch) const {
  return batch / std::exp(interpolated(calm_, batch));
}

double Recording::true_best() const {
  double best = 0;
  for (const std::int64_t batch : batches_)
    best = std::max(best, true_speed(static_cast<double>(batch)));
  return best;
}

double Recording::true_knee(double tolerance) const {
  const double level = (1 - tolerance) * true_best();
  double batch = static_cast<double>(smallest());
  while (true_speed(batch) < level) batch *= 1.005;
  return batch;
}

class ReplayWorkload::ReplaySession : public workload::Session {
 public:
  ReplaySession(const Recording& recording, std::shared_ptr<Round> round, std::int64_t batch)
      : recording_(recording), round_(std::move(round)), batch_(batch) {}

  trial::Step step(const workload::Until&) override {
    if (round_->running != batch_) {
      if (std::ranges::find(round_->done, batch_) != round_->done.end())
        ++round_->number, round_->done.clear();
      round_->done.push_back(batch_), round_->running = batch_;
    }
    const double each = recording_.seconds(batch_, round_->number);
    trial::Step step;
    step.updates = std::max<std::int64_t>(1, static_cast<std::int64_t>(0.01 / each));
    step.seconds = each * static_cast<double>(step.updates);
    step.samples = step.updates * batch_;
    step.slowed = recording_.slowed(batch_, round_->number);
    return step;
  }

 private:
  const Recording& recording_;
  std::shared_ptr<Round> round_;
  std::int64_t batch_;
};

std::unique_ptr<workload::Session> ReplayWorkload::open(const trial::Setting& setting) {
  return std::make_unique<ReplaySession>(recording_, round_, setting.batch);
}

}  // namespace sweetspot::study
