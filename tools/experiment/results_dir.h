// The directory that keeps the results of an experiment:
//
//   experiment.json          the experiment's text, scale, settings and rounds, and the
//                            choices of cells (--only)
//   cells/NAME.round-N.json  the results document of each finished cell (docs/results.md), with
//                            "cell" added
//   loads/KEY.json           the results document of each load that cells share
//   rehearsals/KEY.json      the rehearsals of --cache-pct most, for cells with equal needs of
//                            memory (tools/cache/cache_rehearsal.h)
//   databases/KEY            the database of a load, while cells need it
//   databases/cell           that of a cell that loads its own, while it runs
//
// A scratch device has its image and its mount point there, too, which have names of their own
// (device/machine/scratch.h). The file of a cell exists only when the cell is finished, and is
// complete then. An experiment that is resumed relies on that. Reading any of the files ends, whatever
// somebody has put in its place (device/file/input_file.h).
#ifndef TESTBED_TOOLS_EXPERIMENT_RESULTS_DIR_H_
#define TESTBED_TOOLS_EXPERIMENT_RESULTS_DIR_H_

#include <nlohmann/json.hpp>
#include <string>

#include "device/os/dir_lock.h"
#include "tools/experiment/experiment.h"
#include "tools/experiment/plan.h"

namespace testbed {

// The folders in the directory that only an experiment writes to.
inline constexpr const char* kResultsFolders[] = {"cells", "loads", "rehearsals", "databases"};
// The database of a cell that loads its own, in databases/.
inline constexpr char kOwnDatabase[] = "cell";

// Not thread-safe.
class ResultsDir {
 public:
  explicit ResultsDir(std::string path) : path_(std::move(path)) {}
  const std::string& path() const { return path_; }
  // Returns whether the directory holds an experiment.json, of whatever kind.
  bool Exists() const;
  // Makes the directory and its experiment.json, or checks those of an earlier call, and locks the
  // directory against other processes. Rounds and cells that were not asked for before are added.
  // Throws Error (kUsage) when the directory holds another experiment, other settings, a symbolic
  // link in place of a folder, or files that are no experiment's; with `beside_others` such files are
  // accepted, since Remove leaves them.
  void Create(const Experiment& experiment, const PlanOptions& options, bool beside_others = false);
  // Returns experiment.json. Throws Error (kUsage) when it is missing, no regular file, damaged or of
  // an earlier version.
  nlohmann::json ReadHeader() const;
  // Removes the files that an experiment wrote, which their names and their contents tell, and names
  // the files that stay on standard error. Throws Error (kUsage) when the directory holds no
  // experiment, of this version or an earlier one, or when another process runs it.
  void Remove() const;

  // Returns whether the cell is finished.
  bool HasCell(const Cell& cell) const;
  // Write a document, atomically and durably. Throw Error (kIo).
  void WriteCell(const Cell& cell, nlohmann::json document) const;
  void WriteLoad(const std::string& key, const nlohmann::json& document) const;
  // These return null when there is no such file or it holds no JSON. They throw Error (kUsage) when
  // it is no regular file or cannot be read.
  nlohmann::json ReadCell(const Cell& cell) const;
  nlohmann::json ReadLoad(const std::string& key) const;
  // Returns the path of the cell's file.
  std::string CellFile(const Cell& cell) const;

 private:
  std::string LoadFile(const std::string& key) const;
  const std::string path_;
  DirLock lock_;  // held since Create
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_RESULTS_DIR_H_
