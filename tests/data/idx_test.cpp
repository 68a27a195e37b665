#include "data/idx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/units.h"
#include "data/allocations.h"
#include "data/support.h"
#include "words.h"

namespace sweetspot::data {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

Idx read(const Bytes& bytes, const std::string& name = "some-file") {
  const TemporaryFolder folder;
  write_file(folder / name, bytes);
  return read_idx(folder / name);
}

std::string refusal(const Bytes& bytes) {
  return failure_of([&] { read(bytes); });
}

TEST(Idx, ReadsEveryRankRawAndGzip) {
  const std::vector<std::vector<std::uint32_t>> shapes{{7}, {3, 2}, {2, 3, 5}, {2, 3, 4, 3}};
  for (const auto& shape : shapes) {
    const Bytes raw = make_idx(shape);
    for (const Bytes& bytes : {raw, gzip(raw)}) {
      const Idx idx = read(bytes);
      EXPECT_EQ(idx.shape, std::vector<std::int64_t>(shape.begin(), shape.end()));
      ASSERT_EQ(idx.bytes.size(), raw.size() - 4 - 4 * shape.size());
      for (std::size_t i = 0; i < idx.bytes.size(); ++i) EXPECT_EQ(idx.bytes[i], i);
    }
  }
}

TEST(Idx, ReadsMoreThanOnePiece) {
  Bytes values(3 * core::MiB + 17);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint8_t>(i * i >> 7);
  const Bytes raw = make_idx({static_cast<std::uint32_t>(values.size())}, values);
  EXPECT_EQ(read(raw).bytes, values);
  EXPECT_EQ(read(gzip(raw)).bytes, values);
}

TEST(Idx, ReadsGzipInSeveralMembers) {
  const Bytes raw = make_idx({2, 3, 5});
  Bytes joined = gzip(Bytes(raw.begin(), raw.begin() + 9));
  const Bytes rest = gzip(Bytes(raw.begin() + 9, raw.end()));
  joined.insert(joined.end(), rest.begin(), rest.end());
  EXPECT_EQ(read(joined).bytes, read(raw).bytes);
}

TEST(Idx, RefusesEveryTruncation) {
  const Bytes raw = make_idx({2, 3, 5});
  for (const Bytes& whole : {raw, gzip(raw)})
    for (std::size_t size = 0; size < whole.size(); ++size)
      EXPECT_THAT(refusal(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size))),
                  AllOf(StartsWith("2: "), HasSubstr("/some-file ")))
          << size << " of " << whole.size();
}

TEST(Idx, RefusesTrailingBytes) {
  Bytes raw = make_idx({4});
  raw.push_back(0);
  EXPECT_WORDS(refusal(raw));
  EXPECT_WORDS(refusal(gzip(raw)));
  Bytes compressed = gzip(make_idx({4}));
  compressed.insert(compressed.end(), {'j', 'u', 'n', 'k'});
  EXPECT_WORDS(refusal(compressed));
}

TEST(Idx, DamagedGzipNeverGivesOtherValues) {
  const Bytes raw = make_idx({2, 4, 4}), whole = gzip(raw);
  const Idx right = read(whole);
  int refused = 0;
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    Bytes damaged = whole;
    damaged[bit / 8] ^= static_cast<std::uint8_t>(1 << bit % 8);
    try {
      const Idx idx = read(damaged);  // a bit of the time stamp, say
      EXPECT_EQ(idx.bytes, right.bytes) << "bit " << bit;
    } catch (const core::InputError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, static_cast<int>(8 * (whole.size() - 18)));  // all but header and trailer
}

TEST(Idx, NamesWhatIsWrongWithTheHeader) {
  EXPECT_WORDS(refusal({'P', 'K', 3, 4, 0, 0}));
  EXPECT_WORDS(refusal({0, 0, 0x0d, 1, 0, 0, 0, 1, 9, 9, 9, 9}));
  EXPECT_WORDS(refusal({0, 0, 8, 0}));
  EXPECT_WORDS(refusal({0, 0, 8, 5}));
  EXPECT_WORDS(refusal(make_idx({0, 28, 28})));
  EXPECT_WORDS(refusal(make_idx({1, 0, 28})));
}

TEST(Idx, ShowsControlCharactersOfTheName) {
  EXPECT_WORDS(failure_of([] { read({}, "a\033[31m"); }));
}

TEST(Idx, HeadersThatLieCostNoMemory) {
  constexpr std::uint32_t most = 0xffffffff;
  for (const Bytes& header :
       {make_idx({most, most, most, most}, {1, 2}), make_idx({60000, 28, 28}, {1, 2}),
        make_idx({65536, 512, 512}, {1, 2}), make_idx({most, 4}, {1, 2})}) {
    for (const Bytes& bytes : {header, gzip(header)}) {
      const LargestAllocation largest;
      EXPECT_WORDS(refusal(bytes));
      EXPECT_LE(largest.bytes(), 2 * core::MiB);
    }
  }
}

TEST(Idx, RefusesGzipBombs) {
  constexpr std::uint32_t size = 100 << 20;
  const Bytes bomb = gzip(make_idx({size}, Bytes(size)));
  ASSERT_LT(bomb.size(), 200'000u);
  EXPECT_WORDS(refusal(bomb));
}

TEST(Idx, NamesAFileThatCannotBeRead) {
  const TemporaryFolder folder;
  EXPECT_WORDS(failure_of([&] { read_idx(folder / "absent"); }));
  EXPECT_WORDS(failure_of([&] { read_idx(folder.path()); }));
}

// Sparse files: they take no disk.
TEST(Idx, RefusesFilesBeyondAnyDataSet) {
  const TemporaryFolder folder;
  write_file(folder / "huge", make_idx({20, 1 << 15, 1 << 15}, {}));
  std::filesystem::resize_file(folder / "huge", 16 + 20 * core::GiB);
  EXPECT_WORDS(failure_of([&] { read_idx(folder / "huge"); }));
}

TEST(Idx, NamesRawFilesOfAnotherSize) {
  Bytes bytes = make_idx({1000, 40, 40});
  bytes.pop_back();
  EXPECT_WORDS(refusal(bytes));
  bytes.insert(bytes.end(), 2, 0);
  EXPECT_WORDS(refusal(bytes));
  EXPECT_WORDS(refusal(Bytes()));
}

}  // namespace
}  // namespace sweetspot::data
