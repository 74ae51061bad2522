// MakeSettings turns EngineOptions into settings of Bf-Tree. docs/engines/bf_tree.md says where the
// defaults come from.
#ifndef TESTBED_ENGINES_BF_TREE_SETTINGS_H_
#define TESTBED_ENGINES_BF_TREE_SETTINGS_H_

#include <cstddef>
#include <cstdint>

#include "engines/bf_tree/library/interface.h"
#include "engines/engine.h"

namespace testbed::bf_tree {

inline constexpr size_t kLongestKey = 123;   // bytes of a row's key, without its table's prefix
inline constexpr size_t kMaxKeyBytes = 128;  // bytes of a prefix, a key and one byte more

struct Settings {
  IoMode io = IoMode::kBuffered;
  Advice advice = Advice::kNormal;  // what the kernel is told about the file of pages
  BfSettings library{};
};

// Throws Error (kUsage) for a value that an extra option does not accept. Opens nothing.
Settings MakeSettings(const EngineOptions& options);

Capabilities BfTreeCapabilities();

// Returns the bytes of the longest record, key and value, that a page of this size takes.
size_t LongestRecord(size_t page_bytes);

}  // namespace testbed::bf_tree

#endif  // TESTBED_ENGINES_BF_TREE_SETTINGS_H_
