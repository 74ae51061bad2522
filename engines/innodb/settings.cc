#include "engines/innodb/settings.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string_view>
#include <utility>

#include "device/error.h"
#include "engines/extra_options.h"
#include "engines/sql/mariadb_settings.h"

namespace testbed::innodb {
namespace {

// These are server options that the run decides, and that mariadb::ServerOptions does not refuse by
// itself.
constexpr std::string_view kOwn[] = {"plugin-dir"};

// MariaDB 11 has no change buffer any more; "loose" lets it start all the same.
std::string ChangeBuffering(const Settings& s) {
  return "--loose-innodb-change-buffering=" + s.change_buffering;
}

}  // namespace

void TakeKeyBlockSize(const std::string& table, Settings* settings) {
  constexpr std::string_view kName = "KEY_BLOCK_SIZE=";
  const size_t at = table.rfind(kName);
  const uint64_t bytes = at == std::string::npos
                             ? 0
                             : std::strtoull(table.c_str() + at + kName.size(), nullptr, 10) * 1024;
  const uint64_t asked = std::exchange(settings->key_block_size, bytes);
  if (asked == 0 || asked == bytes) return;
  throw Error(Error::kUsage,
              fmt::format("innodb cannot honour --engine-option key_block_size={}: the database's "
                          "tables were made {}; leave it out, or load anew with --fresh",
                          asked, bytes == 0 ? "without it" : fmt::format("with {} bytes", bytes)));
}

Settings MakeSettings(const EngineOptions& options) {
  const ExtraOptions extra("innodb", options.extra);
  Settings s;
  s.durability = options.durability;
  s.lazy_interval_ms = options.lazy_interval_ms;
  s.page_size = options.page_size;
  s.compressed = options.compression != "none";
  s.access = extra.Choice("access", "handler", {"handler", "sql"}) == "sql" ? Access::kSql
                                                                            : Access::kHandler;
  s.adaptive_hash_index = extra.Flag("adaptive_hash_index", false);
  s.flush_neighbors = extra.Flag("flush_neighbors", false);
  s.random_read_ahead = extra.Flag("random_read_ahead", false);
  s.read_ahead_threshold = extra.Integer("read_ahead_threshold", 0, 0, 64);
  s.change_buffering = extra.Choice("change_buffering", "none",
                                    {"none", "inserts", "deletes", "changes", "purges", "all"});
  if (const auto given = options.extra.find("server_option"); given != options.extra.end()) {
    s.server_options = mariadb::ServerOptions("innodb", given->second, kOwn);
  }
  s.key_block_size = extra.Bytes("key_block_size", 0, 1024, 16384);
  s.conflict_wait_ms = ConflictWaitOption(extra);
  if (s.key_block_size != 0 &&
      (s.compressed || s.key_block_size > s.page_size ||
       (s.key_block_size & (s.key_block_size - 1)) != 0 || s.page_size > 16384)) {
    throw Error(Error::kUsage,
                "innodb takes --engine-option key_block_size with --compression none, as a power "
                "of two from 1k to the page size, and the page size up to 16k");
  }
  mariadb::CheckFileAdvice("innodb", options);
  mariadb::CheckCache("innodb", options, mariadb::LeastPool(options.page_size));
  s.shared = mariadb::SharedArguments(options, mariadb::MakeSizes(options, extra));
  return s;
}

Capabilities InnodbCapabilities() {
  Capabilities can;
  can.io_modes = {IoMode::kDirect, IoMode::kBuffered};
  can.durabilities = {Durability::kSync, Durability::kLazy, Durability::kNone};
  can.compressions = {"none", "zlib"};
  can.min_page_size = 4096;
  can.max_page_size = 65536;
  can.max_key_size = mariadb::kMaxKeySize;
  can.max_value_size = mariadb::kMaxValueSize;
  can.resizable_cache = true;
  can.min_cache_bytes = mariadb::LeastPool(8192);
  can.most_cache_pct = 70;
  can.indexes = true;
  can.file_layer = false;
  // From 11.7 on MariaDB names its threads itself; in earlier ones they inherit the name of the
  // thread that starts them. iou-wrk are the kernel's threads for the server's io_uring.
  can.thread_names = {kServiceThread, "page_cleaner", "ib_tpool_worker", "iou-wrk"};
  can.extra_options = {
      {"access", "handler: rows are read by HANDLER ... READ; sql: by a prepared SELECT (handler)"},
      {"change_buffering",
       "none, inserts, deletes, changes, purges, all: which changes of secondary indexes wait in "
       "the change buffer until their page is read (none)"},
      {"read_ahead_threshold",
       "pages of an extent (64) that are read in order before InnoDB reads the next extent ahead; "
       "0 = never (0)"},
      {"random_read_ahead",
       "on, off: InnoDB reads a whole extent when many of its pages are cached (off)"},
      {"flush_neighbors", "on, off: InnoDB writes a page together with its dirty neighbours (off)"},
      {"adaptive_hash_index", "on, off: InnoDB keeps a hash index of hot rows (off)"},
      {"key_block_size",
       "page size on disk with ROW_FORMAT=COMPRESSED, 1k to 16k (not compressed)"},
  };
  for (auto& option : mariadb::SharedOptions()) can.extra_options.push_back(std::move(option));
  return can;
}

std::vector<std::string> GivenArguments(const Settings& s) {
  std::vector<std::string> given = s.server_options;
  if (s.change_buffering != "none") given.push_back(ChangeBuffering(s));
  return given;
}

std::vector<std::string> ServerArguments(const Settings& s, const std::string& dir,
                                         const std::string& temporary) {
  std::vector<std::string> all = {"testbed", "--no-defaults", "--skip-grant-tables"};
  const auto add = [&](const char* name, const auto& value) {
    all.push_back(fmt::format("--{}={}", name, value));
  };
  add("datadir", dir);
  add("tmpdir", temporary);
  all.insert(all.end(), s.shared.begin(), s.shared.end());
  add("innodb-read-ahead-threshold", s.read_ahead_threshold);
  add("innodb-random-read-ahead", s.random_read_ahead ? 1 : 0);
  add("innodb-flush-neighbors", s.flush_neighbors ? 1 : 0);
  add("innodb-adaptive-hash-index", s.adaptive_hash_index ? 1 : 0);
  all.push_back(ChangeBuffering(s));
  add("innodb-lock-wait-timeout", 50);
  add("innodb-compression-default", 0);
  add("max-connections", 2000);
  all.insert(all.end(), s.server_options.begin(), s.server_options.end());
  return all;
}

}  // namespace testbed::innodb
