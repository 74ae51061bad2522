#include "engines/data_file/mapped_settings.h"

#include <sys/statvfs.h>

#include <algorithm>

namespace testbed {
namespace {

constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kLeastMap = kMiB, kMostMap = 64ull << 40;
constexpr uint64_t kLeastDefaultMap = 1ull << 30, kMostDefaultMap = 4ull << 40;
constexpr uint32_t kTables = 512;
// The command has up to 1000 clients, and a session and each of its cursors are readers. Neither
// library looks at slots that no reader has used.
constexpr uint32_t kReaders = 4096;

}  // namespace

MappedSettings MakeMappedSettings(const ExtraOptions& extra, const EngineOptions& options,
                                  uint64_t most) {
  MappedSettings s;
  s.map_size = extra.Bytes("map_size", 0, kLeastMap, kMostMap);
  s.max_tables = static_cast<uint32_t>(extra.Integer("max_tables", kTables, 1, most));
  s.max_readers = static_cast<uint32_t>(extra.Integer("max_readers", kReaders, 1, most));
  s.page_size = options.page_size;
  s.durability = options.durability;
  s.lazy_interval_ms = options.lazy_interval_ms;
  s.advice = options.mmap_advice;
  return s;
}

Capabilities MappedCapabilities() {
  Capabilities can;
  can.io_modes = {IoMode::kMmap};
  can.durabilities = {Durability::kSync, Durability::kLazy, Durability::kNone};
  can.compressions = {"none"};
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
      {"max_readers", "largest number of sessions and cursors that read at once (4096)"},
  };
  return can;
}

std::string FlagNames(unsigned flags, std::span<const std::pair<unsigned, const char*>> names) {
  std::string text;
  for (const auto& [flag, name] : names) {
    if ((flags & flag) != flag) continue;
    text += (text.empty() ? "" : "|") + std::string(name);
    flags &= ~flag;
  }
  return text;
}

uint64_t DefaultMapSize(const std::string& dir) {
  struct statvfs fs {};
  uint64_t bytes = 0;
  if (::statvfs(dir.c_str(), &fs) == 0) bytes = uint64_t{fs.f_blocks} * fs.f_frsize;
  return std::clamp(bytes / kMiB * kMiB, kLeastDefaultMap, kMostDefaultMap);
}

}  // namespace testbed
