// A RedoLog is the b-tree's access to the write-ahead log. It appends records, and enforces the
// rule that a page is never written before the log records that describe its changes are durable.
//
// Without a log (during recovery, and in unit tests of the tree) Append returns growing positions,
// so that the LSNs of pages grow. Thread-safe, except that Attach may be called by one thread only.
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
  // Takes ownership of the log. Recovery calls it after it has read the log, when other threads of
  // the pool may already use this object.
  void Attach(std::unique_ptr<Log> log) {
    log_.store(log.get(), std::memory_order_release);
    owned_ = std::move(log);
  }
  Log* log() const { return log_.load(std::memory_order_acquire); }

  LogRange Append(std::string_view record) {
    if (Log* log = this->log()) return log->Append(record);
    return TakePosition(record.size());
  }
  // Appends a record of `size` bytes, which `fill` writes directly to the log's buffer
  // (Log::Append).
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
  // Makes the log durable up to `lsn`. Call it before a page with that LSN is written.
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
