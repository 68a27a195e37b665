#pragma once
#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace sweetspot::cli {

class Output;

// The chosen command; returns the exit code.
using Action = std::function<int(Output&)>;

// Each adds its command to the program and sets `chosen` if the arguments name it. `program` is
// what follows "--", `given` all arguments: cluster tasks and ranks run them too.
void add_tune(CLI::App& app, Action& chosen, const std::vector<std::string>& program,
              const std::vector<std::string>& given);
void add_sweep(CLI::App& app, Action& chosen, const std::vector<std::string>& program,
               const std::vector<std::string>& given);
void add_paper(CLI::App& app, Action& chosen, const std::vector<std::string>& given);
void add_studies(CLI::App& app, Action& chosen);
void add_report(CLI::App& app, Action& chosen);
void add_serve(CLI::App& app, Action& chosen);
void add_train(CLI::App& app, Action& chosen, const std::vector<std::string>& given);
void add_memory(CLI::App& app, Action& chosen);
void add_profile(CLI::App& app, Action& chosen, const std::vector<std::string>& given);
void add_model(CLI::App& app, Action& chosen);
void add_fill(CLI::App& app, Action& chosen);
void add_data(CLI::App& app, Action& chosen);
void add_link(CLI::App& app, Action& chosen, const std::vector<std::string>& given);
void add_monitor(CLI::App& app, Action& chosen);
void add_doctor(CLI::App& app, Action& chosen);
void add_help(CLI::App& app, Action& chosen);
void add_power_guard(CLI::App& app, Action& chosen);  // hidden: see power_guard.h
void add_generate(CLI::App& app, Action& chosen);     // hidden: manual pages and completions

}  // namespace sweetspot::cli
