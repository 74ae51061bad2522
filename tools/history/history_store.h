// Where `testbed history` keeps results: documents (docs/results.md) by branch and commit.
//
//   HistoryStore store("testbed-history");
//   store.Add({{"main", "1f3a...", document}});
//   for (const HistoryEntry& entry : store.Read("main")) ...
//
// The store is a directory with a file for each result, STARTED-COMMIT-HASH.json (schema
// testbed-history/1). A file is written at once or not at all, durably, and never changed, so that
// several processes may add and read at the same time. Other files in the directory are left alone.
// The rest of the program knows the store by these functions only. Thread-safe.
#ifndef TESTBED_TOOLS_HISTORY_HISTORY_STORE_H_
#define TESTBED_TOOLS_HISTORY_HISTORY_STORE_H_

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "device/error.h"

namespace testbed {

struct HistoryEntry {
  std::string branch, commit;
  nlohmann::json document;
  // Returns when the measurement began, UTC: "2026-11-24T20:29:31Z".
  // It is empty when the document does not tell.
  std::string started() const {
    const auto found = document.find("started");
    return found != document.end() && found->is_string() ? found->get<std::string>() : "";
  }
};

// Returns whether the entry tells when its measurement began, by which a history is ordered.
bool TellsWhen(const HistoryEntry& entry);

class HistoryStore {
 public:
  explicit HistoryStore(std::string directory) : directory_(std::move(directory)) {}

  // Adds entries, and returns how many; the first one makes the directory. All are checked before
  // the first is added. Of several entries those that the store has already, for the same branch
  // and commit, are left out: a process that was killed between two leaves the first ones, and the
  // same call then adds the rest. Throws Error (kUsage) for a branch or commit that is no name, for
  // a result that does not tell when it was measured, for one that is given twice or that the store
  // has already for another branch or commit, when it has all of them, and when the directory
  // cannot be made or is another user's link; Error (kIo) when an entry cannot be written: then
  // those that this call has added are removed again.
  size_t Add(const std::vector<HistoryEntry>& entries) const;

  // Returns the entries of a branch by the time that they began. Throws Error (kUsage) when there
  // is no store, or a file of it is damaged.
  std::vector<HistoryEntry> Read(const std::string& branch) const;

  const std::string& directory() const { return directory_; }

 private:
  // Returns the error of a result that the store has in `file`.
  Error AlreadyThere(const std::string& file) const;
  std::string directory_;
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_HISTORY_HISTORY_STORE_H_
