#include "core/shared_library.h"

#include <dlfcn.h>

namespace sweetspot::core {

SharedLibrary::SharedLibrary(std::initializer_list<const char*> files) {
  for (const char* file : files)
    if ((handle_ = dlopen(file, RTLD_LAZY | RTLD_LOCAL))) break;
  if (!handle_) lack_ = dlerror();
}

void* SharedLibrary::address(const char* name) {
  void* found = handle_ ? dlsym(handle_, name) : nullptr;
  if (!found && lack_.empty()) lack_ = std::string("it has no ") + name;
  return found;
}

}  // namespace sweetspot::core
