// The databases of the sweep of failing calls (failing_disk_test.cc). Each uses the store of its
// engine, and is so small that a few commits reach splits, evictions, cleaning and checkpoints.
#ifndef TESTBED_TESTS_UNIT_ENGINES_FAILING_DISK_DISK_FAULT_DATABASE_H_
#define TESTBED_TESTS_UNIT_ENGINES_FAILING_DISK_DISK_FAULT_DATABASE_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace testbed {

using FaultRow = std::optional<std::string>;  // nothing when the row does not exist

class FaultDatabase {
 public:
  virtual ~FaultDatabase() = default;
  // All methods throw Error. The database is closed after a failed Open.
  virtual void Open(const std::string& dir, bool create) = 0;
  virtual void Commit(const std::map<std::string, FaultRow>& rows) = 0;
  virtual FaultRow Get(const std::string& key) = 0;
  virtual void Checkpoint() = 0;
  virtual void Close() = 0;
  virtual bool Exists(const std::string& dir) const = 0;
  // Returns the first fault of a closed database; an empty string when it is sound.
  virtual std::string Check(const std::string& dir) = 0;
  virtual bool reads() const { return true; }  // while it is open
  virtual int commits() const { return 120; }  // number of commits in a run
};

struct FaultMode {
  const char* name;
  std::unique_ptr<FaultDatabase> (*make)();
  bool whole_blocks = false;  // the disk's (failing_disk.h)
};
const std::vector<FaultMode>& FaultModes();
// Returns the modes that need a disk that writes whole blocks.
const std::vector<FaultMode>& WholeBlockModes();

}  // namespace testbed

#endif  // TESTBED_TESTS_UNIT_ENGINES_FAILING_DISK_DISK_FAULT_DATABASE_H_
