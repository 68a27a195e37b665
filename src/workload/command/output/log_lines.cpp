#include "workload/command/output/log_lines.h"

#include <algorithm>
#include <utility>

#include "workload/command/output/cursor.h"
#include "workload/command/output/number.h"
#include "workload/command/output/words.h"

// INFO epoch=1 step=20 loss=0.31     {"step": 20, "loss": 0.31}     iter 20: loss 2.3
// | epoch   1 |   200/ 2983 batches | lr 20.00          Epoch: [0][  10/5005]  Time …
// Train Epoch: 1 [640/60000 (1%)]                        Train: 0 [  50/1251 (  4%)]
namespace sweetspot::workload::command::output {
namespace {

constexpr std::size_t widest_gap = 24;  // between a word and its number: column padding

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_no_digit(char c) { return !is_digit(c); }
char lower(char c) { return is_upper(c) ? static_cast<char>(c | 0x20) : c; }

bool all_of(std::string_view text, std::string_view allowed) {
  return text.find_first_not_of(allowed) == std::string_view::npos;
}

// FNV-1a: the identity of a counter is compared, never stored.
class Hash {
 public:
  void add(std::string_view text) {
    for (const char c : text) add_byte(static_cast<unsigned char>(lower(c)));
    add_byte(0);
  }
  void add(std::uint64_t number) {
    for (int shift = 0; shift < 64; shift += 8) add_byte(number >> shift & 0xff);
  }
  std::uint64_t value() const { return value_; }

 private:
  void add_byte(std::uint64_t byte) { value_ = (value_ ^ byte) * 0x100000001b3; }
  std::uint64_t value_ = 0xcbf29ce484222325;
};

struct Word {
  std::size_t begin = 0, end = 0;
  Role role = Role::none;
};

class LineReader {
 public:
  LineReader(std::string_view text, std::vector<NumberUse>* numbers)
      : text_(text), numbers_(numbers) {}

  LogLine read() {
    for (std::size_t at = 0; at < text_.size();) {
      if (is_digit(text_[at]))
        at = take_number(at);
      else if (const std::size_t end = word_end(text_, at); end != at)
        at = take_word(at, end);
      else
        ++at;
    }
    if (metric_words_ > 0) end_evaluation();
    return line_;
  }

 private:
  struct Label {
    Counts counts = Counts::something_else;
    std::size_t begin = 0, end = 0;
    bool weight_updates = false;
  };

  std::string_view between(std::size_t begin, std::size_t end) const {
    return text_.substr(begin, end - begin);
  }
  std::string_view text_of(const Word& word) const { return between(word.begin, word.end); }

  // Words end where capitals begin: "globalStep" is two.
  std::size_t take_word(std::size_t at, std::size_t end) {
    for (std::size_t next = at + 1; next < end; ++next)
      if (is_lower(text_[next - 1]) && is_upper(text_[next])) end = next;
    older_ = previous_;
    previous_ = last_;
    last_ = {at, end, role_of(between(at, end))};
    ++words_;
    look_for_evaluation();
    switch (last_.role) {
      case Role::training:
        line_.trains = true;
        break;
      case Role::saving:
        line_.saves = true;
        break;
      case Role::preparation:
        if (line_.size == 0 && !line_.epoch) preparation_at_ = words_;
        break;
      case Role::update:
      case Role::sample:
        take_word_after_number();
        break;
      case Role::epoch:  // "第1轮"
        if (pending_.end == at && is_without_spaces(between(at, end))) {
          fix(pending_);
          if (!line_.epoch) line_.epoch = pending_.value;
        }
        break;
      default:
        break;
    }
    if (preparation_at_ != 0 && words_ > preparation_at_) line_.prepares = true;
    return end;
  }

