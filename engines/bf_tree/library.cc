#include "engines/bf_tree/library.h"

#include <dlfcn.h>

#include <filesystem>

#include "device/error.h"

namespace testbed::bf_tree {
namespace {

constexpr char kFile[] = TESTBED_BF_TREE_LIBRARY;

std::string HowToGetIt() {
  return "bf-tree needs its library, which tools/setup/build_bf_tree.sh builds (it takes cargo, "
         "Rust 1.87 or newer, and about three minutes of a processor)";
}

template <typename Function>
void Find(void* handle, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(::dlsym(handle, name));
  if (*function != nullptr) return;
  throw Error(Error::kUsage,
              std::string(kFile) + " has no " + name + ": build it anew; " + HowToGetIt());
}

}  // namespace

const Library& Library::Get() {
  static const Library library;
  return library;
}

Library::Library() {
  void* const handle = ::dlopen(kFile, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) throw Error(Error::kUsage, HowToGetIt() + " (" + ::dlerror() + ")");
#define TESTBED_FIND(name) Find(handle, #name, &calls_.name)
  TESTBED_FIND(bf_interface);
  if (const int is = calls_.bf_interface(); is != BF_INTERFACE) {
    throw Error(Error::kUsage, std::string(kFile) + " has interface " + std::to_string(is) +
                                   ", and this testbed needs " + std::to_string(BF_INTERFACE) +
                                   ": build it anew; " + HowToGetIt());
  }
  TESTBED_FIND(bf_open);
  TESTBED_FIND(bf_close);
  TESTBED_FIND(bf_get);
  TESTBED_FIND(bf_put);
  TESTBED_FIND(bf_erase);
  TESTBED_FIND(bf_scan);
  TESTBED_FIND(bf_snapshot);
  TESTBED_FIND(bf_settings);
  TESTBED_FIND(bf_cache_bytes);
#undef TESTBED_FIND
}

std::string Library::Missing() {
  std::error_code error;
  return std::filesystem::exists(kFile, error) ? "" : HowToGetIt();
}

}  // namespace testbed::bf_tree
