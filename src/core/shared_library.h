#pragma once
#include <initializer_list>
#include <string>

namespace sweetspot::core {

// A library that is opened at run time, and stays open until exit.
class SharedLibrary {
 public:
  // The first of these that can be opened.
  explicit SharedLibrary(std::initializer_list<const char*> files);
  // What is missing: the file, or a function. Empty: nothing.
  const std::string& lack() const { return lack_; }

  // nullptr if there is no such function.
  template <class Function>
  void find(const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(address(name));
  }

 private:
  void* address(const char* name);

  void* handle_ = nullptr;
  std::string lack_;
};

}  // namespace sweetspot::core
