// The pebble engine implements Engine with CockroachDB's LSM tree Pebble, which is written in Go
// and loaded as a shared library.
#ifndef TESTBED_ENGINES_PEBBLE_PEBBLE_ENGINE_H_
#define TESTBED_ENGINES_PEBBLE_PEBBLE_ENGINE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/os/dir_lock.h"
#include "engines/engine.h"
#include "engines/lazy_sync.h"
#include "engines/pebble/host.h"
#include "engines/pebble/settings.h"
#include "engines/pebble/tables.h"

namespace testbed {

struct EngineInfo;
EngineInfo PebbleEngineInfo();

namespace pebble {

class PebbleEngine : public Engine {
 public:
  PebbleEngine(std::string dir, const Settings& settings);
  ~PebbleEngine() override;

  std::string name() const override { return "pebble"; }
  TableId OpenTable(const std::string& table) override { return tables_->Open(table); }
  std::unique_ptr<Session> NewSession() override;
  void Flush() override;
  void Checkpoint() override;
  void Settle() override;
  std::vector<std::pair<std::string, std::string>> EffectiveSettings() const override;
  EngineCounters Counters() const override;
  DiskSize SizeOnDisk() const override;

  // The sessions call the functions below.
  uintptr_t db() const { return db_; }  // the library's handle of the database
  const Tables& tables() const { return *tables_; }
  // Returns a number that grows with each commit.
  uint64_t commits() const { return commits_.load(std::memory_order_acquire); }
  void Committed(uint64_t bytes) {
    if (settings_.durability != Durability::kNone) {
      log_payload_.fetch_add(bytes, std::memory_order_relaxed);
    }
    commits_.fetch_add(1, std::memory_order_acq_rel);
  }
  void CheckLazySync() {
    if (lazy_ != nullptr) lazy_->ThrowIfFailed();
  }

 private:
  void Close() const;
  void SyncLog() const;
  void WaitForCompactions() const;

  const std::string dir_;
  const Settings settings_;
  DirLock lock_;
  Host host_;
  uintptr_t db_ = 0;
  std::unique_ptr<Tables> tables_;
  std::atomic<uint64_t> commits_{0};
  std::atomic<uint64_t> log_payload_{0};  // bytes of log records
  std::unique_ptr<LazySync> lazy_;        // set with lazy durability
};

}  // namespace pebble
}  // namespace testbed

#endif  // TESTBED_ENGINES_PEBBLE_PEBBLE_ENGINE_H_
