// The settings that runs make on the machine and put back afterwards.
//
//   Surroundings surroundings(options, &document);        // scratch device, readahead
//   auto budget = surroundings.NewBudget();               // for one run each
//   auto read_limit = surroundings.NewReadLimit(budget.get());
#ifndef TESTBED_TOOLS_RUN_SURROUNDINGS_H_
#define TESTBED_TOOLS_RUN_SURROUNDINGS_H_

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "device/machine/memory_budget.h"
#include "device/machine/read_limit.h"
#include "device/machine/readahead.h"
#include "device/machine/scratch.h"
#include "tools/options.h"

namespace testbed {

// Returns the memory that a sanitizer needs for itself (shadow memory, red zones, quarantine),
// which is added to a budget because --ram does not cover it; 0 in other builds.
uint64_t SanitizerBytes();

// Returns the directory that will hold the database, or its nearest existing parent.
std::string ExistingDirectory(const std::string& path);

// Returns "machine" and, when a block device is under the directory `where`, "device" of a results
// document (docs/results.md).
nlohmann::json MachineJson(const std::string& where, bool exclusive_device);

// Notes in *document which of --ram, --read-iops, --drop-caches, --readahead and --scratch are
// given and do not reach the server that does the engine's work elsewhere, if one does. `side` is
// the label of a side of a comparison, or empty. Throws Error (kUsage) when --strict is given.
// *document has "notes" and "not_in_force".
void CheckServerMemory(const RunOptions& options, const std::string& side,
                       nlohmann::json* document);

// The settings of the machine for the runs: the scratch device and the readahead, which the
// destructor undoes on every path, and whether --ram and --read-iops can be enforced. The
// constructor also removes what killed runs left behind. It throws Error when the scratch device
// cannot be made, and Error (kUsage) when another setting cannot be made and --strict is given.
class Surroundings {
 public:
  // `options` must outlive the object. Adds "notes" and "not_in_force" to *document.
  Surroundings(const RunOptions& options, nlohmann::json* document);

  // Returns a new budget for one run, `spare` bytes larger than --ram; null when --ram is 0 or was
  // refused at the beginning, and with `spare` when the machine refuses it now. Without `spare`
  // such a refusal throws Error (kRun), if --ram could be enforced at the beginning.
  std::unique_ptr<MemoryBudget> NewBudget(uint64_t spare = 0) const;
  // Does what NewBudget does, for a run whose --ram is `ram` bytes, at most that of the options.
  std::unique_ptr<MemoryBudget> NewBudgetOf(uint64_t ram, uint64_t spare = 0) const;
  // Returns a new limit of reads per second for one run; null when --read-iops is 0 or was refused
  // at the beginning. The limit refers to `budget`, which may be null. Throws Error (kRun) when
  // --read-iops could be enforced at the beginning and no longer is.
  std::unique_ptr<ReadLimit> NewReadLimit(const MemoryBudget* budget) const;
  // Puts the readahead back after the last run. When somebody had changed it, or it cannot be put
  // back, adds that to "notes" and "not_in_force" of *document.
  void Finish(nlohmann::json* document);
  const std::string& scratch_path() const { return scratch_path_; }
  bool exclusive_device() const { return scratch_ != nullptr || options_.exclusive_device; }

 private:
  void MakeScratch();
  void SetReadahead(nlohmann::json* document);
  void CheckBudget(nlohmann::json* document);
  void CheckReadLimit(nlohmann::json* document);
  std::string Where() const;
  std::unique_ptr<ReadLimit> LimitReads(const MemoryBudget* budget, std::string* why) const;

  const RunOptions& options_;
  bool bounded_ = false, limited_ = false;  // --ram and --read-iops could be enforced
  bool unbounded_ = false;                  // --ram could not, and the document says so
  std::unique_ptr<ScratchDevice> scratch_;
  std::string scratch_path_;
  std::unique_ptr<ReadaheadGuard> readahead_;
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_RUN_SURROUNDINGS_H_