  // "val_loss 0.3" and "test acc: 0.9" are metrics; "[val] step 20" is a line of a validation.
  void look_for_evaluation() {
    if (last_.role == Role::evaluation) {
      if (metric_words_ > 0) end_evaluation();
      metric_words_ = 1;
      const std::size_t next = text_.find_first_not_of("\"'", last_.end);
      names_metric_ = next != std::string_view::npos && (text_[next] == ':' || text_[next] == '=');
    } else if (metric_words_ > 0) {
      constexpr int most = 4;  // "val", "top", "accuracy", "mean"
      const bool goes_on = all_of(between(previous_.end, last_.begin), " _-/.@0123456789");
      const bool counts = last_.role == Role::update || last_.role == Role::epoch;
      if (!goes_on || counts || ++metric_words_ > most) end_evaluation();
    }
  }

  // Not a metric after all: the line is of a validation, except for a "val: --" next to the
  // training's.
  void end_evaluation() {
    metric_words_ = 0;
    if (!names_metric_ || line_.training_metrics == 0) line_.evaluates = true;
  }

  std::size_t take_number(std::size_t at) {
    const Number number = read_number(text_, at);
    if (numbers_ != nullptr) numbers_->push_back({number, number.total.has_value()});
    pending_ = {};
    const bool whole_metric = number.kind == Number::Kind::whole && last_.role == Role::none &&
                              (number.has_point || metric_words_ > 1);
    if (number.kind == Number::Kind::decimal || whole_metric) take_metric(number);
    if (number.kind != Number::Kind::whole) return number.end;
    const bool has_unit = number.end < text_.size() && is_letter(text_[number.end]);
    if (!has_unit) {
      if (const auto label = label_before(number)) {
        add(number, *label);
      } else if (const auto counts = bracketed(number)) {
        add(number, {*counts, number.begin, number.begin, false});
      } else {
        pending_ = number;
      }
    } else {
      pending_ = number;
    }
    last_number_ = number;
    return number.end;
  }

  void take_metric(const Number& number) {
    if (preparation_at_ == words_) preparation_at_ = 0;  // "loading 0.02" is a metric as well
    const std::string_view gap = between(last_.end, number.begin);
    const auto between = static_cast<std::size_t>(std::ranges::count_if(gap, is_no_digit));
    const bool beside_word =
        words_ > 0 && between <= widest_gap && all_of(gap, " \t=:_'\"(0123456789@-");
    if (metric_words_ > 0) {
      fix(number);
      if (!beside_word) return;
      metric_words_ = 0;
      ++line_.evaluation_metrics;
      Hash hash;
      hash.add(line_.evaluation);
      hash.add(text_.substr(number.begin, number.end - number.begin));
      line_.evaluation = hash.value();
      return;
    }
    const bool has_unit = number.end < text_.size() && is_letter(text_[number.end]);
    if (beside_word && !has_unit && !number.percent && last_.role != Role::time)
      ++line_.training_metrics;
  }

  // Its value is part of the line's identity, besides its counters.
  void fix(const Number& number) {
    if (NumberUse* use = use_of(number)) use->fixed = true;
  }
  NumberUse* use_of(const Number& number) {
    if (numbers_ == nullptr) return nullptr;
    const auto found = std::ranges::find(*numbers_, number.begin,
                                         [](const NumberUse& use) { return use.number.begin; });
    return found == numbers_->end() ? nullptr : &*found;
  }

  bool joined(const Word& left, const Word& right) const {
    if (left.end == 0 || right.begin < left.end || right.begin - left.end > 2) return false;
    return all_of(between(left.end, right.begin), " _-/.(:");
  }

