#pragma once
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "collective/group.h"

namespace sweetspot::collective {

// Ranks that are processes started by a launcher. finish() must be called at the end: a rank that
// exits without it ends the others.
class JoinedGroup : public Group {
 public:
  virtual void finish() = 0;  // every rank
};

// A library of this name next to the program, or in its installed location; nullopt if it is
// missing.
std::optional<std::filesystem::path> ranks_library(const std::string& name);

// How all-reduces are done: by messages, or, if all ranks are on one machine and the library
// supports it, in shared memory.
enum class Sums { messages, fastest };

// Joins the ranks that were started with this one, through such a library, once per process; `name`
// is for messages. InputError if it cannot be loaded, MachineError on failure.
std::unique_ptr<JoinedGroup> join_through(const std::filesystem::path& library,
                                          const std::string& name, Sums sums = Sums::fastest);

}  // namespace sweetspot::collective
