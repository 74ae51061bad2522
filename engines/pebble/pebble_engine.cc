#include "engines/pebble/pebble_engine.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>
#include <thread>
#include <utility>

#include "device/account/ledger.h"
#include "device/error.h"
#include "device/file/directory.h"
#include "device/os/signal_guard.h"
#include "engines/pebble/library.h"
#include "engines/pebble/session.h"
#include "engines/registry.h"

namespace testbed {
namespace pebble {
namespace {

bool IsNumbered(const std::string& name, const std::string& ending) {
  const size_t dot = std::min(name.find('.'), name.size());
  return dot > 0 && name.find_first_not_of("0123456789") == dot && name.substr(dot) == ending;
}

// The name of a marker, marker.manifest.<number of the marker>.<file>, says which manifest is in
// force. A process that was killed may have left an older one, too.
constexpr std::string_view kManifestMarker = "marker.manifest.";
bool IsManifestMarker(const std::string& name) { return name.starts_with(kManifestMarker); }
uint64_t MarkerNumber(const std::string& name) {
  return std::strtoull(name.c_str() + kManifestMarker.size(), nullptr, 10);
}

bool Recognises(const std::string& dir) {
  if (!IsDirectoryThere(dir)) return false;
  const std::vector<std::string> names = NamesIn(dir);
  return std::any_of(names.begin(), names.end(), IsManifestMarker);
}

// Throws Error when there are files of a database, but no marker that names its manifest, or no
// such manifest. Pebble would make a new database then.
void CheckManifest(const std::string& dir) {
  if (::access(dir.c_str(), R_OK | W_OK | X_OK) != 0) {
    throw Error::Io("open directory", dir, errno);
  }
  const std::vector<std::string> names = NamesIn(dir);
  std::string marker;
  for (const std::string& name : names) {
    if (!IsManifestMarker(name)) continue;
    if (marker.empty() || MarkerNumber(name) > MarkerNumber(marker)) marker = name;
  }
  if (!marker.empty()) {
    const std::string file = marker.substr(marker.rfind('.') + 1);
    if (IsFileThere(dir + "/" + file)) return;
    throw Error(Error::kCorruption, "file " + dir + "/" + file +
                                        " is missing: put it back, or load the database anew with "
                                        "--fresh");
  }
  for (const std::string& name : names) {
    if (!IsNumbered(name, ".sst") && !IsNumbered(name, ".log") && !name.starts_with("MANIFEST-") &&
        !name.starts_with("marker.format-version.")) {
      continue;
    }
    throw Error(Error::kCorruption, "file " + dir + "/marker.manifest.* is missing though " + name +
                                        " is there: put it back, or load the database anew with "
                                        "--fresh");
  }
}

// Returns the block size that the newest OPTIONS file of the database has; 0 without such a file.
uint64_t RecordedBlockSize(const std::string& dir) {
  std::string newest;
  for (const std::string& name : NamesIn(dir)) {
    // The names have numbers of six digits or more.
    if (!name.starts_with("OPTIONS-") || name.ends_with(".dbtmp")) continue;
    if (std::pair(name.size(), name) > std::pair(newest.size(), newest)) newest = name;
  }
  if (newest.empty()) return 0;
  std::ifstream file(dir + "/" + newest);
  constexpr std::string_view kName = "  block_size=";
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(kName)) return std::strtoull(line.c_str() + kName.size(), nullptr, 10);
  }
  return 0;
}

void CheckBlockSize(const std::string& dir, uint64_t requested) {
  const uint64_t recorded = RecordedBlockSize(dir);
  if (recorded == 0 || recorded == requested) return;
  throw Error(Error::kUsage,
              fmt::format("the database in {} has blocks of {} bytes, not of --page-size {}: use "
                          "--page-size {}, or load it anew",
                          dir, recorded, requested, recorded));
}

nlohmann::json CountersOf(uintptr_t db) {
  const std::string text = Library::Take(Library::Get().calls().pebble_counters(db));
  return nlohmann::json::parse(text);
}

}  // namespace

