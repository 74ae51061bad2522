// A SharedLibrary is a library that is loaded at run time, so that the program starts where it is
// not installed. It stays loaded to the end of the program.
//
//   const SharedLibrary library(path, "pebble needs its library, which ...");
//   library.Find("pebble_open", &open);
#ifndef TESTBED_DEVICE_OS_LIBRARY_SHARED_LIBRARY_H_
#define TESTBED_DEVICE_OS_LIBRARY_SHARED_LIBRARY_H_

#include <dlfcn.h>

#include <string>
#include <utility>

#include "device/error.h"

namespace testbed {

// All functions throw Error (kUsage), whose sentence says how to get the library.
class SharedLibrary {
 public:
  // Loads the file. RTLD_LOCAL hides the names of the library from the program. RTLD_NODELETE keeps
  // a library that has threads, as Go's runtime has.
  SharedLibrary(std::string file, std::string how_to_get_it)
      : file_(std::move(file)),
        how_to_get_it_(std::move(how_to_get_it)),
        handle_(::dlopen(file_.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) {
    if (handle_ == nullptr) {
      throw Error(Error::kUsage, how_to_get_it_ + " (" + ::dlerror() + ")");
    }
  }
  // Sets *function to the library's function `name`.
  template <typename Function>
  void Find(const char* name, Function* function) const {
    *function = reinterpret_cast<Function>(::dlsym(handle_, name));
    if (*function == nullptr) BuildAnew(std::string("no ") + name);
  }
  // Throws Error (kUsage) for a library that was built from other sources than this program, and so
  // has another interface than the program needs.
  void CheckInterface(int has, int needs) const {
    if (has == needs) return;
    BuildAnew("interface " + std::to_string(has) + ", and this testbed needs " +
              std::to_string(needs));
  }

 private:
  [[noreturn]] void BuildAnew(const std::string& has) const {
    throw Error(Error::kUsage, file_ + " has " + has + ": build it anew; " + how_to_get_it_);
  }

  const std::string file_, how_to_get_it_;
  void* const handle_;
};

}  // namespace testbed

#endif  // TESTBED_DEVICE_OS_LIBRARY_SHARED_LIBRARY_H_
