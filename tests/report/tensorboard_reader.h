#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sweetspot::tests {

// A protobuf message read back: every field with its bytes, in order. Written from the description
// of the wire format, and shares nothing with the writer.
class Fields {
 public:
  explicit Fields(const std::string& bytes);

  bool has(int field) const { return fields_.contains(field); }
  const std::vector<std::string>& all(int field) const { return fields_.at(field); }
  const std::string& text(int field) const { return all(field).front(); }
  Fields message(int field) const { return Fields(text(field)); }
  std::uint64_t whole(int field) const;
  double number(int field) const;
  float single(int field) const;

 private:
  std::map<int, std::vector<std::string>> fields_;
};

struct Scalar {
  std::string tag;
  std::int64_t step = 0;
  float value = 0;
  double wall_time = 0;
};

struct ReadEvents {
  std::string version;
  std::vector<Scalar> scalars;
  std::map<std::string, Fields> hparams;  // by tag
};

// Fails the test on a record whose checksums or lengths are wrong.
ReadEvents read_events(const std::string& file);

}  // namespace sweetspot::tests
