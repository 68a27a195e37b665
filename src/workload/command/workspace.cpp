#include "workload/command/workspace.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "core/error.h"
#include "core/text.h"
#include "workload/command/config_files.h"
#include "workload/command/process/descriptor.h"

namespace sweetspot::workload::command {
namespace {

namespace fs = std::filesystem;

// Never over an existing file.
void write_new(const fs::path& path, const std::string& text, mode_t mode) {
  const process::Descriptor file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!file && errno == EEXIST)
    throw core::InputError(
        fmt::format("--template would write {}, which is there already; move it away, or name "
                    "another",
                    core::printable(path.string())));
  std::size_t done = 0;
  while (file && done < text.size()) {
    const ssize_t wrote = ::write(file.number(), text.data() + done, text.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) break;
    done += static_cast<std::size_t>(wrote);
  }
  if (file && done == text.size()) return;
  const int error = errno;
  if (file) ::unlink(path.c_str());
  throw core::MachineError(
      fmt::format("{} cannot be written: {}; see that its folder can be, and "
                  "that the disk is not full",
                  core::printable(path.string()), std::generic_category().message(error)));
}

mode_t mode_of(const fs::path& file) {
  struct stat status {};
  return ::stat(file.c_str(), &status) == 0 ? status.st_mode & 0777 : 0600;
}

}  // namespace

Workspace::Workspace(const Options& options, const trial::Setting& setting)
    : folder_(trial_folder(options, setting)) {
  if (options.templates.empty() && !options.scratch) return;
  room_.emplace(PrivateFolder::Use::trial);
  std::vector<Scratch::File> files;
  try {
    for (const Template& one : options.templates) {
      const std::string name = template_name(one), text = filled(options, one, setting);
      fs::path place = room_->path() / name;
      if (!one.copy) {
        write_new(place, text, S_IRUSR | S_IWUSR);
      } else if (place = *one.copy; options.scratch && place.is_relative()) {
        files.push_back({place, text});
      } else {
        place = fs::absolute(folder_.value_or(".") / place);
        write_new(place, text, mode_of(one.file));
        written_.push_back(place);
      }
      if (options.templates.size() == 1) configs_.push_back({"{config}", place.string()});
      configs_.push_back({fmt::format("{{config:{}}}", name), place.string()});
    }
    if (!options.scratch) return;
    fs::create_directory(room_->path() / "scratch");
    scratch_.emplace(folder_.value_or("."), room_->path() / "scratch", files);
  } catch (...) {
    std::error_code ignored;
    for (const fs::path& file : written_) fs::remove(file, ignored);
    throw;
  }
}

Workspace::~Workspace() {
  std::error_code ignored;
  for (const fs::path& file : written_) fs::remove(file, ignored);
}

void Workspace::furnish(process::Launch& launch) const {
  launch.folder = folder_;
  if (scratch_) scratch_->furnish(launch);
  if (room_) launch.leftovers.push_back(room_->path());
  for (const fs::path& file : written_) launch.leftovers.push_back(file);
}

}  // namespace sweetspot::workload::command
