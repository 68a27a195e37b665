#include <gtest/gtest.h>

#include <random>

#include "workload/command/output_transcript.h"

namespace sweetspot::workload::command::output {
namespace {

class Transcripts : public testing::TestWithParam<std::string> {};

TEST_P(Transcripts, GiveTheTrainingStepsAndTheirTime) {
  const Transcript transcript = read_transcript(GetParam());
  ASSERT_FALSE(transcript.pieces.empty());
  Reader reader;
  double total = 0;
  for (const Advance& advance : fed(reader, transcript.pieces)) {
    EXPECT_GT(advance.seconds, 0);
    EXPECT_EQ(transcript.counts_samples ? advance.updates : advance.samples, 0);
    const auto counted =
        static_cast<double>(transcript.counts_samples ? advance.samples : advance.updates);
    EXPECT_GT(counted, 0);
    EXPECT_NEAR(advance.seconds / counted / transcript.seconds_each, 1, transcript.tolerance);
    total += counted;
  }
  EXPECT_EQ(reader.findings().counter.source, transcript.source);
  EXPECT_EQ(reader.findings().counter.counts_samples, transcript.counts_samples);
  const bool counts_weight_updates = transcript.source == "HF Trainer bar" ||
                                     transcript.name == "fairseq" ||
                                     transcript.name == "json-lines";  // num_updates, global_step
  EXPECT_EQ(reader.findings().counter.counts_weight_updates, counts_weight_updates);
  EXPECT_FALSE(reader.findings().changed_batch);
  EXPECT_FALSE(reader.findings().memory_evidence);
  // The first refresh of each epoch only starts the clock.
  EXPECT_GE(total, 0.75 * transcript.total);
  EXPECT_LE(total, transcript.total * (1 + transcript.tolerance));
}

TEST_P(Transcripts, AreReadTheSameHoweverTheyAreCut) {
  const Transcript transcript = read_transcript(GetParam());
  Reader whole;
  for (const Piece& piece : transcript.pieces) whole.feed(piece.bytes, piece.seconds);
  const std::string expected = told_by(whole);

  Reader by_bytes;
  for (const Piece& piece : transcript.pieces)
    for (const char& byte : piece.bytes) by_bytes.feed({&byte, 1}, piece.seconds);
  EXPECT_EQ(told_by(by_bytes), expected);

  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    Reader reader;
    for (const Piece& piece : transcript.pieces)
      for (std::string_view rest = piece.bytes; !rest.empty();) {
        const std::size_t size = std::min<std::size_t>(random() % 40, rest.size());
        reader.feed(rest.substr(0, size), piece.seconds);
        rest.remove_prefix(size);
      }
    ASSERT_EQ(told_by(reader), expected) << "seed " << seed;
  }
}

// Every position a read can end at, over enough of the transcript to reach its second epoch's
// marks.
TEST_P(Transcripts, AreReadTheSameSplitAtEachByte) {
  const Transcript transcript = read_transcript(GetParam());
  const std::size_t count = std::min<std::size_t>(transcript.pieces.size(), 24);
  const std::vector<Piece> pieces(transcript.pieces.begin(),
                                  transcript.pieces.begin() + static_cast<std::ptrdiff_t>(count));
  std::vector<std::string> expected;  // after each piece
  for (std::size_t end = 1; end <= count; ++end) {
    Reader whole;
    for (std::size_t at = 0; at < end; ++at) whole.feed(pieces[at].bytes, pieces[at].seconds);
    expected.push_back(told_by(whole));
  }
  constexpr std::size_t pieces_after = 3;  // in which a difference would show
  for (std::size_t split_piece = 0; split_piece < count; ++split_piece)
    for (std::size_t split = 1; split < pieces[split_piece].bytes.size(); ++split) {
      Reader reader;
      const std::size_t last = std::min(split_piece + pieces_after, count - 1);
      for (std::size_t at = 0; at <= last; ++at) {
        const std::string_view bytes = pieces[at].bytes;
        const std::size_t first = at == split_piece ? split : 0;
        reader.feed(bytes.substr(0, first), pieces[at].seconds);
        reader.feed(bytes.substr(first), pieces[at].seconds);
      }
      ASSERT_EQ(told_by(reader), expected[last]) << "piece " << split_piece << ", byte " << split;
    }
}

INSTANTIATE_TEST_SUITE_P(Output, Transcripts, testing::ValuesIn(transcript_names()),
                         [](const auto& one) {
                           std::string name = one.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(TranscriptFolder, HasOneOfEachFormat) { EXPECT_GE(transcript_names().size(), 43u); }

}  // namespace
}  // namespace sweetspot::workload::command::output
