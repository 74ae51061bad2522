// The engine's side of the write-ahead log: appending, and the rule that a page never reaches the
// device before the log records that describe it.
//
// Without a log (unit tests of the tree) positions are still given out, so that page LSNs grow.
#ifndef TESTBED_ENGINES_BTREE_POOL_REDO_LOG_H_
#define TESTBED_ENGINES_BTREE_POOL_REDO_LOG_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "device/log/log.h"

namespace testbed::btree {

class RedoLog {
 public:
  // Recovery attaches the log when it has been read; the pool's threads may be at work already.
  void Attach(std::unique_ptr<Log> log) {
    log_.store(log.get(), std::memory_order_release);
    owned_ = std::move(log);
  }
  Log* log() const { return log_.load(std::memory_order_acquire); }

  LogRange Append(std::string_view record) {
    if (Log* log = this->log()) return log->Append(record);
    return TakePosition(record.size());
  }
  // As Log has it: `fill` writes the record where it is to lie.
  LogRange Append(size_t size, const std::function<void(char* to)>& fill) {
    if (Log* log = this->log()) return log->Append(size, fill);
    return TakePosition(size);
  }
  Lsn EndLsn() const {
    const Log* log = this->log();
    return log != nullptr ? log->EndLsn() : position_.load();
  }
  void WaitDurable(Lsn end) {
    if (Log* log = this->log()) log->WaitDurable(end);
  }
  // Write-ahead rule: call before a page with this LSN is written.
  void EnsureDurable(Lsn lsn) {
    Log* log = this->log();
    if (log != nullptr && log->DurableLsn() < lsn) log->WaitDurable(lsn);
  }

 private:
  LogRange TakePosition(size_t size) {
    const Lsn begin = position_.fetch_add(size + 1);
    return {begin, begin + size + 1};
  }
  std::unique_ptr<Log> owned_;
  std::atomic<Log*> log_{nullptr};
  std::atomic<Lsn> position_{1};
};

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_POOL_REDO_LOG_H_
