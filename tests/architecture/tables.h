#pragma once
#include <string>
#include <vector>

// The architecture as tables: the tests of includes read them, and docs/architecture.md shows them.
namespace sweetspot::architecture {

// A folder of src/, which is a namespace and a library.
struct Part {
  std::string name, what;
  std::vector<std::string> uses;             // and what those reach
  std::vector<std::string> not_by_itself{};  // reached, but not to be included here
};
const std::vector<Part>& parts();  // from the top down

// Folders of a part do not include each other's files, except these. What two of them need is moved
// up to the part.
struct FolderUse {
  std::string folder;
  std::vector<std::string> uses;
};
const std::vector<FolderUse>& folder_uses();

// A heavy dependency is included in one folder only, below which it is hidden.
struct Dependency {
  std::string name;
  std::string headers;  // a regular expression over the whole name
  std::vector<std::string> folders;
};
const std::vector<Dependency>& dependencies();

// The parts as a graph of Mermaid, and the dependencies as a table of markdown.
std::string graph();
std::string dependency_table();

}  // namespace sweetspot::architecture