  // The words before a number that make it a counter.
  std::optional<Label> label_before(const Number& number) {
    if (words_ == 0) return std::nullopt;
    const std::string_view gap = between(last_.end, number.begin);
    if (gap.size() > widest_gap) return std::nullopt;
    for (const char c : gap) {
      const bool abbreviates = c == '.' && last_.role == Role::position;
      if (c >= 0 && !abbreviates &&
          std::string_view(" \t:=#[](){}<>\"'|*~@-_`").find(c) == std::string_view::npos)
        return std::nullopt;
    }
    Word word = last_, before = previous_;
    const bool says_which = word.role == Role::position || word.role == Role::training;
    if (says_which && joined(previous_, last_)) {
      word = previous_;
      before = older_;
    }
    const bool qualified = joined(before, word);
    if (qualified && spoils(before, word)) return std::nullopt;
    if (word.role == Role::process || word.role == Role::epoch) fix(number);
    if (word.role == Role::process) {
      constexpr std::int64_t most_processes = 1024;  // "gpu 5012" is its memory
      if (number.value < most_processes) process_ = static_cast<std::uint64_t>(number.value) + 1;
      return std::nullopt;
    }
    if (word.role == Role::environment) line_.environment = true;
    if (word.role == Role::epoch) {
      if (!line_.epoch) line_.epoch = number.value;
      return Label{Counts::epochs, word.begin, word.end, false};
    }
    if (word.role != Role::update && word.role != Role::sample) return std::nullopt;
    return Label{word.role == Role::update ? Counts::updates : Counts::samples,
                 qualified ? before.begin : word.begin, last_.end,
                 counts_weight_updates(word, qualified ? before : Word{})};
  }

  // "steps per epoch 20", "ms/batch 20", "time step 20"
  bool spoils(const Word& before, const Word& word) const {
    if (before.role == Role::time)
      return text_[before.end] == '/' || (text_of(before).size() == 4 && word.role == Role::update);
    return before.role == Role::spoiler || before.role == Role::preparation;
  }

  bool counts_weight_updates(const Word& word, const Word& before) const {
    if ((text_[word.begin] | 0x20) == 'u') return true;  // "updates"
    const std::string_view first = text_of(before);
    for (const std::string_view known : {"global", "optimizer", "optim", "opt"})
      if (first.size() == known.size() && (first.front() | 0x20) == known.front()) return true;
    return false;
  }

  // "20 steps", "200/ 2983 batches", "20it"; not "20 steps/s", "20 steps per second", "3 step 20".
  void take_word_after_number() {
    if (pending_.end == 0) return;
    const Number number = pending_;
    const bool direct = previous_.end <= number.begin;
    const bool after_one = older_.end <= number.begin && joined(previous_, last_) &&
                           (previous_.role == Role::training || previous_.role == Role::none);
    if (!direct && !after_one) return;
    const std::size_t first = direct ? last_.begin : previous_.begin;
    if (!all_of(between(number.end, first), " ") || first - number.end > 1) return;
    const std::string_view word = text_of(last_), rest = text_.substr(last_.end);
    const bool plural = (word.back() | 0x20) == 's' || word.size() == 2 || is_without_spaces(word);
    if (!plural && !number.total) return;
    const std::size_t next = rest.find_first_not_of(" :=#");
    if (next != std::string_view::npos && is_digit(rest[next])) return;
    for (const std::string_view rate :
         {"/", "_", " per ", " a ", " left", " remain", " to go", " each"})
      if (rest.starts_with(rate)) return;
    const Word& before = direct ? previous_ : older_;
    const bool spoiled = before.end != 0 && before.role == Role::spoiler &&
                         all_of(between(before.end, number.begin), " ");
    if (spoiled) return;
    pending_ = {};
    const Counts counts = last_.role == Role::update ? Counts::updates : Counts::samples;
    add(number,
        {counts, first, last_.end, counts_weight_updates(last_, direct ? Word{} : previous_)});
  }

