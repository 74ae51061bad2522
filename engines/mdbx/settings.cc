#include "engines/mdbx/settings.h"

#include <mdbx.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <utility>

#include "engines/extra_options.h"

namespace testbed::mdbx {
namespace {

constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kLeastMap = kMiB, kMostMap = 64ull << 40;
constexpr uint64_t kLeastDefaultMap = 1ull << 30, kMostDefaultMap = 4ull << 40;
constexpr uint32_t kTables = 512, kReaders = 1024;
constexpr uint32_t kSmallestPage = 4096, kLargestPage = 65536;

unsigned SyncFlags(Durability durability) {
  switch (durability) {
    case Durability::kSync:
      return MDBX_SYNC_DURABLE;
    case Durability::kLazy:
      return MDBX_SAFE_NOSYNC;
    case Durability::kNone:
      break;
  }
  return MDBX_UTTERLY_NOSYNC;
}

}  // namespace

Settings MakeSettings(const EngineOptions& options) {
  const ExtraOptions extra("mdbx", options.extra);
  Settings s;
  // Without MDBX_NORDAHEAD libmdbx chooses the advice itself (Environment::Advise).
  s.flags = MDBX_NOSTICKYTHREADS;
  s.flags |= MDBX_NORDAHEAD | SyncFlags(options.durability);
  if (extra.Flag("writemap", false)) s.flags |= MDBX_WRITEMAP;
  if (extra.Flag("lifo", true)) s.flags |= MDBX_LIFORECLAIM;
  s.map_size = extra.Bytes("map_size", 0, kLeastMap, kMostMap);
  s.max_tables = static_cast<uint32_t>(extra.Integer("max_tables", kTables, 1, 30000));
  s.max_readers = static_cast<uint32_t>(extra.Integer("max_readers", kReaders, 1, 30000));
  s.page_size = options.page_size;
  s.durability = options.durability;
  s.lazy_interval_ms = options.lazy_interval_ms;
  s.advice = options.mmap_advice;
  return s;
}

Capabilities MdbxCapabilities() {
  Capabilities can;
  can.io_modes = {IoMode::kMmap};
  can.durabilities = {Durability::kSync, Durability::kLazy, Durability::kNone};
  can.compressions = {"none"};
  can.min_page_size = kSmallestPage;
  can.max_page_size = kLargestPage;
  can.max_key_size =
      static_cast<size_t>(::mdbx_limits_keysize_max(kSmallestPage, MDBX_DB_DEFAULTS));
  can.max_value_size =
      static_cast<size_t>(::mdbx_limits_valsize_max(kSmallestPage, MDBX_DB_DEFAULTS));
  can.cache = false;
  can.mmap_advices = {Advice::kNormal, Advice::kRandom};
  can.file_layer = false;
  can.checksums = false;
  can.extra_options = {
      {"map_size",
       "largest size of the database; it takes address space, not disk (the size of the file "
       "system, up to 4T)"},
      {"writemap", "on, off: pages are changed in the mapping instead of in copies (off)"},
      {"lifo", "on, off: pages that were freed last are used again first (on)"},
      {"max_tables", "largest number of tables (512)"},
      {"max_readers", "largest number of sessions and cursors that read at once (1024)"},
  };
  return can;
}

std::string FlagNames(unsigned flags) {
  static constexpr std::pair<unsigned, const char*> kNames[] = {
      {MDBX_NOSTICKYTHREADS, "MDBX_NOSTICKYTHREADS"}, {MDBX_UTTERLY_NOSYNC, "MDBX_UTTERLY_NOSYNC"},
      {MDBX_SAFE_NOSYNC, "MDBX_SAFE_NOSYNC"},         {MDBX_WRITEMAP, "MDBX_WRITEMAP"},
      {MDBX_LIFORECLAIM, "MDBX_LIFORECLAIM"},         {MDBX_NORDAHEAD, "MDBX_NORDAHEAD"},
  };
  std::string text;
  for (const auto& [flag, name] : kNames) {
    if ((flags & flag) != flag) continue;
    text += (text.empty() ? "" : "|") + std::string(name);
    flags &= ~flag;  // MDBX_UTTERLY_NOSYNC has the bit of MDBX_SAFE_NOSYNC
  }
  return text;
}

uint64_t DefaultMapSize(const std::string& dir, uint32_t page_size) {
  struct statvfs fs {};
  uint64_t bytes = 0;
  if (::statvfs(dir.c_str(), &fs) == 0) bytes = uint64_t{fs.f_blocks} * fs.f_frsize;
  bytes = std::clamp(bytes / kMiB * kMiB, kLeastDefaultMap, kMostDefaultMap);
  return std::min(bytes, static_cast<uint64_t>(::mdbx_limits_dbsize_max(page_size)));
}

}  // namespace testbed::mdbx
