// The accuracy that the paper's network must reach on MNIST. `make test` fetches the data set.
#include <nlohmann/json.hpp>

#include "cli/support.h"

namespace sweetspot::tests {
namespace {

TEST(Accuracy, PaperCnnReaches98PercentInOneEpochAnd99InFive) {
  const Finished finished = run(
      {"train", "--data", "mnist", "--batch", "100", "--epochs", "5", "--threads", "1", "--json"});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const nlohmann::ordered_json json = json_of(finished);
  ASSERT_EQ(json["epochs"].size(), 5u);
  EXPECT_GE(json["epochs"][0]["test_accuracy"].get<double>(), 0.98);
  EXPECT_GE(json["epochs"][4]["test_accuracy"].get<double>(), 0.99);
}

}  // namespace
}  // namespace sweetspot::tests
