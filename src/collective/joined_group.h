#pragma once
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "collective/group.h"

namespace sweetspot::collective {

// Ranks that are processes, somebody's launch of them. It must be told finish() in the end: a rank
// that goes without ends the others.
class JoinedGroup : public Group {
 public:
  virtual void finish() = 0;  // every rank
};

// A library of this name beside the program, or where it is installed; nothing where it is not.
std::optional<std::filesystem::path> ranks_library(const std::string& name);

// By messages, or where all ranks are on one machine and the library can, in the memory they share.
enum class Sums { messages, fastest };

// Joins the ranks that were started with this one, through such a library, once in a process; its
// name is for people. InputError where it cannot be loaded, MachineError where it fails.
std::unique_ptr<JoinedGroup> join_through(const std::filesystem::path& library,
                                          const std::string& name, Sums sums = Sums::fastest);

}  // namespace sweetspot::collective
