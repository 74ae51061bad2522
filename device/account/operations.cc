#include "device/account/operations.h"

#include <pthread.h>

#include "device/error.h"
#include "device/os/mutex.h"

namespace testbed {
namespace {

struct OpTable {
  struct Entry {
    std::string name;
    Ground ground;
  };
  Mutex mutex;
  std::vector<Entry> entries GUARDED_BY(mutex) = {
      {"unscoped", Ground::kBackground},   {"open", Ground::kBackground},
      {"flush", Ground::kBackground},      {"compaction", Ground::kBackground},
      {"checkpoint", Ground::kBackground}, {"eviction", Ground::kBackground},
      {"log-write", Ground::kBackground},  {"settle", Ground::kBackground},
      {"writeback", Ground::kBackground},
  };
};

// The table is never destroyed: a database may be closed after the static objects are gone.
//
// The thread that forks holds the mutex during the fork, so that the child finds the mutex free and
// the table whole: an opening defines a kind, in the child as well. The holder of the mutex takes
// no other lock of the library, and no holder of another such lock takes the mutex.
OpTable& Ops() {
  static auto* const table = [] {
    auto* const made = new OpTable;
    // The three handlers lock and unlock the mutex across a fork, which the analysis cannot follow.
    ::pthread_atfork([]() NO_THREAD_SAFETY_ANALYSIS { Ops().mutex.lock(); },
                     []() NO_THREAD_SAFETY_ANALYSIS { Ops().mutex.unlock(); },
                     []() NO_THREAD_SAFETY_ANALYSIS { Ops().mutex.unlock(); });
    return made;
  }();
  return *table;
}

}  // namespace

const char* FileKindName(FileKind kind) {
  static constexpr const char* kNames[kFileKinds] = {"data",        "log",        "binlog",
                                                     "doublewrite", "temp",       "meta",
                                                     "other-file",  "fs-journal", "fs-metadata"};
  return kNames[static_cast<size_t>(kind)];
}

OpKind DefineOp(std::string_view name, Ground ground) {
  OpTable& table = Ops();
  LockGuard lock(table.mutex);
  for (size_t i = 0; i < table.entries.size(); ++i) {
    if (table.entries[i].name == name) return OpKind{static_cast<uint8_t>(i)};
  }
  if (table.entries.size() == kMaxOps) {
    throw Error(Error::kUsage, "too many operation kinds: the ledger holds " +
                                   std::to_string(kMaxOps) + ", and '" + std::string(name) +
                                   "' is one more");
  }
  table.entries.push_back({std::string(name), ground});
  return OpKind{static_cast<uint8_t>(table.entries.size() - 1)};
}

std::string OpName(OpKind op) {
  OpTable& table = Ops();
  LockGuard lock(table.mutex);
  return table.entries.at(op.id).name;
}

Ground OpGround(OpKind op) {
  OpTable& table = Ops();
  LockGuard lock(table.mutex);
  return table.entries.at(op.id).ground;
}

std::vector<OpKind> DefinedOps() {
  OpTable& table = Ops();
  LockGuard lock(table.mutex);
  std::vector<OpKind> ops(table.entries.size());
  for (size_t i = 0; i < ops.size(); ++i) ops[i].id = static_cast<uint8_t>(i);
  return ops;
}

}  // namespace testbed
