#include "engines/wiredtiger/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <string_view>

#include "device/error.h"
#include "engines/extra_options.h"
#include "engines/log_settings.h"
#include "engines/wiredtiger/errors.h"

// WiredTiger's library defines a registration function for each compressor that is built in. The
// references are weak: for a compressor that is not built in, the function's address is null.
extern "C" {
#define TESTBED_WIREDTIGER_COMPRESSOR(name) \
  __attribute__((weak)) int name##_extension_init(WT_CONNECTION*, WT_CONFIG_ARG*)
TESTBED_WIREDTIGER_COMPRESSOR(snappy);
TESTBED_WIREDTIGER_COMPRESSOR(lz4);
TESTBED_WIREDTIGER_COMPRESSOR(zstd);
TESTBED_WIREDTIGER_COMPRESSOR(zlib);
#undef TESTBED_WIREDTIGER_COMPRESSOR
}

namespace testbed::wiredtiger {
namespace {

constexpr uint64_t kMiB = 1 << 20;

// Returns ",VALUE" for an extra option whose value is WiredTiger configuration; "" without the
// option.
std::string Verbatim(const EngineOptions& options, const std::string& name) {
  const auto it = options.extra.find(name);
  return it == options.extra.end() || it->second.empty() ? "" : "," + it->second;
}

// Returns the parts of the nested key `key` that the user's text for wiredtiger_open has, to be
// appended to testbed's own parts: ",force_write_wait=1" for log=(force_write_wait=1).
std::string PartsOf(const EngineOptions& options, const std::string& key) {
  std::string parts;
  const auto text = options.extra.find("connection_config");
  if (text == options.extra.end()) return parts;
  for (const auto& [name, value] : ConfigItems(text->second)) {
    if (name == key && IsNested(value)) parts += "," + Inside(value);
  }
  return parts;
}

// Returns the size of a log file. WiredTiger has 128 log buffers, each a tenth of a log file, but
// at most 256 KiB. If --ram is less than 160 MiB, the log files are so small that the buffers take
// at most a fifth of it: with all 32 MiB of buffers the kernel killed most loads at --ram 64M.
// Smaller log files cost throughput, because WiredTiger syncs a file and its directory when it goes
// on to the next.
uint64_t LogFileBytes(const EngineOptions& options) {
  constexpr uint64_t kBuffers = 128, kFilesOfBuffer = 10, kWholeBuffer = 256 << 10;
  const uint64_t usual = std::clamp(options.cache_bytes / 10, 4 * kMiB, 100 * kMiB);
  const uint64_t buffer = options.ram_bytes / 5 / kBuffers;
  if (options.ram_bytes == 0 || buffer >= kWholeBuffer) return usual;
  return std::max<uint64_t>(buffer * kFilesOfBuffer, 100 << 10);
}

std::string Connection(const EngineOptions& options, const ExtraOptions& extra, const Settings& s) {
  std::vector<std::string> direct_io;
  if (options.io == IoMode::kDirect) direct_io.push_back("data");
  if (s.log_direct) direct_io.push_back("log");
  const uint64_t most = extra.Integer("eviction_threads_max", 8, 1, 20);
  const uint64_t least = extra.Integer("eviction_threads_min", 1, 1, most);
  std::string config = fmt::format(
      "create={},config_base=false,use_environment=false,session_max=1000,cache_size={},"
      "statistics=({}),mmap=false,direct_io=[{}],buffer_alignment={},"
      "debug_mode=(corruption_abort=false)",
      options.create, options.cache_bytes, extra.Choice("statistics", "fast", {"fast", "none"}),
      fmt::join(direct_io, ","), s.files.alignment);
  // These are read, and refused when they are bad, also where there is no log.
  const uint64_t file_max =
      extra.Bytes("log_file_max", LogFileBytes(options), 100 << 10, 2048 * kMiB);
  const bool prealloc = extra.Flag("log_prealloc", true);
  const bool zero_fill = extra.Flag("log_zero_fill", false);
  std::string log_parts = "enabled=false";
  if (s.log) {
    log_parts = fmt::format("enabled=true,file_max={},prealloc={},zero_fill={},remove=true",
                            file_max, prealloc, zero_fill);
    config +=
        fmt::format(",transaction_sync=(enabled={},method={})",
                    options.durability == Durability::kSync, s.files.log_dsync ? "dsync" : "fsync");
  }
  // WiredTiger uses the last value of a key that is given twice. So the user's text comes last,
  // except for keys of which the run decides some parts: these keys follow once more, with the
  // user's parts.
  config += Verbatim(options, "connection_config");
  config +=
      fmt::format(",log=({},compressor={}{})", log_parts,
                  extra.Choice("log_compressor", "none", Compressors()), PartsOf(options, "log"));
  config += fmt::format(",eviction=(threads_min={},threads_max={}{})", least, most,
                        PartsOf(options, "eviction"));
  return config + std::string(FileSystem::kExtension);
}

std::string Table(const EngineOptions& options, const ExtraOptions& extra, const Settings& s) {
  const uint64_t page = options.page_size;
  std::string config = fmt::format(
      "type=file,key_format=u,value_format=u,allocation_size={},leaf_page_max={},"
      "leaf_value_max={},internal_page_max={},checksum={},prefix_compression={},split_pct={}",
      extra.Bytes("allocation_size", std::min<uint64_t>(4096, page), 512, page), page,
      extra.Bytes("leaf_value_max", 64 * kMiB, 0, 1024 * kMiB),
      extra.Bytes("internal_page_max", page, 512, 512 * kMiB),
      extra.Choice("checksum", "on", {"on", "off", "uncompressed", "unencrypted"}),
      extra.Flag("prefix_compression", false), extra.Integer("split_pct", 90, 50, 100));
  if (extra.Has("memory_page_max")) {
    config += fmt::format(",memory_page_max={}",
                          extra.Bytes("memory_page_max", 5 * kMiB, 512, 1024 * 1024 * kMiB));
  }
  if (s.compressor != "none") config += ",block_compressor=" + s.compressor;
  return config + Verbatim(options, "table_config");
}

// WT_SESSION::create takes these keys as well, but no table keeps them: the catalogue has their
// defaults whatever was given.
constexpr std::string_view kNotKept[] = {"exclusive", "extractor", "immutable", "import", "lsm"};

// Returns the keys of tables' configuration that the user gave, be it by extra options, which have
// the names of their keys, or by table_config. It leaves out those that no table keeps.
std::vector<std::string> GivenOfTable(const EngineOptions& options, const std::string& table) {
  std::vector<std::string> names;
  for (const auto& [name, value] : options.extra) {
    if (!ConfigValue(table, name).empty()) names.push_back(name);
  }
  const auto text = options.extra.find("table_config");
  if (text == options.extra.end()) return names;
  std::vector<std::pair<std::string, std::string>> of_text;
  Flatten("", text->second, &of_text);
  for (const auto& [name, value] : of_text) {
    const std::string_view key = std::string_view(name).substr(0, name.find('.'));
    if (std::find(std::begin(kNotKept), std::end(kNotKept), key) == std::end(kNotKept)) {
      names.push_back(name);
    }
  }
  return names;
}

// A Parser reads a configuration string with WiredTiger's own parser. A string that WiredTiger
// cannot parse has no keys.
class Parser {
 public:
  explicit Parser(const std::string& config) {
    if (::wiredtiger_config_parser_open(nullptr, config.data(), config.size(), &parser_) != 0) {
      parser_ = nullptr;
    }
  }
  ~Parser() {
    if (parser_ != nullptr) parser_->close(parser_);
  }
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  bool Get(const std::string& key, WT_CONFIG_ITEM* value) {
    return parser_ != nullptr && parser_->get(parser_, key.c_str(), value) == 0;
  }
  bool Next(WT_CONFIG_ITEM* key, WT_CONFIG_ITEM* value) {
    return parser_ != nullptr && parser_->next(parser_, key, value) == 0;
  }

