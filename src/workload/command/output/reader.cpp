#include "workload/command/output/reader.h"

#include <utility>

#include "workload/command/output/counters.h"
#include "workload/command/output/cursor.h"
#include "workload/command/output/log_lines.h"
#include "workload/command/output/loss.h"
#include "workload/command/output/regex.h"
#include "workload/command/output/scanner.h"
#include "workload/command/output/source.h"
#include "workload/command/output/tail.h"
#include "workload/out_of_memory.h"

namespace sweetspot::workload::command::output {
namespace {

constexpr RareSubstring batch_part{"atch", 2};

// A number after the first of `part` and any of " :=".
bool has_number_after(std::string_view line, std::string_view part) {
  const std::size_t found = line.find(part);
  if (found == std::string_view::npos) return false;
  const std::string_view rest = line.substr(found + part.size());
  const std::size_t first = rest.find_first_not_of(" :=");
  return first != std::string_view::npos && is_digit(rest[first]);
}

// Transformers prints its arguments in several ways: auto_find_batch_size=True,
// 'auto_find_batch_size': True, `auto_find_batch_size`: False. If set, it retries silently.
bool sets_auto_find(std::string_view line) {
  constexpr std::string_view name = "auto_find_batch_size";
  const std::size_t found = line.find(name);
  if (found == std::string_view::npos) return false;
  const std::string_view rest = line.substr(found + name.size());
  const std::size_t value = rest.find_first_not_of("'\"`: =");
  if (value == 0 || value == std::string_view::npos) return false;
  return rest.substr(value).starts_with("True") || rest.substr(value).starts_with("true");
}

}  // namespace

bool shows_changed_batch(std::string_view line) {
  if (!workload::has(line, batch_part)) return false;
  if (has(line, "AutoBatch: ") && has_number_after(line, "batch-size")) return true;
  if (has_number_after(line, "Reducing to batch=")) return true;
  if (has_number_after(line, "ecreasing batch size to")) return true;
  if (line.starts_with("Batch size ") && has_number_after(line, ", trying batch size")) return true;
  if (has(line, "Finished batch size finder")) return true;
  return sets_auto_find(line);
}

void KerasEpochs::read_line(std::string_view text) {
  Cursor cursor(text);
  if (cursor.take("Epoch ")) {
    if (!cursor.take_count()) return;
    cursor.take_spaces();
    if (!cursor.take("/")) return;
    cursor.take_spaces();
    if (cursor.take_count() && trimmed(cursor.rest()).empty()) any_announced_ = announced_ = true;
  } else if (cursor.take("Train on ")) {
    const auto samples = cursor.take_count();
    if (samples && cursor.take(" samples")) samples_ = samples;
  }
}

bool KerasEpochs::admits(Refresh& refresh) {
  const bool begins =
      announced_ || refresh.total != total_ || refresh.count < count_ || refresh.whole_epoch;
  if (begins) in_training_ = announced_ || !any_announced_;
  announced_ = false;
  total_ = refresh.total;
  count_ = refresh.count;
  if (samples_ && refresh.total == samples_) refresh.counts = Counts::samples;
  return in_training_;
}

namespace {

// "step 1" and "1/1 - 1s" are about the shortest informative lines.
constexpr std::size_t shortest_line = 4;

// "[00:01<00:09, 17.64it/s]" of tqdm or "[==>…]" of Keras; logs are full of other brackets.
bool closes_a_bar(std::string_view text) {
  const std::size_t opening = text.rfind('[');
  if (opening == std::string_view::npos) return false;
  const std::string_view inside = text.substr(opening + 1);
  if (is_digit(inside.front())) return inside.find(':') != std::string_view::npos;
  return std::string_view("=>.").find(inside.front()) != std::string_view::npos;
}

struct Contents {
  bool letters = false, digits = false;
};

// Branch-free, so that the compiler vectorises it.
Contents contents_of(std::string_view text) {
  std::uint8_t letters = 0, digits = 0;
  for (const char c : text) {
    const auto byte = static_cast<std::uint8_t>(c);
    letters |= static_cast<std::uint8_t>(static_cast<std::uint8_t>((byte | 0x20) - 'a') < 26);
    letters |= static_cast<std::uint8_t>(byte >= 0x80);
    digits |= static_cast<std::uint8_t>(static_cast<std::uint8_t>(byte - '0') < 10);
  }
  return {letters != 0, digits != 0};
}

}  // namespace

struct Reader::State final : Scanner::Sink {
  bool maybe_whole(std::string_view text, double at_seconds) override {
    if (regex) return true;  // it needs whole lines
    if (text.ends_with(']') && !closes_a_bar(text)) return false;
    auto refresh = read_bar(text);
    if (!refresh) return false;
    // The end of Keras' line shows whether it came after a validation.
    if (refresh->format == Format::keras && refresh->count == refresh->total) return false;
    see(*refresh, text, at_seconds);
    seen = true;
    return true;
  }