PebbleEngine::PebbleEngine(std::string dir, const Settings& settings)
    : dir_(std::move(dir)), settings_(settings), host_(settings.io, settings.advice) {
  lock_ = DirLock(dir_, "the database in");
  CheckManifest(dir_);
  CheckBlockSize(dir_, settings_.page_size);
  const Calls& calls = Library::Get().calls();
  const std::string text = settings_.library.dump();
  Library::Run(("opening the database in " + dir_).c_str(), [&](char** error) {
    return calls.pebble_open(ToBytes(dir_), ToBytes(text), host_.functions(), &db_, error);
  });
  try {
    tables_ = std::make_unique<Tables>(db_);
    if (settings_.durability == Durability::kLazy) {
      lazy_ = std::make_unique<LazySync>(
          std::chrono::milliseconds(std::max(1u, settings_.lazy_interval_ms)),
          [this] { return commits(); },
          [this] {
            IoScope scope(kLogWrite);
            SyncLog();
          });
    }
  } catch (...) {
    Close();
    throw;
  }
}

// A destructor cannot report an error. Each commit was as durable as it promised when it returned.
PebbleEngine::~PebbleEngine() {
  if (Library::InForkedChild()) {
    [[maybe_unused]] const LazySync* const of_parent = lazy_.release();  // its thread is not here
    return;
  }
  IoScope scope(kOpen);
  lazy_.reset();
  tables_.reset();
  const Calls& calls = Library::Get().calls();
  char* error = nullptr;
  if (settings_.durability == Durability::kLazy) calls.pebble_sync_log(db_, &error);
  if (settings_.durability == Durability::kNone) calls.pebble_flush(db_, &error);
  std::free(error);
  Close();
}

void PebbleEngine::Close() const {
  char* error = nullptr;
  Library::Get().calls().pebble_close(db_, &error);
  std::free(error);
}

std::unique_ptr<Session> PebbleEngine::NewSession() {
  return std::make_unique<PebbleSession>(this);
}

void PebbleEngine::SyncLog() const {
  Library::Run("making its log durable",
               [&](char** error) { return Library::Get().calls().pebble_sync_log(db_, error); });
}

void PebbleEngine::Flush() {
  Library::Run("flushing its memtables",
               [&](char** error) { return Library::Get().calls().pebble_flush(db_, error); });
}

// The flush returns when its tables are synced. The log holds the transactions that were committed
// during the flush, so the log is synced, too.
void PebbleEngine::Checkpoint() {
  Flush();
  SyncLog();
}

void PebbleEngine::Settle() {
  Checkpoint();
  if (settings_.compact_on_settle) {
    const std::string first(1, '\0'), last(5, '\xff');
    Library::Run("compacting", [&](char** error) {
      return Library::Get().calls().pebble_compact(db_, ToBytes(first), ToBytes(last), error);
    });
  }
  WaitForCompactions();
}

