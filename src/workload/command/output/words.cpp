#include "workload/command/output/words.h"

#include <array>

#include "workload/command/output/cursor.h"

namespace sweetspot::workload::command::output {
namespace {

using namespace std::string_view_literals;

struct Entry {
  Role role;
  std::string_view words;  // in lower case, a space between
};

constexpr std::array entries = {
    Entry{Role::update,
          "it its iter iters itr itrs iteration iterations step steps batch batches minibatch "
          "minibatches update updates globalstep"},
    Entry{Role::sample,
          "ex example examples img imgs image images im sample samples samp seq seqs sequence "
          "sequences sentences"},
    Entry{Role::epoch, "epoch epochs ep"},
    Entry{Role::position,
          "idx index num number no nr id count counter n i seen processed done completed finished "
          "consumed current cur"},
    Entry{Role::spoiler,
          "max min per every each skip skipped nan sub micro lr log best last prev previous next "
          "start starting resume resumed resuming from until remaining left env decay inner warm "
          "window size rate"},
    Entry{Role::training, "train training trained trainer fit fitting"},
    Entry{Role::evaluation,
          "val valid validate validating validation test tests testing eval evaluate evaluating "
          "evaluation predict predicting prediction sanity inference"},
    Entry{Role::preparation,
          "map filter casting generating generated scanning caching download downloading "
          "downloaded fetching loading extracting tokenizing tokenized tokenizer grouping reading "
          "preprocess preprocessing preparing flattening shuffling packing dl warmup warming "
          "compiling calibrating calibration indexing collecting encoding prefetching uploading "
          "converting copying copied building dropping adding processing applying formatting "
          "concatenating truncating deduplicating sorting"},
    Entry{Role::saving, "save saved saving checkpoint checkpoints ckpt wrote writing snapshot"},
    Entry{Role::time,
          "time elapsed eta took s ms us sec secs second seconds min mins minute minutes h hr hour "
          "hours day days duration"},
    Entry{Role::process, "rank worker gpu device proc process node host"},
};

constexpr std::size_t longest_word = 16;
constexpr std::size_t most_words = 256;

// The words by their first letter: a line has many, and nearly all are told by letter and length.
struct Lexicon {
  struct Word {
    std::string_view text;
    Role role = Role::none;
  };
  std::array<Word, most_words> words{};
  std::array<std::uint16_t, 27> begin{};    // of each letter's words
  std::array<std::uint32_t, 26> lengths{};  // a bit for each length that occurs
};

constexpr Lexicon make_lexicon() {
  Lexicon lexicon;
  std::size_t count = 0;
  for (std::size_t letter = 0; letter < 26; ++letter) {
    lexicon.begin[letter] = static_cast<std::uint16_t>(count);
    for (const Entry& entry : entries)
      for (std::string_view rest = entry.words; !rest.empty();) {
        const std::string_view word = rest.substr(0, rest.find(' '));
        rest.remove_prefix(word.size() < rest.size() ? word.size() + 1 : rest.size());
        if (static_cast<std::size_t>(word.front() - 'a') != letter) continue;
        lexicon.words[count++] = {word, entry.role};
        lexicon.lengths[letter] |= 1u << word.size();
      }
  }
  lexicon.begin[26] = static_cast<std::uint16_t>(count);
  return lexicon;
}

constexpr Lexicon lexicon = make_lexicon();

bool same_but_for_case(std::string_view word, std::string_view lower) {
  for (std::size_t at = 0; at < lower.size(); ++at)
    if ((word[at] | 0x20) != lower[at]) return false;
  return true;
}

}  // namespace

Role role_of(std::string_view word) {
  if (word.empty() || word.size() > longest_word || !is_letter(word.front())) return Role::none;
  const auto letter = static_cast<std::size_t>((word.front() | 0x20) - 'a');
  if ((lexicon.lengths[letter] >> word.size() & 1) == 0) return Role::none;
  for (std::size_t at = lexicon.begin[letter]; at < lexicon.begin[letter + 1]; ++at) {
    const Lexicon::Word& known = lexicon.words[at];
    if (known.text.size() == word.size() && same_but_for_case(word, known.text)) return known.role;
  }
  return Role::none;
}

Counts counts_of(std::string_view unit) {
  if (unit.empty()) return Counts::updates;
  switch (role_of(unit)) {
    case Role::update:
      return Counts::updates;
    case Role::sample:
      return Counts::samples;
    case Role::epoch:
      return Counts::epochs;
    default:
      return Counts::something_else;
  }
}

}  // namespace sweetspot::workload::command::output