  void ended(std::string_view text, double at_seconds) override {
    ++findings.lines;
    if (metric)
      if (const auto value = metric->read(text)) metrics.push_back(*value);
    if (text.size() >= shortest_line || regex) read_line(text, at_seconds);
    seen = false;
  }

  void read_line(std::string_view text, double at_seconds) {
    if (!regex && !seen)
      if (const LogLine* known = log_lines.known(text)) {
        keras.read_line(text);
        return see(*known, text, at_seconds);
      }
    look_for_evidence(text);
    if (regex) {
      regex->read(text, [&](std::int64_t count) {
        Refresh refresh{.format = Format::regex, .counts = regex->counts(), .count = count};
        see(refresh, text, at_seconds);
      });
      findings.regex_gave_up = regex->gave_up();
      return;
    }
    keras.read_line(text);
    source.read_line(text);
    if (seen) return;
    if (text.find('/') != std::string_view::npos) {
      auto refresh = read_bar(text);
      if (!refresh) refresh = read_drawn_bar(text);
      if (refresh) return see(*refresh, text, at_seconds);
    }
    const Contents contents = contents_of(text);
    // A counter is a number next to a word; words alone may be headings of what the leader must not
    // count.
    if (!contents.letters || (!contents.digits && !counters.has_leader())) return;
    see(log_lines.read(text), text, at_seconds);
  }

  void see(const LogLine& line, std::string_view text, double at_seconds) {
    if (counters.see(line, at_seconds))
      tell({.format = Format::log_line, .counts = counters.leader().counts}, text);
  }

  void see(Refresh& refresh, std::string_view text, double at_seconds) {
    if (refresh.format == Format::keras && !keras.admits(refresh)) return;
    if (counters.see(refresh, at_seconds)) tell(refresh, text);
  }

  void tell(const Refresh& refresh, std::string_view text) {
    Counter& counter = findings.counter;
    const Counters::Leader& leader = counters.leader();
    // A log has many lines, and their name is the same for all.
    const bool is_named = refresh.format == Format::log_line && named_as == refresh.counts;
    if (!is_named) counter.source = source.name(refresh, text);
    named_as = refresh.format == Format::log_line ? std::optional(refresh.counts) : std::nullopt;
    counter.counts_samples = leader.counts == Counts::samples;
    counter.counts_weight_updates = leader.weight_updates || refresh.format == Format::regex ||
                                    counter.source == "HF Trainer bar";
    counter.total = leader.total;
    counter.untimed = leader.untimed;
    counter.samples_per_step = leader.samples_per_step;
    ++counter.lines;
    constexpr std::size_t most_losses = 4096;
    if (const auto loss = loss_in(text); loss && losses.size() < most_losses)
      losses.push_back({leader.count, *loss});
  }

  void look_for_evidence(std::string_view text) {
    if (!findings.changed_batch && shows_changed_batch(text))
      findings.changed_batch = printable_line(text);
    if (!may_tell_of_memory(text)) return;
    findings.memory_message.read(text);
    if (!findings.memory_evidence && prints_out_of_memory(text))
      findings.memory_evidence = printable_line(text);
  }

  Findings findings;
  std::vector<LossAt> losses;
  std::optional<StepsRegex> regex;
  std::optional<MetricRegex> metric;
  std::vector<double> metrics;
  Scanner scanner;
  Tail tail;
  KerasEpochs keras;
  Source source;
  Counters counters;
  LogLines log_lines;
  std::optional<Counts> named_as;  // the log lines that last named the source
  bool seen = false;               // the current refresh was already counted
};

Reader::Reader(std::optional<std::string> steps_regex) : state_(std::make_unique<State>()) {
  if (steps_regex) state_->regex.emplace(*steps_regex);
}

Reader::~Reader() = default;
Reader::Reader(Reader&&) noexcept = default;
Reader& Reader::operator=(Reader&&) noexcept = default;

void Reader::feed(std::string_view bytes, double at_seconds) {
  state_->tail.feed(bytes);
  state_->scanner.feed(bytes, at_seconds, *state_);
}

std::vector<Advance> Reader::take() { return state_->counters.take(); }

std::vector<LossAt> Reader::take_losses() { return std::exchange(state_->losses, {}); }

void Reader::look_for(MetricRegex metric) { state_->metric.emplace(std::move(metric)); }

std::vector<double> Reader::take_metrics() { return std::exchange(state_->metrics, {}); }

const Findings& Reader::findings() const { return state_->findings; }

Suggestion Reader::suggestion() const {
  constexpr std::size_t most_lines = 300;
  return suggest(state_->tail.refreshes(most_lines));
}

std::string Reader::last_lines(std::size_t count) const { return state_->tail.last_lines(count); }

}  // namespace sweetspot::workload::command::output
