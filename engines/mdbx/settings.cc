#include "engines/mdbx/settings.h"

#include <mdbx.h>

#include <algorithm>
#include <utility>

#include "engines/extra_options.h"

namespace testbed::mdbx {
namespace {

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
  // Without MDBX_NORDAHEAD libmdbx chooses the advice itself (Environment::Advise).
  unsigned flags = MDBX_NOSTICKYTHREADS;
  flags |= MDBX_NORDAHEAD | SyncFlags(options.durability);
  if (extra.Flag("writemap", false)) flags |= MDBX_WRITEMAP;
  if (extra.Flag("lifo", true)) flags |= MDBX_LIFORECLAIM;
  Settings s = MakeMappedSettings(extra, options, 30000);
  s.flags = flags;
  return s;
}

Capabilities MdbxCapabilities() {
  Capabilities can = MappedCapabilities();
  can.min_page_size = kSmallestPage;
  can.max_page_size = kLargestPage;
  can.max_key_size =
      static_cast<size_t>(::mdbx_limits_keysize_max(kSmallestPage, MDBX_DB_DEFAULTS));
  can.max_value_size =
      static_cast<size_t>(::mdbx_limits_valsize_max(kSmallestPage, MDBX_DB_DEFAULTS));
  can.longer_values = true;
  can.extra_options.emplace(can.extra_options.begin() + 2, "lifo",
                            "on, off: pages that were freed last are used again first (on)");
  return can;
}

std::string FlagNames(unsigned flags) {
  // MDBX_UTTERLY_NOSYNC has the bit of MDBX_SAFE_NOSYNC.
  static constexpr std::pair<unsigned, const char*> kNames[] = {
      {MDBX_NOSTICKYTHREADS, "MDBX_NOSTICKYTHREADS"}, {MDBX_UTTERLY_NOSYNC, "MDBX_UTTERLY_NOSYNC"},
      {MDBX_SAFE_NOSYNC, "MDBX_SAFE_NOSYNC"},         {MDBX_WRITEMAP, "MDBX_WRITEMAP"},
      {MDBX_LIFORECLAIM, "MDBX_LIFORECLAIM"},         {MDBX_NORDAHEAD, "MDBX_NORDAHEAD"},
  };
  return testbed::FlagNames(flags, kNames);
}

uint64_t DefaultMapSize(const std::string& dir, uint32_t page_size) {
  return std::min(testbed::DefaultMapSize(dir),
                  static_cast<uint64_t>(::mdbx_limits_dbsize_max(page_size)));
}

}  // namespace testbed::mdbx
