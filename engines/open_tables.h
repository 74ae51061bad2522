// OpenTables are a library's handles of the tables that were opened, by TableId. Thread-safe. A
// session looks tables up in LearnedTables, its copy of them.
//
// Where a library has one key space for all tables, a table's handle is a PrefixedTable: each of
// its keys begins with the table's number, big-endian, so that the keys of a table stand together.
//
// Lock order: opening_, then the library's write lock, which `open` takes, then mutex_. No thread
// waits for the write lock while it holds mutex_, because a thread that writes locks mutex_ to get
// the handles. A thread that holds the write lock must not wait for opening_, whose holder may be
// waiting for the write lock: `may_open` refuses it.
#ifndef TESTBED_ENGINES_OPEN_TABLES_H_
#define TESTBED_ENGINES_OPEN_TABLES_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
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
  // Returns the table's id, at once when the table was opened before. Otherwise calls `may_open`,
  // which throws when the calling thread must not wait for other threads that open a table, and
  // then `open`, which returns the handle: one thread at a time.
  template <typename MayOpen, typename Open>
  TableId Find(const std::string& table, const MayOpen& may_open, const Open& open) {
    if (const std::optional<TableId> known = Opened(table)) return *known;
    may_open();
    LockGuard one(opening_);
    if (const std::optional<TableId> known = Opened(table)) return *known;
    return Add(table, open());
  }
  // Does the same for a library whose `open` waits for no other thread's transaction.
  template <typename Open>
  TableId Find(const std::string& table, const Open& open) {
    return Find(table, [] {}, open);
  }
  // Adds a table, which must not be there yet, and returns its id. Find calls it; an engine that
  // opens the tables of its file by itself calls it before another thread may call Find.
  TableId Add(const std::string& table, const Handle& handle) {
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
  std::optional<TableId> Opened(const std::string& table) const {
    LockGuard lock(mutex_);
    const auto found = std::find(names_.begin(), names_.end(), table);
    if (found == names_.end()) return std::nullopt;
    return static_cast<TableId>(found - names_.begin());
  }

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
