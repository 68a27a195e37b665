#pragma once
#include <initializer_list>
#include <string>

namespace sweetspot::core {

// A library that is opened when the program runs, and stays open to its end.
class SharedLibrary {
 public:
  // The first of these that can be opened.
  explicit SharedLibrary(std::initializer_list<const char*> files);
  // What is missing of it, in words: the file, or a function that was looked for. Empty: nothing.
  const std::string& lack() const { return lack_; }

  // Leaves nullptr where there is no such function.
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
