// Settings are the EngineOptions of the mmapv1 engine. docs/engines/mmapv1.md says what each means
// for a user.
#ifndef TESTBED_ENGINES_MMAPV1_FILES_SETTINGS_H_
#define TESTBED_ENGINES_MMAPV1_FILES_SETTINGS_H_

#include <cstdint>
#include <string>

#include "engines/engine.h"

namespace testbed::mmapv1 {

// kMostUncommittedBytes is the most bytes of write intents, with the headers of their entries, that
// may wait for the journal. kMostTransactionBytes is the most that one transaction may add. A
// section of the journal has room for both together (store.cc).
inline constexpr uint64_t kMostUncommittedBytes = 1ull << 30;
inline constexpr uint64_t kMostTransactionBytes = 1ull << 30;

enum class Generation : uint8_t { k24, k26 };
enum class Allocation : uint8_t { kPowerOf2, kPadding };

struct Settings {
  bool create = true;  // make the database where the directory holds none
  Generation generation = Generation::k26;
  Allocation allocation = Allocation::kPowerOf2;
  Durability durability = Durability::kLazy;
  Advice advice = Advice::kNormal;
  bool small_files = false;
  uint64_t ns_bytes = 0;
  uint64_t first_file_bytes = 0;
  uint64_t most_file_bytes = 0;
  uint64_t journal_file_bytes = 0;
  bool preallocate = true;  // make the next data file in the background
  bool zero_fill = false;   // write the space of new files, instead of allocating it only
  uint32_t commit_interval_ms = 0;
  uint32_t lazy_interval_ms = 0;   // a crash loses no lazy commit that is older than this
  uint32_t sync_delay_ms = 0;      // 0 means that data files are not flushed periodically
  uint64_t uncommitted_bytes = 0;  // writers wait when more bytes wait for the journal
  // A transaction with more bytes of write intents is refused. Tests set a smaller value.
  uint64_t transaction_bytes = kMostTransactionBytes;
  uint32_t remap_period_ms = 0;  // each private view is mapped anew once in this time

  // Returns the largest size at which a buffer keeps its memory after use. A larger buffer is
  // freed, since the buffers of many databases add up.
  uint64_t kept_buffer() const { return uncommitted_bytes / 4; }
  bool journaled() const { return durability != Durability::kNone; }
};

// Throws Error (kUsage) for a value that an extra option does not accept. Changes nothing.
Settings MakeSettings(const EngineOptions& options);

Capabilities Mmapv1Capabilities();

// Returns why databases cannot be opened on a kernel whose memory pages have so many bytes; "" when
// they can. The engine drops and syncs ranges of whole pages of kMemoryPage bytes, and such a
// kernel refuses those that are no whole pages of its own.
std::string UnfitPages(uint64_t page_bytes);

}  // namespace testbed::mmapv1

#endif  // TESTBED_ENGINES_MMAPV1_FILES_SETTINGS_H_
