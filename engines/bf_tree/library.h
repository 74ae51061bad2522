// A Library is Bf-Tree, loaded at run time: the shared library that engines/bf_tree/library builds
// in Rust.
//
//   const Calls& calls = Library::Get().calls();
//   calls.bf_close(tree, 0, &error);
//
// It is loaded once per process and never unloaded. It has no threads of its own.
#ifndef TESTBED_ENGINES_BF_TREE_LIBRARY_H_
#define TESTBED_ENGINES_BF_TREE_LIBRARY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engines/bf_tree/library/interface.h"

namespace testbed::bf_tree {

// These are the functions of the library. Their names are those in engines/bf_tree/library/lib.rs.
struct Calls {
  int (*bf_interface)();
  BfCode (*bf_open)(BfBytes path, int from_snapshot, const BfSettings* settings, const BfHost* host,
                    BfTree** tree, BfError* error);
  BfCode (*bf_close)(BfTree* tree, int leak, BfError* error);
  BfCode (*bf_get)(const BfTree* tree, BfBytes key, char* buffer, size_t room, size_t* size,
                   BfError* error);
  BfCode (*bf_put)(const BfTree* tree, BfBytes key, BfBytes value, BfError* error);
  BfCode (*bf_erase)(const BfTree* tree, BfBytes key, BfError* error);
  BfCode (*bf_scan)(const BfTree* tree, BfBytes start, BfBytes end, uint32_t most, size_t longest,
                    char* buffer, size_t room, uint32_t* sizes, uint32_t* rows, int* ended,
                    BfError* error);
  BfCode (*bf_snapshot)(const BfTree* tree, BfBytes path, BfError* error);
  const char* (*bf_settings)(const BfTree* tree);
  uint64_t (*bf_cache_bytes)(const BfTree* tree);
};

class Library {
 public:
  // Loads the library at the first call. Throws Error (kUsage) when it is not there or is of
  // another release. Thread-safe.
  static const Library& Get();
  // Returns why the library cannot be loaded and how to get it; empty when its file is there.
  static std::string Missing();
  // Reads the file of the library into memory. Loads nothing.
  static void ReadCode();

  const Calls& calls() const { return calls_; }

 private:
  Library();

  Calls calls_{};
};

inline constexpr char kVersion[] = "0.5.7";

inline BfBytes ToBytes(std::string_view bytes) { return {bytes.data(), bytes.size()}; }

}  // namespace testbed::bf_tree

#endif  // TESTBED_ENGINES_BF_TREE_LIBRARY_H_
