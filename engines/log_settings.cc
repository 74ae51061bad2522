#include "engines/log_settings.h"

#include <algorithm>

namespace testbed {

void AddLogOptions(Capabilities* capabilities) {
  const std::pair<std::string, std::string> options[] = {
      {"log_io",
       "direct or buffered: how the log is written (direct with --io direct, else buffered)"},
      {"log_write_size",
       "512, 4096 (default) or 8192: log writes begin and end at multiples of it"},
      {"log_pad",
       "on: each log write is filled up to log_write_size; off: a direct write repeats the last, "
       "partly filled block (on)"},
      {"log_sync", "fdatasync (default), or dsync: each log write is durable by itself"},
      {"log_space",
       "space of a log segment: recycled (default), fallocated, growing, keep-size (fallocated "
       "behind the end of the file)"},
      {"log_prewrite",
       "on: recycled segments are filled with zeros before their first use (on with --durability "
       "sync, else off; without effect, and off, with another log_space)"},
      {"log_uncached",
       "on: the pages of a recycled segment leave the page cache before the segment is used (off; "
       "without effect, and off, with log_io=direct or another log_space)"},
      {"log_segment", "bytes of a log segment (16M)"},
  };
  for (const auto& option : options) capabilities->extra_options.push_back(option);
}

LogOptions LogOptionsOf(const EngineOptions& options, const ExtraOptions& extra) {
  LogOptions log;
  const IoMode usual = options.io == IoMode::kDirect ? IoMode::kDirect : IoMode::kBuffered;
  log.mode = extra.Choice("log_io", usual, {IoMode::kDirect, IoMode::kBuffered}, IoModeName);
  log.write_size = static_cast<uint32_t>(extra.Bytes("log_write_size", 4096, 512, 8192));
  log.pad = extra.Flag("log_pad", true);
  log.sync = extra.Choice("log_sync", LogSync::kFdatasync, {LogSync::kFdatasync, LogSync::kDsync},
                          LogSyncName);
  log.space = extra.Choice(
      "log_space", LogSpace::kRecycled,
      {LogSpace::kRecycled, LogSpace::kFallocated, LogSpace::kGrowing, LogSpace::kKeepSize},
      LogSpaceName);
  const bool recycles = log.space == LogSpace::kRecycled;
  log.prewrite = extra.Flag("log_prewrite", options.durability == Durability::kSync) && recycles;
  log.uncached = extra.Flag("log_uncached", false) && recycles && log.mode == IoMode::kBuffered;
  // The buffer holds what clients append while a sync keeps the device busy. It is as large where
  // there is no cache as it is beside a cache of half the memory.
  const uint64_t cache = options.cache_bytes != 0 ? options.cache_bytes : options.ram_bytes / 2;
  log.buffer_bytes = std::clamp<uint64_t>(cache / 64, 1ull << 20, 4ull << 20);
  log.segment_bytes = extra.Bytes("log_segment", 16ull << 20, 1ull << 20, 1ull << 30);
  // With durability none the log's thread writes the log without syncing it, which saves clients
  // the write.
  if (options.durability != Durability::kSync) log.flush_interval_ms = options.lazy_interval_ms;
  log.flush_syncs = options.durability != Durability::kNone;
  return log;
}

uint64_t CheckpointLogBytes(const EngineOptions& options) {
  if (options.ram_bytes == 0) return 1ull << 30;
  return std::clamp<uint64_t>(options.ram_bytes >> 20 << 20, 64ull << 20, 2ull << 30);
}

std::vector<std::pair<std::string, uint64_t>> LogCounterPairs(const LogCounters& log) {
  return {{"log_groups", log.groups},
          {"log_syncs", log.syncs},
          {"log_framing_bytes", log.framing_bytes},
          {"log_padding_bytes", log.padding_bytes},
          {"log_rewritten_bytes", log.rewritten_bytes},
          {"log_preparation_bytes", log.preparation_bytes}};
}

}  // namespace testbed
