#include "engines/bf_tree/settings.h"

#include <bit>

#include "engines/extra_options.h"
#include "engines/open_tables.h"

namespace testbed::bf_tree {
namespace {

constexpr uint32_t kSmallestPage = 4096, kLargestPage = 16384;

}  // namespace

// Follows the rule of Bf-Tree's Config::validate: a page of the file, less the room for two of the
// longest keys, must have room for the longest record and for the largest mini page. That mini page
// consists of whole lines of 64 bytes, and must have room for its header and such a record.
size_t LongestRecord(size_t page_bytes) {
  constexpr size_t kRecordHeader = 8, kPageHeader = 32, kLine = 64;
  const size_t room = page_bytes - 2 * kMaxKeyBytes - 2 * kRecordHeader;
  size_t record = room / 2;  // bytes of a record with its header
  while ((room - record) / kLine * kLine < record + kPageHeader) --record;
  return record - kRecordHeader;
}

Settings MakeSettings(const EngineOptions& options) {
  const ExtraOptions extra("bf-tree", options.extra);
  Settings s;
  s.io = options.io;
  s.advice = options.file_advice;
  s.library = {
      .cache_bytes = std::bit_floor(options.cache_bytes),
      .page_bytes = options.page_size,
      .max_key_bytes = kMaxKeyBytes,
      .max_record_bytes = LongestRecord(options.page_size),
      .read_promotion = extra.Integer("read_promotion", 30, 0, 100),
      .scan_promotion = extra.Integer("scan_promotion", 30, 0, 100),
      .copy_on_access = extra.Number("copy_on_access", 0.1, 0, 1),
      .record_cache = extra.Flag("record_cache", true) ? 1 : 0,
      .load_full_page = extra.Flag("load_full_page", true) ? 1 : 0,
  };
  return s;
}

Capabilities BfTreeCapabilities() {
  Capabilities can;
  can.io_modes = {IoMode::kDirect, IoMode::kBuffered};
  can.durabilities = {Durability::kNone};
  can.compressions = {"none"};
  can.min_page_size = kSmallestPage;
  can.max_page_size = kLargestPage;
  can.max_key_size = kLongestKey;
  // Encoded may add a byte to a value.
  can.max_value_size = LongestRecord(kSmallestPage) - kTablePrefix - kLongestKey - 1;
  can.longer_values = true;
  can.transactions = false;
  can.checksums = false;
  can.min_cache_bytes = 1 << 20;
  can.cache_of_power_of_two = true;
  can.most_cache_pct = 80;  // inner nodes and the table of pages take memory besides the cache
  can.extra_options = {
      {"copy_on_access",
       "share of the cache, its oldest part, whose pages an access keeps, 0 to 1 (0.1)"},
      {"load_full_page", "on, off: a write may bring a whole page into the cache (on)"},
      {"read_promotion", "percent of reads from a page that cache the record (30)"},
      {"record_cache", "on, off: reads cache records; off: whole pages (on)"},
      {"scan_promotion", "percent of pages read by scans that are cached whole (30)"},
  };
  return can;
}

}  // namespace testbed::bf_tree
