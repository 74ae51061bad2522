#include "engines/bf_tree/library.h"

#include <filesystem>

#include "device/machine/resident_code.h"
#include "device/os/library/shared_library.h"

namespace testbed::bf_tree {
namespace {

constexpr char kFile[] = TESTBED_BF_TREE_LIBRARY;

std::string HowToGetIt() {
  return "bf-tree needs its library, which tools/setup/build_bf_tree.sh builds (it takes cargo, "
         "Rust 1.87 or newer, and about three minutes of a processor)";
}

}  // namespace

const Library& Library::Get() {
  static const Library library;
  return library;
}

Library::Library() {
  const SharedLibrary library(kFile, HowToGetIt());
#define TESTBED_FIND(name) library.Find(#name, &calls_.name)
  TESTBED_FIND(bf_interface);
  library.CheckInterface(calls_.bf_interface(), BF_INTERFACE);
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

void Library::ReadCode() { ReadProgramFile(kFile); }

}  // namespace testbed::bf_tree
