// The directory that holds the results of an experiment:
//
//   experiment.json          the experiment's text, scale, settings and rounds, and the
//                            choices of cells (--only)
//   cells/NAME.round-N.json  the results document of each finished cell (docs/results.md), with
//                            "cell" added
//   loads/KEY.json           the results document of each load that cells share
//   rehearsals/KEY.json      the results of --cache-pct most, shared by cells with the same
//                            memory needs (tools/cache/cache_rehearsal.h)
//
// A cell's file exists exactly when the cell is finished, and is complete: resuming relies on this.
#ifndef TESTBED_TOOLS_EXPERIMENT_RESULTS_DIR_H_
#define TESTBED_TOOLS_EXPERIMENT_RESULTS_DIR_H_

#include <nlohmann/json.hpp>
#include <string>

#include "device/os/dir_lock.h"
#include "tools/experiment/experiment.h"
#include "tools/experiment/plan.h"

namespace testbed {

// Not thread-safe.
class ResultsDir {
 public:
  explicit ResultsDir(std::string path) : path_(std::move(path)) {}
  const std::string& path() const { return path_; }
  // Returns whether the directory holds an experiment.json.
  bool Exists() const;
  // Creates the directory and its experiment.json, or checks those that exist, and locks the
  // directory. Adds rounds to an existing experiment that has fewer. `beside_others` permits files
  // that Remove left. Throws Error (kUsage) when the directory holds another experiment, other
  // settings or other files, or another process uses it.
  void Create(const Experiment& experiment, const PlanOptions& options, bool beside_others = false);
  // Returns experiment.json. Throws Error (kUsage) when the directory holds no experiment of this
  // version.
  nlohmann::json ReadHeader() const;
  // Removes all files that an experiment wrote, and names the remaining files on standard error.
  // Throws Error (kUsage) when the directory holds no experiment, of this version or an earlier
  // one, or another process uses it.
  void Remove() const;

  // Return whether the cell, or the load of this key, is finished.
  bool HasCell(const Cell& cell) const;
  bool HasLoad(const std::string& key) const;
  // Write a document, atomically and durably. Throw Error (kIo).
  void WriteCell(const Cell& cell, nlohmann::json document) const;
  void WriteLoad(const std::string& key, const nlohmann::json& document) const;
  // Return the document, or null when it does not exist.
  nlohmann::json ReadCell(const Cell& cell) const;
  nlohmann::json ReadLoad(const std::string& key) const;

 private:
  std::string CellFile(const Cell& cell) const;
  std::string LoadFile(const std::string& key) const;
  const std::string path_;
  DirLock lock_;  // held since Create
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_RESULTS_DIR_H_
