#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "workload/command/process/descriptor.h"
#include "workload/command/process/process.h"

namespace sweetspot::workload::command {

// A folder of mode 0700 for the client's socket, with a name short enough for one, or for the files
// of a trial, on disk. Removed with its owner; if that is killed, the next one created next to it
// removes it, because its lock is free by then.
class PrivateFolder {
 public:
  enum class Use { socket, trial };
  explicit PrivateFolder(Use use);  // MachineError if none can be created
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  process::Descriptor lock_;
};

// A throw-away version of the working directory for a trial: its writes go elsewhere, and are
// deleted with `room`.
//
// If the system allows it, that is an overlay: in the trial's own mount namespace, the path of the
// folder shows the folder with the trial's changes on top. Absolute paths into it mean the same,
// only changes are copied, and the mount disappears with the last process. Otherwise it is a copy
// of what git lists, or of everything if that is not too much.
class Scratch {
 public:
  enum class Kind { overlay, git_copy, copy };
  struct File {
    std::filesystem::path name;  // in the folder; hides one of the same name
    std::string text;
  };

  // `room` is an empty folder of ours. InputError if the folder is too large to be copied, or a
  // file is not in it.
  Scratch(const std::filesystem::path& folder, const std::filesystem::path& room,
          const std::vector<File>& files);

  Kind kind() const { return kind_; }
  // Makes the program run in it. The scratch must live until that has started.
  void furnish(process::Launch& launch) const;

  // The path of this file in the folder, through links. InputError if that is outside.
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
