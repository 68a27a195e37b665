#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/output.h"
#include "core/text.h"
#include "model/counts.h"
#include "model/keras.h"
#include "report/table.h"

namespace sweetspot::cli {
namespace {

using Json = nlohmann::ordered_json;

Json counts_json(const model::LayerCounts& counts) {
  return {{"parameters", counts.parameters},
          {"forward_flops", counts.forward_flops},
          {"training_flops", counts.training_flops},
          {"activation_bytes", counts.activation_bytes}};
}

Json shape_json(const model::Shape& shape) {
  if (shape.vector) return {shape.channels};
  if (shape.sequence) return {shape.width, shape.channels};
  return {shape.height, shape.width, shape.channels};
}

Json network_json(const model::Network& network) {
  Json json = result_object();
  json["model"] = network.name;
  json["input_shape"] = shape_json(network.input);
  json["loss"] = name(model::natural_loss(network));
  json["layers"] = Json::array();
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    const model::Layer& layer = network.layers[i];
    Json row{{"name", layer.name},
             {"kind", layer.class_name},
             {"output_shape", shape_json(layer.output)}};
    row.update(counts_json(model::counts(network, i)));
    json["layers"].push_back(std::move(row));
  }
  json["total"] = counts_json(model::total_counts(network));
  return json;
}

std::string count(std::int64_t value) { return core::format_count(static_cast<double>(value)); }

std::vector<std::string> row(std::string name, std::string kind, std::string shape,
                             const model::LayerCounts& counts) {
  return {std::move(name),
          std::move(kind),
          std::move(shape),
          count(counts.parameters),
          count(counts.forward_flops),
          count(counts.training_flops),
          count(counts.activation_bytes)};
}

std::string network_text(const model::Network& network) {
  report::Table table({{"layer", true},
                       {"kind", true},
                       {"output", true},
                       {"parameters"},
                       {"forward FLOPs"},
                       {"training FLOPs"},
                       {"activation bytes"}});
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    const model::Layer& layer = network.layers[i];
    table.add(row(core::printable(layer.name), layer.class_name, model::to_string(layer.output),
                  model::counts(network, i)));
  }
  table.add(row("total", "", "", model::total_counts(network)));
  return fmt::format("{}: input {}, loss {}, all counts per sample\n\n{}",
                     core::printable(network.name), model::to_string(network.input),
                     name(model::natural_loss(network)), table.text());
}

int show(const std::string& which, bool json, Output& output) {
  const model::Network network = model::load_network(which);
  json ? output.print_json(network_json(network)) : output.print(network_text(network));
  return 0;
}

int list(bool json, Output& output) {
  Json result = result_object();
  result["models"] = Json::array();
  report::Table table(
      {{"model", true}, {"input", true}, {"output", true}, {"parameters"}, {"loss", true}});
  for (const std::string& zoo_name : model::zoo_names()) {
    const model::Network network = model::load_network(zoo_name);
    const std::int64_t parameters = model::total_counts(network).parameters;
    const std::string_view loss = name(model::natural_loss(network));
    result["models"].push_back({{"model", zoo_name},
                                {"input_shape", shape_json(network.input)},
                                {"output_shape", shape_json(network.output())},
                                {"parameters", parameters},
                                {"loss", loss}});
    table.add({zoo_name, model::to_string(network.input), model::to_string(network.output()),
               count(parameters), std::string(loss)});
  }
  json ? output.print_json(result) : output.print(table.text());
  return 0;
}

struct ModelFlags {
  std::string model = "paper-cnn";
  bool json = false;
};

}  // namespace

void add_model(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("model", "models: show one, list the zoo");
  command->require_subcommand(1);
  command->footer(
      "\nExamples:\n"
      "  sweetspot model list\n"
      "  sweetspot model show paper-cnn\n"
      "  sweetspot model show my.json --json");
  const auto flags = std::make_shared<ModelFlags>();

  CLI::App* showing =
      command->add_subcommand("show", "layers, shapes, parameters, FLOPs and bytes");
  showing->add_option("model", flags->model, "a model of the zoo, or a Keras JSON file")
      ->type_name("NAME|FILE")
      ->capture_default_str();
  showing->add_flag("--json", flags->json, "the result as one JSON object on stdout");
  showing->callback([&chosen, flags] {
    chosen = [flags](Output& output) { return show(flags->model, flags->json, output); };
  });

  CLI::App* listing = command->add_subcommand("list", "the models that come with sweetspot");
  listing->add_flag("--json", flags->json, "the result as one JSON object on stdout");
  listing->callback(
      [&chosen, flags] { chosen = [flags](Output& output) { return list(flags->json, output); }; });
}

}  // namespace sweetspot::cli
