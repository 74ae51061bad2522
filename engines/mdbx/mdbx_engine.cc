#include "engines/mdbx/mdbx_engine.h"

#include <fmt/format.h>
#include <mdbx.h>

#include <algorithm>
#include <chrono>

#include "device/account/ledger.h"
#include "device/error.h"
#include "device/file/directory.h"
#include "device/os/mutex.h"
#include "engines/lazy_sync.h"
#include "engines/mdbx/environment.h"
#include "engines/mdbx/session.h"
#include "engines/mdbx/settings.h"

namespace testbed {
namespace mdbx {
namespace {

class MdbxEngine : public Engine {
 public:
  MdbxEngine(const std::string& dir, const Settings& settings)
      : env_(dir, settings), snapshot_(&env_) {
    if (settings.durability != Durability::kLazy) return;
    lazy_ = std::make_unique<LazySync>(
        std::chrono::milliseconds(std::max(1u, settings.lazy_interval_ms)),
        [this] { return env_.commits(); }, [this] { env_.SyncLazily(); });
  }
  ~MdbxEngine() override {
    IoScope scope(kOpen);
    lazy_.reset();
    if (env_.settings().durability == Durability::kSync) return;
    try {
      env_.Sync();
    } catch (const Error&) {
      // A destructor cannot report an error.
    }
  }

  std::string name() const override { return "mdbx"; }
  TableId OpenTable(const std::string& table) override { return env_.OpenTable(table); }
  std::unique_ptr<Session> NewSession() override { return std::make_unique<MdbxSession>(&env_); }
  void Flush() override { env_.Sync(); }
  void Checkpoint() override { env_.Sync(); }
  void Settle() override { env_.Sync(); }
  std::vector<std::pair<std::string, std::string>> EffectiveSettings() const override;
  EngineCounters Counters() const override;
  DiskSize SizeOnDisk() const override {
    return DiskSizeOf(env_.dir(), [](const std::string&) { return false; });
  }

 private:
  mutable Environment env_;
  mutable Mutex mutex_;                           // protects snapshot_
  mutable Snapshot snapshot_ GUARDED_BY(mutex_);  // Counters uses it
  std::unique_ptr<LazySync> lazy_;
};

std::vector<std::pair<std::string, std::string>> MdbxEngine::EffectiveSettings() const {
  const Settings& s = env_.settings();
  const MDBX_envinfo info = env_.Info();
  return {
      {"version", ::mdbx_version.git.describe},
      {"build", ::mdbx_build.options != nullptr ? ::mdbx_build.options : ""},
      {"io", IoModeName(IoMode::kMmap)},
      {"advice", AdviceName(s.advice)},
      {"flags", FlagNames(s.flags)},
      {"page_size", std::to_string(info.mi_dxb_pagesize)},
      {"cache", "none: the page cache has all of the memory"},
      {"map_size", std::to_string(info.mi_geo.upper)},
      {"growth_step", std::to_string(info.mi_geo.grow)},
      {"shrink_threshold", std::to_string(info.mi_geo.shrink)},
      {"max_tables", std::to_string(s.max_tables)},
      {"max_readers", std::to_string(info.mi_maxreaders - 1)},
      {"max_key_size", std::to_string(env_.longest_key())},
      {"durability", DurabilityName(s.durability)},
      {"lazy_interval_ms", std::to_string(s.lazy_interval_ms)},
  };
}

EngineCounters MdbxEngine::Counters() const {
  EngineCounters counters;
  LockGuard lock(mutex_);
  constexpr MDBX_dbi kFree = 0, kMain = 1;  // libmdbx's own tables
  // The handles are read first, so that the snapshot has each of these tables.
  std::vector<MDBX_dbi> tables = env_.Tables();
  tables.insert(tables.end(), {kFree, kMain});
  snapshot_.Refresh();
  uint64_t used = 3;  // the three meta pages are used
  uint64_t depth = 0, rows = 0;
  for (const MDBX_dbi table : tables) {
    MDBX_stat stat;
    env_.Check(::mdbx_dbi_stat(snapshot_.txn(), table, &stat, sizeof stat), "counting pages");
    used += stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages;
    if (table == kFree || table == kMain) continue;
    depth = std::max<uint64_t>(depth, stat.ms_depth);
    rows += stat.ms_entries;
  }
  snapshot_.Release();
  const MDBX_envinfo info = env_.Info();
  const auto& pages = info.mi_pgop_stat;
  counters.more = {
      {"commits", env_.commits()},    {"pages_copied", pages.cow},
      {"pages_split", pages.split},   {"pages_merged", pages.merge},
      {"pages_spilled", pages.spill}, {"pages_unspilled", pages.unspill},
  };
  counters.now = {
      {"file_pages", info.mi_last_pgno + 1}, {"used_pages", used}, {"rows", rows}, {"depth", depth},
      {"readers", info.mi_numreaders},
  };
  return counters;
}

bool Recognises(const std::string& dir) { return IsFileThere(DataFile(dir)); }

}  // namespace
}  // namespace mdbx

EngineInfo MdbxEngineInfo() {
  // Without this call the library would log to stderr, even in a process that forks and uses no
  // database.
  ::mdbx_setup_debug(MDBX_LOG_FATAL, MDBX_DBG_DONTCHANGE, MDBX_LOGGER_DONTCHANGE);
  EngineInfo info;
  info.name = "mdbx";
  info.summary = "libmdbx, LMDB's successor: a b-tree in one mapped file, pages copied on write";
  info.version =
      fmt::format("{}.{}.{}", ::mdbx_version.major, ::mdbx_version.minor, ::mdbx_version.patch);
  info.capabilities = mdbx::MdbxCapabilities();
  info.files = {"mdbx.dat", "mdbx.lck"};
  info.recognises = mdbx::Recognises;
  info.check_options = [](const EngineOptions& o) { (void)mdbx::MakeSettings(o); };
  info.open = [](const std::string& dir, const EngineOptions& options) -> std::unique_ptr<Engine> {
    return std::make_unique<mdbx::MdbxEngine>(dir, mdbx::MakeSettings(options));
  };
  return info;
}

}  // namespace testbed