 private:
  WT_CONFIG_PARSER* parser_ = nullptr;
};

// Returns whether `key` has the same value in two configuration strings. It also returns true when
// one of them does not have the key.
bool HaveSameValue(const std::string& one, const std::string& other, const std::string& key) {
  Parser of_one(one), of_other(other);
  WT_CONFIG_ITEM a, b;
  if (!of_one.Get(key, &a) || !of_other.Get(key, &b)) return true;
  const auto is_number = [](const WT_CONFIG_ITEM& item) {
    return item.type == WT_CONFIG_ITEM::WT_CONFIG_ITEM_NUM ||
           item.type == WT_CONFIG_ITEM::WT_CONFIG_ITEM_BOOL;
  };
  if (is_number(a) && is_number(b)) return a.val == b.val;  // 4k is 4096
  return std::string_view(a.str, a.len) == std::string_view(b.str, b.len);
}

// Throws unless WiredTiger accepts `config` for its function `call`. `option` is the extra option
// by which the user gave a part of it. The sentence names the release, because another release may
// have the key.
void Validate(const char* call, const std::string& config, const char* option) {
  Errors errors;
  const int code = ::wiredtiger_config_validate(nullptr, errors.handler(), call, config.c_str());
  if (code == 0) return;
  try {
    int major, minor, patch;
    ::wiredtiger_version(&major, &minor, &patch);
    errors.Throw(code, fmt::format("taking --engine-option {} by the rules of release {}.{}.{}",
                                   option, major, minor, patch));
  } catch (const Error& error) {
    throw Error(Error::kUsage, error.what());
  }
}

// A Decided is a key of WiredTiger's configuration that a text of the user cannot set, and what
// decides the key. A key with a dot is a part of a nested key, whose other parts the text can set
// (PartsOf).
struct Decided {
  std::string_view key, by;
};
constexpr std::string_view kAdapter = "testbed's adapter";
constexpr std::string_view kOfFiles = "--io, --mmap-advice and --file-advice";
constexpr Decided kOfConnection[] = {
    {"log.enabled", "--durability"},
    {"log.file_max", "the engine option log_file_max"},
    {"log.prealloc", "the engine option log_prealloc"},
    {"log.zero_fill", "the engine option log_zero_fill"},
    {"log.compressor", "the engine option log_compressor"},
    {"log.remove", kAdapter},
    {"log.archive", kAdapter},
    {"log.path", kAdapter},
    // FileSystem has no sync that does not wait.
    {"log.os_cache_dirty_pct", kAdapter},
    {"transaction_sync", "--durability and the engine option log_sync"},
    {"checkpoint_sync", "--durability"},
    // The IO of a checkpoint by a thread of WiredTiger would be charged to eviction.
    {"checkpoint", "the engine options checkpoint_interval_s and checkpoint_log_bytes"},
    {"cache_size", "--ram and --cache-pct"},
    {"shared_cache", "--ram and --cache-pct"},
    // These would be memory, or a file of copied blocks, beside the cache.
    {"block_cache", "--ram and --cache-pct"},
    {"chunk_cache", "--ram and --cache-pct"},
    {"eviction.threads_min", "the engine option eviction_threads_min"},
    {"eviction.threads_max", "the engine option eviction_threads_max"},
    {"direct_io", kOfFiles},
    {"buffer_alignment", kOfFiles},
    {"mmap", kOfFiles},
    {"mmap_all", kOfFiles},
    {"write_through", kOfFiles},
    {"in_memory", kAdapter},
    {"readonly", kAdapter},
    {"create", kAdapter},
    {"exclusive", kAdapter},
    {"config_base", kAdapter},
    {"use_environment", kAdapter},
    {"extensions", kAdapter},
    {"debug_mode", kAdapter}};
constexpr Decided kOfTable[] = {{"leaf_page_max", "--page-size"},
                                {"block_compressor", "--compression"},
                                {"log", "--durability"},
                                // FileSystem ignores the hint, and has no sync that does not wait.
                                {"access_pattern_hint", kOfFiles},
                                {"os_cache_dirty_max", kAdapter},
                                {"key_format", kAdapter},
                                {"value_format", kAdapter},
                                {"columns", kAdapter},
                                {"type", kAdapter}};

// Throws Error (kUsage) when the text of the extra option `name` sets a key that is decided
// otherwise.
void CheckKey(const std::string& name, const std::string& key, const std::string& value,
              std::span<const Decided> decided) {
  const auto at = std::find_if(decided.begin(), decided.end(),
                               [&key](const Decided& d) { return d.key == key; });
  if (at == decided.end()) return;
  throw Error(Error::kUsage,
              fmt::format("wiredtiger cannot honour --engine-option {} with {}={}: it follows "
                          "from {}",
                          name, key, value, at->by));
}

void CheckText(const EngineOptions& options, const std::string& name,
               std::span<const Decided> decided) {
  const auto text = options.extra.find(name);
  if (text == options.extra.end()) return;
  for (const auto& [key, value] : ConfigItems(text->second)) {
    CheckKey(name, key, value, decided);
    if (!IsNested(value)) continue;
    for (const auto& [part, of_part] : ConfigItems(Inside(value))) {
      CheckKey(name, key + "." + part, of_part, decided);
    }
  }
}

}  // namespace

void CheckMadeWith(const Settings& settings, const std::string& made, const std::string& dir) {
  for (const std::string& key : settings.given_of_table) {
    if (HaveSameValue(settings.table, made, key)) continue;
    throw Error(Error::kUsage,
                fmt::format("wiredtiger cannot honour --engine-option with {}={}: the database in "
                            "{} has a table that was made with {}, which it keeps; give that, or "
                            "load it anew with --fresh",
                            key, ConfigValue(settings.table, key), dir, ConfigValue(made, key)));
  }
}

void CheckSettings(const EngineOptions& options) {
  CheckText(options, "connection_config", kOfConnection);
  CheckText(options, "table_config", kOfTable);
  const Settings s = MakeSettings(options);
  if (s.files.log_dsync && options.durability == Durability::kLazy) {
    throw Error(Error::kUsage,
                "wiredtiger cannot honour --engine-option log_sync=dsync with --durability lazy: "
                "each write of the log would be durable at once; leave it out");
  }
  Validate("wiredtiger_open", s.connection, "connection_config");
  Validate("WT_SESSION.create", s.table, "table_config");
}

Settings MakeSettings(const EngineOptions& options) {
  if (options.cache_bytes < kMiB) {
    throw Error(Error::kUsage, fmt::format("wiredtiger needs a cache of at least 1 MiB, not {} "
                                           "bytes: give more --ram or --cache-pct",
                                           options.cache_bytes));
  }
  const ExtraOptions extra("wiredtiger", options.extra);
  Settings s;
  s.page_size = options.page_size;
  s.compressor = options.compression;
  s.log = options.durability != Durability::kNone;
  s.log_direct = extra.Choice("log_io", "buffered", {"buffered", "direct"}) == "direct" && s.log;
  if (options.durability == Durability::kLazy) s.flush_interval_ms = options.lazy_interval_ms;
  s.checkpoint_interval_s = extra.Integer("checkpoint_interval_s", 60, 0, 1000000);
  s.checkpoint_log_bytes =
      extra.Bytes("checkpoint_log_bytes", CheckpointLogBytes(options), 0, UINT64_MAX);
  s.conflict_wait_ms = ConflictWaitOption(extra);
  s.files.io = options.io;
  s.files.advice = options.io == IoMode::kMmap ? options.mmap_advice : options.file_advice;
  s.files.log_dsync = extra.Choice("log_sync", "fsync", {"fsync", "dsync"}) == "dsync" && s.log;
  if (options.io == IoMode::kDirect || s.log_direct) s.files.alignment = 4096;
  s.connection = Connection(options, extra, s);
  s.table = Table(options, extra, s);
  s.given_of_table = GivenOfTable(options, s.table);
  return s;
}

std::vector<std::pair<std::string, std::string>> KnownExtraOptions() {
  return {
      {"allocation_size", "unit of space in a file; blocks are multiples of it (4k)"},
      {"internal_page_max", "size of the largest internal page (the page size)"},
      {"leaf_value_max",
       "largest value that the cache holds, in a page of its own if need be; a larger one is read "
       "from the file each time; 0 = half of a leaf after a split (64M)"},
      {"memory_page_max",
       "size of a page in memory from which on it is written or split (5M, less in a small cache)"},
      {"split_pct", "percent of the largest page size that each page takes after a split (90)"},
      {"prefix_compression", "on, off: keys of a leaf share prefixes (off)"},
      {"checksum", "on, off, uncompressed, unencrypted: which blocks have a checksum (on)"},
      {"eviction_threads_min", "least number of eviction threads (1)"},
      {"eviction_threads_max", "largest number of eviction threads, under pressure (8)"},
      {"checkpoint_interval_s", "seconds from checkpoint to checkpoint, 0 = never (60)"},
      {"checkpoint_log_bytes",
       "bytes of log after which a checkpoint is taken, 0 = never (--ram, 64M to 2G)"},
      {"log_file_max",
       "size of a log file (a tenth of the cache, 4M to 100M; --ram / 64 below 160M)"},
      {"log_prealloc", "on, off: WiredTiger makes log files ahead of use (on)"},
      {"log_zero_fill", "on, off: WiredTiger fills log files with zeros ahead of use (off)"},
      {"log_compressor",
       "none, snappy, lz4, zstd, zlib, as far as the library has it: how log records are "
       "compressed; a database that was not closed is opened with the same (none)"},
      {"log_sync", "fsync, dsync: how sync commits reach the device (fsync)"},
      {"log_io",
       "buffered, direct: how the log is written; direct pads each write to 4k (buffered)"},
      ConflictWaitMeaning("a write that conflicts with another is repeated"),
      {"statistics", "fast, none: WiredTiger's own counters (fast)"},
      {"connection_config",
       "text that is appended to the configuration of wiredtiger_open; without the keys, and parts "
       "of nested keys, that other options decide"},
      {"table_config",
       "text that is appended to the configuration of WT_SESSION::create, likewise"},
  };
}

std::vector<std::string> Compressors() {
  std::vector<std::string> names = {"none"};
  if (&snappy_extension_init != nullptr) names.push_back("snappy");
  if (&lz4_extension_init != nullptr) names.push_back("lz4");
  if (&zstd_extension_init != nullptr) names.push_back("zstd");
  if (&zlib_extension_init != nullptr) names.push_back("zlib");
  return names;
}

std::string ConfigValue(const std::string& config, const std::string& key) {
  Parser parser(config);
  WT_CONFIG_ITEM value;
  return parser.Get(key, &value) ? std::string(value.str, value.len) : "";
}

int64_t ConfigNumber(const std::string& config, const std::string& key) {
  Parser parser(config);
  WT_CONFIG_ITEM value;
  return parser.Get(key, &value) ? value.val : 0;
}

uint64_t MostPageInMemory(const std::string& connection, const std::string& table) {
  constexpr uint64_t kUsualDirty = 20, kUsual = 95, kPages = 10;
  const auto number = [](const std::string& config, const char* key) {
    return static_cast<uint64_t>(std::max<int64_t>(ConfigNumber(config, key), 0));
  };
  const uint64_t asked = number(table, "memory_page_max");
  if (asked == 0) return 0;
  // A trigger of up to 100 is a percentage of the cache; a greater value is a number of bytes.
  const auto bytes = [&](const char* key, uint64_t usual) {
    const uint64_t given = number(connection, key), trigger = given == 0 ? usual : given;
    return trigger <= 100 ? number(connection, "cache_size") * trigger / 100 : trigger;
  };
  // WiredTiger lowers the trigger of dirty pages to the trigger of all pages.
  const uint64_t dirty =
      std::min(bytes("eviction_dirty_trigger", kUsualDirty), bytes("eviction_trigger", kUsual));
  return std::max(std::min(asked, dirty / kPages), number(table, "leaf_page_max"));
}

void Flatten(const std::string& prefix, const std::string& config,
             std::vector<std::pair<std::string, std::string>>* out) {
  for (auto& [key, value] : ConfigItems(config)) {
    if (IsNested(value) && value.find('=') != std::string::npos) {
      Flatten(prefix + key + ".", Inside(value), out);
    } else {
      out->emplace_back(prefix + key, value);
    }
  }
}

bool StatisticsOn(const std::string& connection) {
  const std::string value = ConfigValue(connection, "statistics");
  const auto kinds = ConfigItems(IsNested(value) ? Inside(value) : value);
  return std::any_of(kinds.begin(), kinds.end(),
                     [](const auto& kind) { return kind.first != "none"; });
}

bool IsNested(const std::string& value) {
  return value.size() > 2 && std::string_view("([{").find(value.front()) != std::string_view::npos;
}

std::string Inside(const std::string& value) { return value.substr(1, value.size() - 2); }

std::vector<std::pair<std::string, std::string>> ConfigItems(const std::string& config) {
  std::vector<std::pair<std::string, std::string>> items;
  Parser parser(config);
  WT_CONFIG_ITEM key, value;
  while (parser.Next(&key, &value)) {
    items.emplace_back(std::string(key.str, key.len), std::string(value.str, value.len));
  }
  return items;
}

}  // namespace testbed::wiredtiger
