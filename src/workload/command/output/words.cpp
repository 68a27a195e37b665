#include "workload/command/output/words.h"

#include <array>
#include <string>

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
          "minibatches update updates globalstep schritt schritte iterationen pas lot lots paso "
          "pasos iteraciones lote lotes passo passos passi iterazione iterazioni stap stappen "
          "iteratie iteraties krok kroki steg"},
    Entry{Role::sample,
          "ex example examples img imgs image images im sample samples samp seq seqs sequence "
          "sequences sentences bilder beispiele exemples muestras amostras campioni"},
    Entry{Role::epoch, "epoch epochs ep epoche epochen epoca epocas epok epoka"},
    Entry{Role::position,
          "idx index num number no nr id count counter n i seen processed done completed finished "
          "consumed current cur"},
    Entry{Role::spoiler,
          "max min per every each skip skipped nan sub micro lr log best last prev previous next "
          "start starting resume resumed resuming from until remaining left env decay inner warm "
          "window size rate"},
    Entry{Role::training,
          "train training trained trainer fit fitting entrenamiento treino treinamento "
          "addestramento trening"},
    Entry{Role::evaluation,
          "val valid validate validating validation test tests testing eval evaluate evaluating "
          "evaluation predict predicting prediction sanity inference validierung evaluierung "
          "auswertung vorhersage prueba teste validatie validazione valutazione"},
    Entry{
        Role::preparation,
        "map filter casting generating generated scanning caching download downloading "
        "downloaded fetching loading extracting tokenizing tokenized tokenizer grouping reading "
        "preprocess preprocessing preparing flattening shuffling packing dl warmup warming "
        "compiling calibrating calibration indexing collecting encoding prefetching uploading "
        "converting copying copied building dropping adding processing applying formatting "
        "concatenating truncating deduplicating sorting prefetch prefetcher lade laden chargement "
        "cargando carregando caricamento"},
    Entry{Role::saving,
          "save saved saving checkpoint checkpoints ckpt wrote writing snapshot gespeichert "
          "speichere sauvegarde guardado guardando salvo salvando salvato"},
    Entry{Role::time,
          "time elapsed eta took s ms us sec secs second seconds min mins minute minutes h hr hour "
          "hours day days duration dauer zeit temps tiempo tempo"},
    Entry{Role::process, "rank worker gpu device proc process node host"},
    Entry{Role::environment, "episode episodes timesteps rollout rollouts"},
};

// Letters beyond ASCII. Chinese and Japanese join words without a space: the end of such a word is
// what it names.
constexpr std::array foreign_entries = {
    Entry{
        Role::update,
        "étape étapes itération itérations iteración iteração iterações adım шаг шаги шага шагов "
        "итерация итерации итераций крок 步 步数 步數 迭代 批 批次 ステップ イテレーション バッチ "
        "스텝 단계 배치 반복"},
    Entry{Role::sample, "échantillon échantillons образец образцов 样本 樣本 图片 サンプル 샘플"},
    Entry{Role::epoch,
          "époque époques época épocas эпоха эпохи эпоху 轮 輪 轮次 周期 エポック 에포크 에폭"},
    Entry{Role::spoiler, "最大 每 总 總"},
    Entry{Role::training, "entraînement обучение обучения 训练 訓練 学習 학습 훈련"},
    Entry{Role::evaluation,
          "évaluation prüfung evaluación validación avaliação validação оценка валидация проверка "
          "тест 验证 驗證 评估 測試 测试 検証 評価 テスト 검증 평가 테스트"},
    Entry{Role::preparation,
          "téléchargement préparation загрузка подготовка 加载 下载 下載 ダウンロード 다운로드"},
    Entry{Role::saving, "enregistré enregistrement сохранение сохранено 保存 저장"},
    Entry{Role::time, "durée время 用时 耗时 秒 時間 时间 시간"},
};

constexpr std::size_t longest_word = 16;
constexpr std::size_t longest_foreign_word = 48;  // in bytes
constexpr std::size_t most_words = 384;

// The words by their first letter: a line has many, and nearly all are decided by letter and
// length.
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

