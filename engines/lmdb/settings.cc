#include "engines/lmdb/settings.h"

#include <lmdb.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "engines/extra_options.h"

namespace testbed::lmdb {
namespace {

constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kLeastMap = kMiB, kMostMap = 64ull << 40;
constexpr uint64_t kLeastDefaultMap = 1ull << 30, kMostDefaultMap = 4ull << 40;
constexpr uint32_t kTables = 512, kReaders = 1024;
constexpr uint32_t kLargestPage = 32 << 10;  // MAX_PAGESIZE of LMDB 0.9

uint32_t MemoryPage() { return static_cast<uint32_t>(::sysconf(_SC_PAGESIZE)); }

size_t LongestKey() {
  MDB_env* env = nullptr;
  if (::mdb_env_create(&env) != 0) return 511;
  const int size = ::mdb_env_get_maxkeysize(env);
  ::mdb_env_close(env);
  return static_cast<size_t>(size);
}

unsigned SyncFlags(Durability durability) {
  switch (durability) {
    case Durability::kSync:
      return 0;
    case Durability::kLazy:
      return MDB_NOMETASYNC;
    case Durability::kNone:
      break;
  }
  return MDB_NOSYNC;
}

}  // namespace

Settings MakeSettings(const EngineOptions& options) {
  const ExtraOptions extra("lmdb", options.extra);
  Settings s;
  s.flags = MDB_NOTLS | SyncFlags(options.durability);
  if (options.mmap_advice == Advice::kRandom) s.flags |= MDB_NORDAHEAD;
  if (extra.Flag("writemap", false)) s.flags |= MDB_WRITEMAP;
  s.map_size = extra.Bytes("map_size", 0, kLeastMap, kMostMap);
  s.map_size = (s.map_size + MemoryPage() - 1) / MemoryPage() * MemoryPage();
  s.max_tables = static_cast<uint32_t>(extra.Integer("max_tables", kTables, 1, 100000));
  s.max_readers = static_cast<uint32_t>(extra.Integer("max_readers", kReaders, 1, 100000));
  s.page_size = options.page_size;
  s.durability = options.durability;
  s.lazy_interval_ms = options.lazy_interval_ms;
  s.advice = options.mmap_advice;
  return s;
}

Capabilities LmdbCapabilities() {
  Capabilities can;
  can.io_modes = {IoMode::kMmap};
  can.durabilities = {Durability::kSync, Durability::kLazy, Durability::kNone};
  can.compressions = {"none"};
  can.min_page_size = can.max_page_size = std::min(MemoryPage(), kLargestPage);
  can.max_key_size = LongestKey();
  can.max_value_size = UINT32_MAX;
  can.cache = false;
  can.mmap_advices = {Advice::kNormal, Advice::kRandom};
  can.file_layer = false;
  can.checksums = false;
  can.extra_options = {
      {"map_size",
       "largest size of the database; it takes address space, not disk (the size of the file "
       "system, up to 4T)"},
      {"writemap", "on, off: pages are changed in the mapping instead of in copies (off)"},
      {"max_tables", "largest number of tables (512)"},
      {"max_readers", "largest number of sessions and cursors that read at once (1024)"},
  };
  return can;
}

std::string FlagNames(unsigned flags) {
  static constexpr std::pair<unsigned, const char*> kNames[] = {
      {MDB_NOTLS, "MDB_NOTLS"},           {MDB_NOSYNC, "MDB_NOSYNC"},
      {MDB_NOMETASYNC, "MDB_NOMETASYNC"}, {MDB_WRITEMAP, "MDB_WRITEMAP"},
      {MDB_NORDAHEAD, "MDB_NORDAHEAD"},
  };
  std::string text;
  for (const auto& [flag, name] : kNames) {
    if ((flags & flag) != 0) text += (text.empty() ? "" : "|") + std::string(name);
  }
  return text;
}

uint64_t DefaultMapSize(const std::string& dir) {
  struct statvfs fs {};
  uint64_t bytes = 0;
  if (::statvfs(dir.c_str(), &fs) == 0) bytes = uint64_t{fs.f_blocks} * fs.f_frsize;
  return std::clamp(bytes / kMiB * kMiB, kLeastDefaultMap, kMostDefaultMap);
}

}  // namespace testbed::lmdb
