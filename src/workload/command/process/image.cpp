#include "workload/command/process/image.h"

#include <algorithm>
#include <sstream>

#include "core/error.h"

extern char** environ;

namespace sweetspot::workload::command::process {
namespace {

constexpr const char* usual_path = "/usr/local/bin:/usr/bin:/bin";  // where there is no PATH

void set(std::vector<std::string>& variables, const std::string& name, const std::string& value) {
  std::erase_if(variables, [&](const std::string& known) {
    return known.size() > name.size() && known[name.size()] == '=' && known.starts_with(name);
  });
  variables.push_back(name + "=" + value);
}

std::string value_of(const std::vector<std::string>& variables, const std::string& name,
                     const std::string& otherwise) {
  for (const std::string& variable : variables)
    if (variable.starts_with(name + "=")) return variable.substr(name.size() + 1);
  return otherwise;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> found;
  for (std::string& text : texts) found.push_back(text.data());
  found.push_back(nullptr);
  return found;
}

}  // namespace

Image::Image(const Launch& launch, const std::string& mark) : arguments_(launch.argv) {
  if (arguments_.empty() || arguments_.front().empty())
    throw core::InputError("no program to run was given; name one after --");
  for (char** variable = environ; variable && *variable; ++variable)
    variables_.emplace_back(*variable);
  for (const auto& [name, value] : launch.environment) set(variables_, name, value);
  set(variables_, mark.substr(0, mark.find('=')), mark.substr(mark.find('=') + 1));

  const std::string& program = arguments_.front();
  if (program.find('/') != program.npos) {
    paths_.push_back(program);  // relative to the folder it runs in
  } else {
    std::istringstream folders(value_of(variables_, "PATH", usual_path));
    for (std::string folder; std::getline(folders, folder, ':');)
      paths_.push_back((folder.empty() ? "." : folder) + "/" + program);
  }
  if (launch.folder) folder_ = launch.folder->string();
  for (const std::string& path : paths_) candidates_.push_back(path.c_str());
  candidates_.push_back(nullptr);
  argv_ = pointers(arguments_);
  environment_ = pointers(variables_);
  if (launch.leftovers.empty()) return;
  removal_ = {"/bin/rm", "-rf", "--"};
  for (const auto& path : launch.leftovers) removal_.push_back(path.string());
  remove_ = pointers(removal_);
}

}  // namespace sweetspot::workload::command::process
