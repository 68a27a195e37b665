#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/commands/commands.h"
#include "cli/flags/flags.h"
#include "cli/output.h"
#include "core/error.h"
#include "core/number.h"
#include "core/text.h"
#include "report/formats.h"
#include "trial/setting_fields.h"
#include "workload/command/config_files.h"
#include "workload/command/template.h"

namespace sweetspot::cli {
namespace {

namespace command = workload::command;
namespace fs = std::filesystem;

struct FillFlags {
  std::string file;
  std::vector<std::string> edits;
  std::optional<std::int64_t> batch;
  trial::Setting setting;
  std::optional<fs::path> output;
  bool in_place = false;
};

int fill(const FillFlags& flags, Output& output) {
  command::Options options;
  command::Template one;
  one.file = flags.file;
  one.text = command::read_text(flags.file);
  options.templates = {one};
  for (const std::string& edit : flags.edits) options.edits.push_back(command::parse_edit(edit));
  const command::Placeholders has = command::used(options);
  if ((has.contains("{batch}") || has.contains("{micro_batch}")) && !flags.batch)
    throw core::InputError(
        fmt::format("{} needs a batch; say which, as in --batch 64", core::printable(flags.file)));
  if (options.edits.empty() && has.empty())
    throw core::InputError(
        fmt::format("{} has no placeholder to fill; name a key, as in --set train.batch_size=64",
                    core::printable(flags.file)));
  trial::Setting setting = flags.setting;
  setting.batch = flags.batch.value_or(setting.batch);
  if (setting.batch % setting.accumulation != 0)
    throw core::InputError(fmt::format("--batch {} is no multiple of --accumulation {}; change one",
                                       setting.batch, setting.accumulation));
  const std::string text = command::filled(options, options.templates.front(), setting);
  std::error_code error;
  if (flags.output && fs::equivalent(*flags.output, flags.file, error))
    throw core::InputError(fmt::format("--output is {} itself; use --in-place to change that",
                                       core::printable(flags.file)));
  if (!flags.in_place && !flags.output) return output.print(text), 0;
  const fs::path target = flags.in_place ? fs::canonical(flags.file) : *flags.output;  // not a link
  const fs::perms permissions = fs::status(flags.file).permissions();  // it may contain keys
  report::write_file(target, text);
  if (fs::is_regular_file(target, error)) fs::permissions(target, permissions, error);
  return 0;
}

}  // namespace

void add_fill(CLI::App& app, Action& chosen) {
  CLI::App* sub = app.add_subcommand(
      "fill", "fill in a configuration file, as tune --template does for a trial");
  const auto flags = std::make_shared<FillFlags>();
  sub->add_option("FILE", flags->file, "with {batch} in it, or in YAML, JSON or TOML for --set")
      ->required();
  sub->add_option("--set", flags->edits,
                  "set a key, such as train.batch_size=64, and leave the rest as it is; may be "
                  "repeated")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->take_all();
  text_flag(*sub, "--batch", "N", "for {batch} and {micro_batch}",
            [flags](const std::string& text) {
              flags->batch = core::parse_whole(text, "--batch", 1, most_batch);
            });
  whole_flag(*sub, "--accumulation", flags->setting.accumulation, {1, most_batch},
             "for {accumulation}");
  for (const trial::SettingField& field : trial::setting_fields())
    if (field.is_of_configuration() && field.placeholder)
      field.in(flags->setting, [&](auto& its) {
        const std::string flag = fmt::format("--{}", field.placeholder);
        const std::string help = fmt::format("for {{{}}}", field.placeholder);
        if constexpr (std::is_same_v<decltype(its), int&>)
          whole_flag(*sub, flag, its, {0, 1 << 20}, help);
        else
          sub->add_option(flag, its, help)->type_name("NAME");
      });
  text_flag(*sub, "--lr", "X", "for {lr}", [flags](const std::string& text) {
    flags->setting.learning_rate = core::parse_real(text, "--lr", {0, false}, {1e9});
  });
  text_flag(*sub, "--seed", "N", "for {seed}", [flags](const std::string& text) {
    flags->setting.seed = static_cast<std::uint64_t>(core::parse_whole(text, "--seed", 0));
  });
  CLI::Option* in_place = sub->add_flag("--in-place", flags->in_place, "change the file itself");
  sub->add_option("-o,--output", flags->output, "write here [stdout]")
      ->type_name("FILE")
      ->excludes(in_place);
  sub->footer(
      "\nExamples:\n"
      "  sweetspot fill config.yaml --set train.batch_size=64 --output tuned.yaml\n"
      "  sweetspot fill train.cfg.in --batch 64 > train.cfg");
  sub->callback(
      [&chosen, flags] { chosen = [flags](Output& output) { return fill(*flags, output); }; });
}

}  // namespace sweetspot::cli
