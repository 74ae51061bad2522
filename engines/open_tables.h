// OpenTables are a library's handles of the tables that were opened, by TableId. Thread-safe. A
// session looks tables up in LearnedTables, its copy of them.
//
// Where a library has one key space for all tables, a table's handle is a PrefixedTable: each of
// its keys begins with the table's number, big-endian, so that the keys of a table stand together.
//
// Lock order: opening_, then the library's write lock, which `open` takes, then mutex_. No thread
// waits for the write lock while it holds mutex_, because a thread that writes locks mutex_ to get
// the handles.
#ifndef TESTBED_ENGINES_OPEN_TABLES_H_
#define TESTBED_ENGINES_OPEN_TABLES_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "device/error.h"
#include "device/os/mutex.h"
#include "engines/engine.h"

namespace testbed {

inline constexpr size_t kTablePrefix = 4;  // bytes of a table's number

inline std::string TablePrefix(uint32_t number) {
  std::string prefix(kTablePrefix, '\0');
  for (size_t i = 0; i < kTablePrefix; ++i) prefix[i] = static_cast<char>(number >> (24 - 8 * i));
  return prefix;
}
// Returns the number that TablePrefix wrote; `prefix` has kTablePrefix bytes.
inline uint32_t TableNumber(std::string_view prefix) {
  uint32_t number = 0;
  for (const char c : prefix) number = number << 8 | static_cast<uint8_t>(c);
  return number;
}

struct PrefixedTable {
  std::string prefix;  // first bytes of each key
  std::string end;     // smallest key above all keys with the prefix
};
inline PrefixedTable PrefixedTableOf(uint32_t number) {
  return {TablePrefix(number), TablePrefix(number + 1)};
}

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

// LearnedTables are a session's own copy of the list of tables, so that its calls take no lock. Not
// thread-safe. `Tables` has opened(), which returns the list as std::vector<Handle>, by TableId.
template <typename Tables, typename Handle>
class LearnedTables {
 public:
  // `engine` begins the sentence of an error. `tables` and `engine` must outlive the object.
  LearnedTables(const Tables* tables, const char* engine) : tables_(*tables), engine_(engine) {}

  // Returns the table. If the copy lacks the table, copies the list anew; the result stays valid
  // until the next copy. Throws Error (kUsage) when the table was not opened.
  const Handle& Find(TableId table) {
    if (table >= copy_.size()) [[unlikely]]
      Learn(table);
    return copy_[table];
  }
  const std::vector<Handle>& copy() const { return copy_; }

 private:
  void Learn(TableId wanted) {
    copy_ = tables_.opened();
    if (wanted < copy_.size()) return;
    throw Error(Error::kUsage, std::string(engine_) + " has no table number " +
                                   std::to_string(wanted) + ": open it first");
  }

  const Tables& tables_;
  const char* const engine_;
  std::vector<Handle> copy_;
};

}  // namespace testbed

#endif  // TESTBED_ENGINES_OPEN_TABLES_H_
