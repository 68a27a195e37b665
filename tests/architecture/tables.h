#pragma once
#include <string>
#include <vector>

// The architecture as tables: the include tests read them, and docs/architecture.md shows them.
namespace sweetspot::architecture {

// A folder of src/, which is a namespace and a library.
struct Part {
  std::string name, what;
  std::vector<std::string> uses;             // and what those use
  std::vector<std::string> not_by_itself{};  // reachable, but not to be included here
};
const std::vector<Part>& parts();  // from the top down

// Folders of a part do not include each other's files, except these. What two of them need moves up
// to the part.
struct FolderUse {
  std::string folder;
  std::vector<std::string> uses;
};
const std::vector<FolderUse>& folder_uses();

// A heavy dependency is included in one folder only, which hides it.
struct Dependency {
  std::string name;
  std::string headers;  // a regular expression over the whole name
  std::vector<std::string> folders;
};
const std::vector<Dependency>& dependencies();

// The parts as a Mermaid graph, and the dependencies as a markdown table.
std::string graph();
std::string dependency_table();

}  // namespace sweetspot::architecture
