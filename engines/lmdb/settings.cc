#include "engines/lmdb/settings.h"

#include <lmdb.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "engines/extra_options.h"

namespace testbed::lmdb {
namespace {

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
  unsigned flags = MDB_NOTLS | SyncFlags(options.durability);
  if (options.mmap_advice == Advice::kRandom) flags |= MDB_NORDAHEAD;
  if (extra.Flag("writemap", false)) flags |= MDB_WRITEMAP;
  Settings s = MakeMappedSettings(extra, options, 100000);
  s.flags = flags;
  s.map_size = (s.map_size + MemoryPage() - 1) / MemoryPage() * MemoryPage();
  return s;
}

Capabilities LmdbCapabilities() {
  Capabilities can = MappedCapabilities();
  can.min_page_size = can.max_page_size = std::min(MemoryPage(), kLargestPage);
  can.max_key_size = LongestKey();
  can.max_value_size = UINT32_MAX;
  return can;
}

std::string FlagNames(unsigned flags) {
  static constexpr std::pair<unsigned, const char*> kNames[] = {
      {MDB_NOTLS, "MDB_NOTLS"},           {MDB_NOSYNC, "MDB_NOSYNC"},
      {MDB_NOMETASYNC, "MDB_NOMETASYNC"}, {MDB_WRITEMAP, "MDB_WRITEMAP"},
      {MDB_NORDAHEAD, "MDB_NORDAHEAD"},
  };
  return testbed::FlagNames(flags, kNames);
}

}  // namespace testbed::lmdb
