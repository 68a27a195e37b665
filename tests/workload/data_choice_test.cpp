#include "workload/native/data_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "model/keras.h"

namespace sweetspot::workload::native {
namespace {

using model::Loss;
using testing::ElementsAre;

const Say silent = [](std::string_view) {};

data::Dataset labelled(std::int64_t height, std::int64_t width, std::vector<std::int32_t> labels) {
  data::Dataset dataset;
  dataset.name = "made up";
  dataset.classes = 10;
  for (data::Samples* samples : {&dataset.train, &dataset.test}) {
    samples->count = labels.size();
    samples->height = height, samples->width = width;
    samples->bytes.resize(labels.size() * static_cast<std::size_t>(height * width));
    samples->labels = labels;
  }
  return dataset;
}

TEST(DataChoice, DigitsForTheDigitModelsOnly) {
  const auto by_default = [](const char* name) {
    const model::Network network = model::load_network(name);
    return default_data(network, model::natural_loss(network));
  };
  EXPECT_EQ(by_default("paper-cnn"), "mnist");
  EXPECT_EQ(by_default("rgb64-cnn"), "synthetic");
  EXPECT_EQ(by_default("mlp"), "synthetic");
}

TEST(DataChoice, SyntheticDataHasTheModelsShape) {
  const model::Network network = model::load_network("rgb64-cnn");
  const auto dataset =
      open_data("synthetic:50", network, Loss::sparse_categorical_crossentropy, 1, silent);
  EXPECT_EQ(dataset.train.count, 50u);
  EXPECT_EQ(dataset.train.sample_size(), 64 * 64 * 3);
  EXPECT_EQ(dataset.classes, 10);
}

TEST(DataChoice, SyntheticCountIsChecked) {
  const model::Network network = model::load_network("mlp");
  for (const char* data : {"synthetic:", "synthetic:0", "synthetic:-1", "synthetic:9x"})
    EXPECT_THROW(open_data(data, network, Loss::mean_squared_error, 1, silent), core::InputError)
        << data;
}

TEST(DataChoice, LabelsBecomeOneHotWhereTheLossWantsTargets) {
  const model::Network network = model::load_network("paper-cnn");
  data::Dataset dataset = labelled(28, 28, {2, 0});
  fit_to_model(dataset, network, Loss::categorical_crossentropy);
  EXPECT_EQ(dataset.train.target_size, 10);
  EXPECT_TRUE(dataset.train.labels.empty());
  EXPECT_THAT(dataset.train.targets,
              ElementsAre(0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0));
}

TEST(DataChoice, LabelsAreNumbersToAModelOfOneOutput) {
  const model::Network network = model::load_network("linear");
  ASSERT_EQ(network.output().size(), 1);
  data::Dataset dataset = labelled(2, 5, {7, 0});
  fit_to_model(dataset, network, Loss::mean_squared_error);
  EXPECT_EQ(dataset.train.target_size, 1);
  EXPECT_THAT(dataset.train.targets, ElementsAre(7, 0));
  EXPECT_TRUE(dataset.train.labels.empty());
}

TEST(DataChoice, ASequenceModelTakesImagesWhoseRowsAreItsSteps) {
  const model::Network network = model::read_keras(
      R"({"class_name": "Sequential", "keras_version": "2.11.0", "config": {"name": "steps", "layers": [
        {"class_name": "InputLayer", "config": {"name": "in", "batch_input_shape": [null, 20, 3]}},
        {"class_name": "GlobalAveragePooling1D", "config": {"name": "mean"}}]}})",
      "steps.json");
  data::Dataset dataset = labelled(20, 3, {0, 1});
  fit_to_model(dataset, network, Loss::sparse_categorical_crossentropy);
  EXPECT_EQ(dataset.train.width, 20);
  EXPECT_EQ(dataset.train.channels, 3);
  data::Dataset turned = labelled(3, 20, {0, 1});
  EXPECT_THROW(fit_to_model(turned, network, Loss::sparse_categorical_crossentropy),
               core::InputError);
}

TEST(DataChoice, AVectorModelTakesImagesOfItsSize) {
  const model::Network network = model::load_network("linear");
  data::Dataset dataset = labelled(2, 5, {0, 0});
  fit_to_model(dataset, network, Loss::mean_squared_error);
  EXPECT_EQ(dataset.train.channels, 10);
}

TEST(DataChoice, RefusesWhatDoesNotFit) {
  const model::Network network = model::load_network("paper-cnn");
  data::Dataset small = labelled(27, 28, {1});
  EXPECT_THROW(fit_to_model(small, network, Loss::sparse_categorical_crossentropy),
               core::InputError);
  data::Dataset many = labelled(28, 28, {10});
  EXPECT_THROW(fit_to_model(many, network, Loss::sparse_categorical_crossentropy),
               core::InputError);
  const model::Network regression = model::load_network("mlp");
  data::Dataset targets =
      open_data("synthetic:10", regression, Loss::mean_squared_error, 1, silent);
  EXPECT_THROW(fit_to_model(targets, regression, Loss::sparse_categorical_crossentropy),
               core::InputError);
}

// `memory` must plan with what `train` opens.
TEST(DataChoice, ADescriptionMatchesTheDataSet) {
  for (const std::string& name : model::zoo_names()) {
    const model::Network network = model::load_network(name);
    for (const Loss loss : {model::natural_loss(network), Loss::mean_squared_error}) {
      const auto opened = open_data("synthetic:20", network, loss, 1, silent);
      const auto described = describe_data("synthetic:20", network, loss);
      for (const auto split : {&data::Dataset::train, &data::Dataset::test}) {
        EXPECT_EQ((opened.*split).count, (described.*split).count) << name;
        EXPECT_EQ((opened.*split).sample_size(), (described.*split).sample_size()) << name;
        EXPECT_EQ((opened.*split).target_size, (described.*split).target_size) << name;
      }
      EXPECT_TRUE(described.train.bytes.empty() && described.train.floats.empty());
    }
  }
}

}  // namespace
}  // namespace sweetspot::workload::native
