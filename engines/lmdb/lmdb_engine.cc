#include "engines/lmdb/lmdb_engine.h"

#include <fmt/format.h>
#include <lmdb.h>

#include <algorithm>
#include <chrono>

#include "device/account/ledger.h"
#include "device/error.h"
#include "device/file/directory.h"
#include "device/os/mutex.h"
#include "engines/lazy_sync.h"
#include "engines/lmdb/environment.h"
#include "engines/lmdb/session.h"
#include "engines/lmdb/settings.h"

namespace testbed {
namespace lmdb {
namespace {

class LmdbEngine : public Engine {
 public:
  LmdbEngine(const std::string& dir, const Settings& settings)
      : env_(dir, settings), snapshot_(&env_) {
    if (settings.durability != Durability::kLazy) return;
    lazy_ = std::make_unique<LazySync>(
        std::chrono::milliseconds(std::max(1u, settings.lazy_interval_ms)),
        [this] { return env_.LastCommit(); }, [this] { SyncLazily(); });
  }
  ~LmdbEngine() override;

  std::string name() const override { return "lmdb"; }
  TableId OpenTable(const std::string& table) override { return env_.OpenTable(table); }
  std::unique_ptr<Session> NewSession() override { return std::make_unique<LmdbSession>(&env_); }
  void Flush() override { env_.Sync(); }
  void Checkpoint() override { env_.Sync(); }
  void Settle() override { env_.Sync(); }
  std::vector<std::pair<std::string, std::string>> EffectiveSettings() const override;
  EngineCounters Counters() const override;
  DiskSize SizeOnDisk() const override;

 private:
  uint64_t FilePages() const { return env_.Info().me_last_pgno + 1; }
  void SyncLazily();

  mutable Environment env_;
  mutable Mutex mutex_;                           // protects snapshot_
  mutable Snapshot snapshot_ GUARDED_BY(mutex_);  // Counters uses it
  std::unique_ptr<LazySync> lazy_;
};

LmdbEngine::~LmdbEngine() {
  IoScope scope(kOpen);
  lazy_.reset();
  if (env_.settings().durability == Durability::kSync) return;
  try {
    env_.Sync();
  } catch (const std::exception&) {
    // A destructor cannot report an error.
  }
}

void LmdbEngine::SyncLazily() {
  IoScope scope(kCheckpoint);
  try {
    env_.Sync();
  } catch (const Error&) {
    // The environment has kept the error, so it takes no further commit.
  }
}

std::vector<std::pair<std::string, std::string>> LmdbEngine::EffectiveSettings() const {
  const Settings& s = env_.settings();
  const MDB_envinfo info = env_.Info();
  return {
      {"version", ::mdb_version(nullptr, nullptr, nullptr)},
      {"io", IoModeName(IoMode::kMmap)},
      {"advice", AdviceName(s.advice)},
      {"flags", FlagNames(s.flags)},
      {"page_size", std::to_string(s.page_size)},
      {"cache", "none: the page cache has all of the memory"},
      {"map_size", std::to_string(info.me_mapsize)},
      {"max_tables", std::to_string(s.max_tables)},
      {"max_readers", std::to_string(info.me_maxreaders - 1)},
      {"max_key_size", std::to_string(env_.longest_key())},
      {"durability", DurabilityName(s.durability)},
      {"lazy_interval_ms", std::to_string(s.lazy_interval_ms)},
  };
}

EngineCounters LmdbEngine::Counters() const {
  EngineCounters counters;
  LockGuard lock(mutex_);
  constexpr MDB_dbi kFree = 0, kMain = 1;  // LMDB's own tables
  std::vector<MDB_dbi> tables = env_.Tables();
  tables.insert(tables.end(), {kFree, kMain});
  snapshot_.Refresh();
  uint64_t used = 2;  // the two meta pages are used
  uint64_t depth = 0, rows = 0;
  for (MDB_dbi table : tables) {
    MDB_stat stat;
    env_.Check(::mdb_stat(snapshot_.txn(), table, &stat), "counting pages");
    used += stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages;
    if (table == kFree || table == kMain) continue;
    depth = std::max<uint64_t>(depth, stat.ms_depth);
    rows += stat.ms_entries;
  }
  snapshot_.Release();
  const MDB_envinfo info = env_.Info();
  counters.more = {{"commits", info.me_last_txnid}};
  counters.now = {
      {"file_pages", info.me_last_pgno + 1}, {"used_pages", used}, {"rows", rows}, {"depth", depth},
      {"readers", info.me_numreaders},
  };
  return counters;
}

// Computes the size from the last page that is used, because with writemap the file is as long as
// the mapping and mostly a hole.
DiskSize LmdbEngine::SizeOnDisk() const {
  return {FilePages() * env_.settings().page_size + FileBytesOnDisk(LockFile(env_.dir())), 0};
}

bool Recognises(const std::string& dir) { return IsFileThere(DataFile(dir)); }

std::string Version() {
  int major, minor, patch;
  ::mdb_version(&major, &minor, &patch);
  return fmt::format("{}.{}.{}", major, minor, patch);
}

}  // namespace
}  // namespace lmdb

EngineInfo LmdbEngineInfo() {
  EngineInfo info;
  info.name = "lmdb";
  info.summary = "LMDB's b-tree in one mapped file: pages copied on write, no log, no cache";
  info.version = lmdb::Version();
  info.capabilities = lmdb::LmdbCapabilities();
  info.files = {"data.mdb", "lock.mdb"};
  info.recognises = lmdb::Recognises;
  info.check_options = [](const EngineOptions& o) { (void)lmdb::MakeSettings(o); };
  info.open = [](const std::string& dir, const EngineOptions& options) -> std::unique_ptr<Engine> {
    return std::make_unique<lmdb::LmdbEngine>(dir, lmdb::MakeSettings(options));
  };
  return info;
}

}  // namespace testbed
