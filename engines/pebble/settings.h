// MakeSettings turns EngineOptions into Pebble's options. docs/engines/pebble.md says where the
// defaults are from.
#ifndef TESTBED_ENGINES_PEBBLE_SETTINGS_H_
#define TESTBED_ENGINES_PEBBLE_SETTINGS_H_

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "engines/engine.h"

namespace testbed::pebble {

// These are the greatest lengths of a key and a value in bytes. Pebble itself panics at a batch of
// 4 GiB.
inline constexpr size_t kLongestKey = size_t{8} << 20, kLongestValue = size_t{1} << 30;

struct Settings {
  IoMode io = IoMode::kBuffered;
  Advice advice = Advice::kNormal;  // advice for tables
  Durability durability = Durability::kLazy;
  uint32_t lazy_interval_ms = 0;
  uint32_t page_size = 0;       // bytes of a block
  uint64_t cache_bytes = 0;     // size of the block cache
  uint64_t memtable_bytes = 0;  // size of all memtables together
  bool compact_on_settle = false;
  nlohmann::json library;  // Settings of engines/pebble/library/settings.go
};

// Throws Error (kUsage) for a value that an extra option does not accept. Opens nothing.
Settings MakeSettings(const EngineOptions& options);

Capabilities PebbleCapabilities();

}  // namespace testbed::pebble

#endif  // TESTBED_ENGINES_PEBBLE_SETTINGS_H_
