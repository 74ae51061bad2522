// OpenTables are a library's handles of the tables that were opened, by TableId. Thread-safe.
//
// Lock order: opening_, then the library's write lock, which `open` takes, then mutex_. No thread
// waits for the write lock while it holds mutex_, because a thread that writes locks mutex_ to get
// the handles.
#ifndef TESTBED_ENGINES_DATA_FILE_OPEN_TABLES_H_
#define TESTBED_ENGINES_DATA_FILE_OPEN_TABLES_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "device/os/mutex.h"
#include "engines/engine.h"

namespace testbed {

template <typename Handle>
class OpenTables {
 public:
  // Returns the table's id. Calls `open`, which returns the handle, for a table that was not opened
  // yet: one thread at a time.
  template <typename Open>
  TableId Find(const std::string& table, const Open& open) {
    LockGuard one(opening_);
    {
      LockGuard lock(mutex_);
      const auto found = std::find(names_.begin(), names_.end(), table);
      if (found != names_.end()) return static_cast<TableId>(found - names_.begin());
    }
    const Handle handle = open();
    LockGuard lock(mutex_);
    names_.push_back(table);
    handles_.push_back(handle);
    count_.store(static_cast<uint32_t>(handles_.size()), std::memory_order_release);
    return static_cast<TableId>(handles_.size() - 1);
  }
  std::vector<Handle> Handles() const {
    LockGuard lock(mutex_);
    return handles_;
  }
  uint32_t count() const { return count_.load(std::memory_order_acquire); }

 private:
  Mutex opening_;
  mutable Mutex mutex_;
  std::vector<std::string> names_ GUARDED_BY(mutex_);
  std::vector<Handle> handles_ GUARDED_BY(mutex_);
  std::atomic<uint32_t> count_{0};
};

}  // namespace testbed

#endif  // TESTBED_ENGINES_DATA_FILE_OPEN_TABLES_H_
