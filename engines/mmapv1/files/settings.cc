#include "engines/mmapv1/files/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "device/error.h"
#include "engines/extra_options.h"
#include "engines/mmapv1/files/format.h"

namespace testbed::mmapv1 {
namespace {

constexpr uint64_t kMiB = 1 << 20;
// With a budget below this, files of the original's size would be mostly empty.
constexpr uint64_t kSmallRam = 4096 * kMiB;
constexpr uint64_t kLeastJournalFile = kMiB, kMostJournalFile = 1024 * kMiB;

void SetFileSizes(const EngineOptions& options, const ExtraOptions& extra, Settings* s) {
  const bool little_ram = options.ram_bytes != 0 && options.ram_bytes < kSmallRam;
  s->small_files = extra.Flag("small_files", little_ram);
  s->ns_bytes = extra.Bytes("ns_size", (s->small_files ? 1 : 16) * kMiB, 64 << 10, 2047 * kMiB);
  s->ns_bytes = (s->ns_bytes + kMemoryPage - 1) / kMemoryPage * kMemoryPage;
  s->most_file_bytes = s->small_files ? 512 * kMiB : kMostFileBytes;
  s->first_file_bytes =
      extra.Bytes("first_file_size", (s->small_files ? 16 : 64) * kMiB, kMiB, s->most_file_bytes);
  s->first_file_bytes = (s->first_file_bytes + kMemoryPage - 1) / kMemoryPage * kMemoryPage;
  uint64_t journal = 128 * kMiB;
  if (s->small_files && options.ram_bytes != 0) {
    journal = std::bit_floor(std::clamp(options.ram_bytes / 16, 4 * kMiB, journal));
  }
  s->journal_file_bytes =
      extra.Bytes("journal_file_size", journal, kLeastJournalFile, kMostJournalFile);
  s->journal_file_bytes = (s->journal_file_bytes + 8191) / 8192 * 8192;
  s->preallocate = extra.Flag("preallocate", true);
  s->zero_fill = extra.Flag("zero_fill", false);
}

void SetPeriods(const EngineOptions& options, const ExtraOptions& extra, Settings* s) {
  const bool lazy = options.durability == Durability::kLazy;
  const uint64_t interval = lazy ? std::max(2u, options.lazy_interval_ms) : 100;
  if (lazy) s->lazy_interval_ms = options.lazy_interval_ms;
  s->commit_interval_ms =
      static_cast<uint32_t>(extra.Integer("journal_commit_interval", interval, 2, 10000));
  if (lazy && s->commit_interval_ms > interval) {
    throw Error(Error::kUsage, fmt::format("mmapv1 cannot honour --engine-option "
                                           "journal_commit_interval={}: with --durability lazy it "
                                           "is up to --lazy-interval, {} ms",
                                           s->commit_interval_ms, interval));
  }
  const double sync_delay = extra.Number("sync_delay", 60, 0, 1e6);
  // A delay of less than a millisecond is one: 0 would mean never.
  if (sync_delay > 0) s->sync_delay_ms = std::max(1u, static_cast<uint32_t>(sync_delay * 1000));
  s->remap_period_ms = static_cast<uint32_t>(extra.Integer("remap_period", 2000, 1, 1000000));
  uint64_t limit = 100 * kMiB;
  if (options.ram_bytes != 0) limit = std::clamp(options.ram_bytes / 16, kMiB, limit);
  s->uncommitted_bytes = extra.Bytes("uncommitted_limit", limit, kMiB, kMostUncommittedBytes);
}

}  // namespace

Settings MakeSettings(const EngineOptions& options) {
  const ExtraOptions extra("mmapv1", options.extra);
  Settings s;
  s.create = options.create;
  s.durability = options.durability;
  s.advice = options.mmap_advice;
  s.generation = extra.Choice("generation", "2.6", {"2.4", "2.6"}) == "2.4" ? Generation::k24
                                                                            : Generation::k26;
  const std::string usual = s.generation == Generation::k24 ? "padding" : "power_of_2";
  s.allocation = extra.Choice("allocation", usual, {"power_of_2", "padding"}) == "padding"
                     ? Allocation::kPadding
                     : Allocation::kPowerOf2;
  SetFileSizes(options, extra, &s);
  SetPeriods(options, extra, &s);
  return s;
}

Capabilities Mmapv1Capabilities() {
  Capabilities can;
  can.io_modes = {IoMode::kMmap};
  can.durabilities = {Durability::kSync, Durability::kLazy, Durability::kNone};
  can.compressions = {"none"};
  can.min_page_size = can.max_page_size = kBucketRecord;
  can.max_key_size = kMaxKeySize;
  can.max_value_size = kMaxValueSize;
  can.cache = false;
  can.mmap_advices = {Advice::kNormal, Advice::kRandom, Advice::kSequential};
  can.file_layer = false;
  can.checksums = false;
  can.extra_options = {
      {"generation",
       "2.4: pages are read with the lock held; 2.6: a record that is not in memory is read "
       "with the lock released (2.6)"},
      {"allocation",
       "space of a record: power_of_2, or padding by a factor that grows as records move "
       "(power_of_2; padding with generation 2.4)"},
      {"small_files",
       "on, off: data files from 16M to 512M instead of 64M to 2G, a namespace file of 1M "
       "instead of 16M (on with --ram below 4G)"},
      {"first_file_size",
       "size of the first data file; each further one is twice as large (64M; 16M with "
       "small_files)"},
      {"ns_size", "size of the namespace file (16M; 1M with small_files)"},
      {"journal_file_size",
       "size of a journal file (128M; with small_files a sixteenth of --ram, 4M to 128M)"},
      {"preallocate", "on, off: the next data file is made in the background (on)"},
      {"zero_fill", "on, off: new files are filled with zeros, not only allocated (off)"},
      {"journal_commit_interval",
       "milliseconds from one group commit of the journal to the next (--lazy-interval with lazy, "
       "to the end of the next; else 100, or a third of that while commits wait)"},
      {"sync_delay", "seconds between flushes of the data files; 0: no periodic flushes (60)"},
      {"remap_period", "milliseconds in which all private views are mapped anew (2000)"},
      {"uncommitted_limit",
       "bytes of changes that may wait for the journal, up to 1G; private copies of pages may take "
       "twice as many (100M, or a sixteenth of --ram)"},
  };
  return can;
}

std::string UnfitPages(uint64_t page_bytes) {
  if (page_bytes <= kMemoryPage) return "";
  return fmt::format(
      "mmapv1 maps memory pages of {} bytes, and those of this kernel have {}; boot a kernel with "
      "pages of {} bytes, or take another engine",
      kMemoryPage, page_bytes, kMemoryPage);
}

}  // namespace testbed::mmapv1
