// The engine's side of the write-ahead log: appending, and the rule that a page never reaches the
// device before the log records that describe it.
//
// Without a log (unit tests of the tree) positions are still given out, so that page LSNs grow.
#ifndef TESTBED_ENGINES_BTREE_REDO_LOG_H_
#define TESTBED_ENGINES_BTREE_REDO_LOG_H_

#include <atomic>
#include <memory>
#include <string_view>
#include <utility>

#include "device/log.h"

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
    const Lsn begin = position_.fetch_add(record.size() + 1);
    return {begin, begin + record.size() + 1};
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
  std::unique_ptr<Log> owned_;
  std::atomic<Log*> log_{nullptr};
  std::atomic<Lsn> position_{1};
};

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_REDO_LOG_H_
