#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "workload/command/process/descriptor.h"
#include "workload/command/process/process.h"

namespace sweetspot::workload::command {

// A folder of mode 0700 for the client's socket, with a name short enough for one in it, or for the
// files of a trial, on a disk. Gone with its owner; should that be killed, the next one that is
// made beside it removes it: its lock is gone by then.
class PrivateFolder {
 public:
  enum class Use { socket, trial };
  explicit PrivateFolder(Use use);  // MachineError when none can be made
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  process::Descriptor lock_;
};

// The working folder as a trial may do with it what it likes: what it writes goes elsewhere, and is
// thrown away with `room`.
//
// Where the system allows it, that is an overlay: in a mount namespace of the trial's own, the very
// path of the folder shows the folder with the trial's changes on top. Absolute paths into it mean
// the same, nothing is copied but what is changed, and the mount is gone with the last process.
// Else it is a copy of what git lists, or of all where that is not too much.
class Scratch {
 public:
  enum class Kind { overlay, git_copy, copy };
  struct File {
    std::filesystem::path name;  // in the folder; one of that name in it is covered
    std::string text;
  };

  // `room` is an empty folder of ours. InputError when the folder is too large to be copied, or a
  // file is not in it.
  Scratch(const std::filesystem::path& folder, const std::filesystem::path& room,
          const std::vector<File>& files);

  Kind kind() const { return kind_; }
  // Has the program run in it. The scratch must live until that has started.
  void furnish(process::Launch& launch) const;

  // Where a file of that name lies in the folder, behind links. InputError when that is outside.
  static std::filesystem::path place_in(const std::filesystem::path& folder,
                                        const std::filesystem::path& name);
  // Whether the folder can be overlaid here, without leaving anything.
  static bool can_overlay(const std::filesystem::path& folder);

 private:
  bool overlay(const std::filesystem::path& room, const std::vector<File>& files);
  void copy(const std::filesystem::path& room, const std::vector<File>& files);

  Kind kind_ = Kind::overlay;
  std::filesystem::path folder_;
  process::Descriptor user_namespace_, mount_namespace_;
};

}  // namespace sweetspot::workload::command