  // What a fraction in brackets counts if no word says it: steps after the brackets of the epoch,
  // and samples with their share as in PyTorch's examples; timm's steps look alike.
  std::optional<Counts> bracketed(const Number& number) const {
    if (!number.total) return std::nullopt;
    std::string_view before = text_.substr(0, number.begin);
    while (before.ends_with(' ')) before.remove_suffix(1);
    if (!before.ends_with('[')) return std::nullopt;
    before = trimmed(before.substr(0, before.size() - 1));
    Cursor after(text_.substr(number.end));
    after.take_spaces();
    if (after.take("(")) {
      after.take_spaces();
      if (!after.take_count() || !after.take("%)]")) return std::nullopt;
      while (!before.empty() && is_digit(before.back())) before.remove_suffix(1);
      const bool is_timm = before.ends_with("Train: ") || before.ends_with("Test: ");
      return is_timm ? Counts::updates : Counts::samples;
    }
    if (!after.take("]")) return std::nullopt;
    if (before.ends_with(']')) {
      before = trimmed(before.substr(0, before.size() - 1));
      const bool of_epoch = last_number_.end == before.size() &&
                            (line_.epoch || line_.trains || line_.evaluates || metric_words_ > 0);
      return of_epoch ? std::optional(Counts::updates) : std::nullopt;
    }
    // "loss: 2.301  [ 6464/60000]", the whole line: PyTorch's quickstart.
    Cursor whole(before);
    if (after.done() && whole.take("loss: ") && whole.take_count() && whole.done())
      return Counts::samples;
    if (line_.evaluates || metric_words_ > 0) return Counts::updates;  // it is excluded anyway
    return std::nullopt;
  }

  void add(const Number& number, const Label& label) {
    NumberUse* use = use_of(number);
    if (use != nullptr) use->fixed = label.counts == Counts::epochs;
    if (label.counts == Counts::epochs || line_.size == LogLine::most_counters) return;
    if (use != nullptr) use->counter = line_.size;
    Hash hash;
    hash.add(static_cast<std::uint64_t>(label.counts));
    hash.add(between(label.begin, label.end));
    hash.add(static_cast<std::uint64_t>(number.total.value_or(-1)));
    hash.add(process_);
    hash.add(first_word(text_.substr(std::max(number.end, label.end))));
    line_.all[line_.size++] = {label.counts, number.value, number.total, hash.value(),
                               label.weight_updates};
  }

  // The first word of what follows; the letters of "1m" and "2e-3" do not count. A list of stages,
  // "Step 2/3: building the model", looks like a counter except for this word, which changes.
  static std::string_view first_word(std::string_view rest) {
    for (std::size_t at = 0; at < rest.size(); ++at) {
      const bool starts =
          is_letter(rest[at]) && (at == 0 || !(is_letter(rest[at - 1]) || is_digit(rest[at - 1]) ||
                                               rest[at - 1] == '_' || rest[at - 1] == '-'));
      if (starts) return Cursor(rest.substr(at)).take_letters();
    }
    return {};
  }

  std::string_view text_;
  std::vector<NumberUse>* numbers_;
  LogLine line_;
  Word older_, previous_, last_;
  int words_ = 0;
  int preparation_at_ = 0;
  bool names_metric_ = false;
  int metric_words_ = 0;  // since a word for evaluation, which may yet be part of a metric's name
  std::uint64_t process_ = 0;
  Number pending_;  // waits for a following word
  Number last_number_;
};

}  // namespace

LogLine read_log_line(std::string_view text) { return LineReader(text, nullptr).read(); }

const LogLine* LogLines::known(std::string_view text) {
  for (LineShape& shape : shapes_)
    if (const LogLine* line = shape.read(text)) return line;
  return nullptr;
}

const LogLine& LogLines::read(std::string_view text) {
  numbers_.clear();
  line_ = LineReader(text, &numbers_).read();
  if (auto shape = LineShape::of(text, line_, numbers_)) {
    if (shapes_.size() < most_shapes)
      shapes_.push_back(std::move(*shape));
    else
      shapes_[next_++ % most_shapes] = std::move(*shape);
  }
  return line_;
}

}  // namespace sweetspot::workload::command::output
