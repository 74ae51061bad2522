// The directory that keeps what an experiment has measured:
//
//   experiment.json          the experiment's text, its scale, settings and rounds, and which of
//                            its cells were asked for (--only)
//   cells/NAME.round-N.json  the results document of each finished cell (docs/results.md), with
//                            "cell" added
//   loads/KEY.json           the results document of each load that cells share
//   rehearsals/KEY.json      what --cache-pct most found, for cells whose memory is alike
//                            (tools/cache/cache_rehearsal.h)
//
// A file is there when its cell is finished, and whole: that is what resuming goes by.
#ifndef TESTBED_TOOLS_EXPERIMENT_RESULTS_DIR_H_
#define TESTBED_TOOLS_EXPERIMENT_RESULTS_DIR_H_

#include <nlohmann/json.hpp>
#include <string>

#include "device/os/dir_lock.h"
#include "tools/experiment/experiment.h"
#include "tools/experiment/plan.h"

namespace testbed {

class ResultsDir {
 public:
  explicit ResultsDir(std::string path) : path_(std::move(path)) {}
  const std::string& path() const { return path_; }
  bool Exists() const;
  // Makes the directory and its experiment.json, and keeps other processes from running it; throws
  // Error (kUsage) when it holds another experiment, other settings, or something that is none.
  // More rounds than it has are added to it.
  // `beside_others`: beside files that Remove left.
  void Create(const Experiment& experiment, const PlanOptions& options, bool beside_others = false);
  nlohmann::json ReadHeader() const;
  // Removes all that an experiment wrote, and says on standard error what else is there; throws Error (kUsage) when it is not an experiment's, of this version or an
  // earlier one, or another process runs it.
  void Remove() const;

  bool HasCell(const Cell& cell) const;
  bool HasLoad(const std::string& key) const;
  void WriteCell(const Cell& cell, nlohmann::json document) const;
  void WriteLoad(const std::string& key, const nlohmann::json& document) const;
  // Null when it is not there.
  nlohmann::json ReadCell(const Cell& cell) const;
  nlohmann::json ReadLoad(const std::string& key) const;

 private:
  std::string CellFile(const Cell& cell) const;
  std::string LoadFile(const std::string& key) const;
  const std::string path_;
  DirLock lock_;  // since Create
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_RESULTS_DIR_H_
