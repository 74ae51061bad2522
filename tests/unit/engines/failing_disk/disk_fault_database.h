// The databases that the sweep of failing calls goes over (failing_disk_test.cc), each with its own
// engine's store, so small that few commits move, split, clean and checkpoint all of it.
#ifndef TESTBED_TESTS_UNIT_ENGINES_FAILING_DISK_DISK_FAULT_DATABASE_H_
#define TESTBED_TESTS_UNIT_ENGINES_FAILING_DISK_DISK_FAULT_DATABASE_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace testbed {

using FaultRow = std::optional<std::string>;  // nothing: it is not there

class FaultDatabase {
 public:
  virtual ~FaultDatabase() = default;
  // All throw Error. After a failed Open the database is closed.
  virtual void Open(const std::string& dir, bool create) = 0;
  virtual void Commit(const std::map<std::string, FaultRow>& rows) = 0;
  virtual FaultRow Get(const std::string& key) = 0;
  virtual void Checkpoint() = 0;
  virtual void Close() = 0;
  virtual bool Exists(const std::string& dir) const = 0;
  // What is wrong with a database that is closed; empty when it is sound.
  virtual std::string Check(const std::string& dir) = 0;
  virtual int commits() const { return 120; }  // of a run
};

struct FaultMode {
  const char* name;
  std::unique_ptr<FaultDatabase> (*make)();
};
const std::vector<FaultMode>& FaultModes();

}  // namespace testbed

#endif  // TESTBED_TESTS_UNIT_ENGINES_FAILING_DISK_DISK_FAULT_DATABASE_H_