unsigned char byte_at(std::string_view text, std::size_t at) {
  return at < text.size() ? static_cast<unsigned char>(text[at]) : 0;
}

enum class Script : std::uint8_t { none, spaced, ideographs, kana };

struct Letter {
  Script script = Script::none;
  std::size_t bytes = 0;
};

// The letter at `at` as UTF-8: of Latin, Cyrillic and Hangul words, which are separated by spaces,
// or of others. Drawn bars, arrows and dashes are not letters.
Letter letter_at(std::string_view text, std::size_t at) {
  const unsigned char first = byte_at(text, at), second = byte_at(text, at + 1);
  if (is_letter(static_cast<char>(first))) return {Script::spaced, 1};
  if (first < 0xc3 || (second & 0xc0) != 0x80) return {};
  const bool is_sign = first == 0xc3 && (second == 0x97 || second == 0xb7);  // × and ÷
  if (first <= 0xc5 || first == 0xd0 || first == 0xd1)
    return is_sign ? Letter{} : Letter{Script::spaced, 2};
  if (first < 0xe3 || first > 0xed || (byte_at(text, at + 2) & 0xc0) != 0x80) return {};
  if (first == 0xe3) return second >= 0x81 && second <= 0x83 ? Letter{Script::kana, 3} : Letter{};
  return {first >= 0xea ? Script::spaced : Script::ideographs, 3};
}

// Latin and Cyrillic capitals become small ones.
std::string folded(std::string_view word) {
  std::string text(word);
  for (std::size_t at = 0; at < text.size(); ++at) {
    const unsigned char first = byte_at(text, at), second = byte_at(text, at + 1);
    if (first < 0x80) {
      if (first >= 'A' && first <= 'Z') text[at] = static_cast<char>(first | 0x20);
    } else if (first == 0xc3 && second < 0xa0) {
      text[at + 1] = static_cast<char>(second | 0x20);
    } else if (first == 0xd0 && second >= 0x90 && second < 0xa0) {
      text[at + 1] = static_cast<char>(second + 0x20);
    } else if (first == 0xd0 && second >= 0xa0 && second < 0xb0) {
      text[at] = static_cast<char>(0xd1);
      text[at + 1] = static_cast<char>(second - 0x20);
    }
  }
  return text;
}

template <class Matches>
Role foreign_role(Matches matches) {
  for (const Entry& entry : foreign_entries)
    for (std::string_view rest = entry.words; !rest.empty();) {
      const std::string_view word = rest.substr(0, rest.find(' '));
      rest.remove_prefix(word.size() < rest.size() ? word.size() + 1 : rest.size());
      if (matches(word, entry.role)) return entry.role;
    }
  return Role::none;
}

Role role_of_foreign(std::string_view word) {
  if (word.size() > longest_foreign_word) return Role::none;
  if (letter_at(word, 0).script != Script::ideographs) {
    const std::string lower = folded(word);
    return foreign_role([&](std::string_view known, Role) { return known == lower; });
  }
  // "验证步数" is of an evaluation and "每轮步数" are the steps of an epoch.
  const Role front = foreign_role([&](std::string_view known, Role role) {
    return role == Role::evaluation ? has(word, known)
                                    : role == Role::spoiler && word.starts_with(known);
  });
  if (front != Role::none) return front;
  return foreign_role([&](std::string_view known, Role) { return word.ends_with(known); });
}

}  // namespace

std::size_t word_end(std::string_view text, std::size_t at) {
  const Letter first = letter_at(text, at);
  std::size_t end = at + first.bytes;
  if (first.script == Script::none) return at;
  for (Letter next = first; end < text.size(); end += next.bytes) {
    next = letter_at(text, end);
    const bool prolongs = first.script == Script::kana && text.substr(end).starts_with("ー");
    if (next.script != first.script && !prolongs) break;
  }
  return end;
}

bool is_without_spaces(std::string_view word) {
  const Script script = letter_at(word, 0).script;
  return script == Script::ideographs || script == Script::kana;
}

Role role_of(std::string_view word) {
  if (word.empty()) return Role::none;
  for (const char c : word)
    if (c < 0) return role_of_foreign(word);
  if (word.size() > longest_word || !is_letter(word.front())) return Role::none;
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