// Waits until no flush or compaction has run for a while, by polling: Pebble starts the next
// compaction when one ends, and deletes the files that are no longer needed soon after. A request
// to stop ends the wait. Throws Error when a flush or compaction has failed meanwhile. It also
// throws when a change of the files has failed, which the library hides from Pebble: compactions
// then go on in memory (library/host.go).
void PebbleEngine::WaitForCompactions() const {
  using Clock = std::chrono::steady_clock;
  constexpr auto kAtRest = std::chrono::milliseconds(100);
  const int64_t errors = CountersOf(db_).value("background_errors", int64_t{0});
  int64_t compactions = -1;
  Clock::time_point last_work = Clock::now();
  for (;;) {
    Library::Run("waiting for its compactions",
                 [&](char** error) { return Library::Get().calls().pebble_failed(db_, error); });
    const nlohmann::json now = CountersOf(db_);
    if (now.value("background_errors", int64_t{0}) != errors) {
      throw Error(Error::kIo, "pebble stopped its background work: " +
                                  now.value("background_error", std::string()));
    }
    const int64_t done = now.value("compactions", int64_t{0}) + now.value("flushes", int64_t{0});
    const bool works = now.value("running_jobs", int64_t{0}) > 0 ||
                       now.value("obsolete_files", int64_t{0}) > 0 || done != compactions;
    compactions = done;
    if (works) last_work = Clock::now();
    if (Clock::now() - last_work >= kAtRest || StopRequested()) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

std::vector<std::pair<std::string, std::string>> PebbleEngine::EffectiveSettings() const {
  const Library& library = Library::Get();
  std::vector<std::pair<std::string, std::string>> settings = {
      {"version", library.version()},
      {"io", IoModeName(settings_.io)},
      {"durability", DurabilityName(settings_.durability)},
      {"lazy_interval_ms", std::to_string(settings_.lazy_interval_ms)},
      {"block_cache_bytes", std::to_string(settings_.cache_bytes)},
      {"memtables_bytes", std::to_string(settings_.memtable_bytes)},
  };
  // The lines have the form of those in Pebble's OPTIONS file: "[Level "0"]", "  block_size=4096".
  std::istringstream lines(Library::Take(library.calls().pebble_settings(db_)));
  std::string section;
  for (std::string line; std::getline(lines, line);) {
    const size_t begin = std::min(line.find_first_not_of(' '), line.size());
    const size_t equals = line.find('=');
    if (line.starts_with("[Level")) {
      section = "level" + line.substr(8, line.find('"', 8) - 8) + ".";
    } else if (line.starts_with("[")) {
      section.clear();
    } else if (equals != std::string::npos) {
      const std::string name = line.substr(begin, equals - begin);
      std::string value = line.substr(equals + 1);
      if (name == "bytes_per_sync" && settings_.io == IoMode::kDirect) {
        value = "no effect: with --io direct there are no dirty pages of tables";
      }
      settings.emplace_back(section + name, std::move(value));
    }
  }
  return settings;
}

EngineCounters PebbleEngine::Counters() const {
  const nlohmann::json now = CountersOf(db_);
  const auto count = [&](const char* name) { return now.value(name, uint64_t{0}); };
  EngineCounters out;
  out.block_hits = count("hits");
  out.block_reads = count("misses");
  out.block_requests = *out.block_hits + *out.block_reads;
  out.block_write_bytes = count("flush_bytes") + count("compaction_write_bytes");
  out.log_payload_bytes = log_payload_.load(std::memory_order_relaxed);
  out.log_written_bytes = host_.log_bytes();
  out.cache_bytes = count("cache_bytes");
  for (const char* name :
       {"flushes", "flush_bytes", "compactions", "compaction_read_bytes", "compaction_write_bytes",
        "write_stalls", "filter_hits", "filter_misses", "background_errors"}) {
    out.more.emplace_back(name, count(name));
  }
  for (const char* name : {"memtable_bytes", "tables", "level0_sublevels", "read_amplification"}) {
    out.now.emplace_back(name, count(name));
  }
  return out;
}

DiskSize PebbleEngine::SizeOnDisk() const {
  return DiskSizeOf(dir_, [](const std::string& path) { return path.ends_with(".log"); });
}

}  // namespace pebble

EngineInfo PebbleEngineInfo() {
  EngineInfo info;
  info.name = "pebble";
  info.summary = "CockroachDB's LSM tree, in Go; its files run through our file layer";
  info.version = "2.1.7";
  info.missing = pebble::Library::Missing;
  info.read_code = [](const EngineOptions&) { pebble::Library::ReadCode(); };
  info.capabilities = pebble::PebbleCapabilities();
  info.files = {"LOCK",
                "MANIFEST-#",
                "OPTIONS-#",
                "OPTIONS-#.dbtmp",
                "#.log",
                "#.sst",
                "#.blob",
                "#.dbtmp",
                "CURRENT",
                "CURRENT.#.dbtmp",
                "marker.manifest.#.MANIFEST-#",
                "marker.format-version.#.#"};
  info.recognises = pebble::Recognises;
  info.check_options = [](const EngineOptions& o) { (void)pebble::MakeSettings(o); };
  info.open = [](const std::string& dir, const EngineOptions& options) -> std::unique_ptr<Engine> {
    return std::make_unique<pebble::PebbleEngine>(dir, pebble::MakeSettings(options));
  };
  return info;
}

}  // namespace testbed
