// The directory that keeps the results of an experiment:
//
//   experiment.json          the experiment's text, scale, settings and rounds, now and before, the
//                            choices of cells (--only), and the name of a user's own file
//   cells/NAME.round-N.json  the results document of each finished cell (docs/results.md), with
//                            "cell" added
//   loads/KEY.json           the results document of each load that cells share; KEY.2.json that of
//                            a load that was made again for the cells that were left
//   rehearsals/KEY.json      the rehearsals of --cache-pct most, for cells with equal needs of
//                            memory (tools/cache/cache_rehearsal.h)
//   databases/KEY            the database of a load, while cells need it
//   databases/cell           the database of a cell that loads its own, while the cell runs
//
// Processes on several hosts that share the directory (cluster/) have besides:
//
//   claims/KEY               who runs the cell, or the block of cells, or makes the load, now
//                            (cluster/claim.h)
//   claims/KEY.NUMBER.json   its result, until it gets its name in cells/, or that of a load in
//                            loads/; the number is random
//   claims/header            who changes experiment.json now
//   databases/testbed-HOST-ID-N  the databases of one process (cluster/part.h)
//   hosts/HOST.json          what kind of host it is, and why it was refused
//   hosts/HOST.refused.json  the last refusal of a host in this call, which may have passed since
//   logs/JOB_TASK.txt        what the task of a scheduler printed
//   failed/KEY.json          phases that a cell had finished when its last run failed
//   set_aside/KEY.N.json     results of a block that was begun on one host and done anew on another
//
// A scratch device has its image and its mount point there, too, which have names of their own
// (device/machine/scratch.h). The file of a cell exists only when the cell is finished, and is
// complete then. An experiment that is resumed relies on that. Reading any of the files ends,
// whatever somebody has put in its place (device/file/input_file.h).
#ifndef TESTBED_TOOLS_EXPERIMENT_RESULTS_DIR_H_
#define TESTBED_TOOLS_EXPERIMENT_RESULTS_DIR_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "device/error.h"
#include "device/os/dir_lock.h"
#include "tools/experiment/cluster/claim.h"
#include "tools/experiment/cluster/dir_share.h"
#include "tools/experiment/experiment.h"
#include "tools/experiment/plan/plan.h"

namespace testbed {

// The folders in the directory that only an experiment writes to.
inline constexpr const char* kResultsFolders[] = {
    "cells", "loads", "rehearsals", "databases", "claims", "hosts", "logs", "set_aside", "failed"};
// The database of a cell that loads its own, in databases/.
inline constexpr char kOwnDatabase[] = "cell";
// The claim of the process that changes experiment.json.
inline constexpr char kHeaderClaim[] = "header";
// "schema" of the files in claims/ and hosts/, and what a log in logs/ begins with.
inline constexpr char kClaimSchema[] = "testbed-claim/1", kHostSchema[] = "testbed-host/1";
inline constexpr char kLogBegins[] = "testbed: block ";

// Returns the cell's key, which no other cell of the experiment has and which is a name of a file:
// "engine=btree-io=direct-0123abcd.round-1".
std::string CellKey(const Cell& cell);

// Returns what ram = "auto" stood for where the experiment of this header was begun; nothing for a
// directory of an earlier version.
std::optional<uint64_t> KeptAutoRam(const nlohmann::json& header);

// Returns the key of the load that the cell was measured on. The document has it, except one of an
// earlier version: then it is the key in the plan, which may differ from that of another machine or
// another version of testbed.
std::string LoadKeyOf(const Cell& cell, const nlohmann::json& document);

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
  // link in place of a folder, or files that are no experiment's; with `beside_others` such files
  // are accepted, since Remove leaves them.
  void Create(const Experiment& experiment, const PlanOptions& options, bool beside_others = false);
  // Does what Create does, but shares the directory with other processes that made this call, on
  // whatever host: one after the other changes experiment.json. Throws Stopped when the user asks
  // to stop meanwhile.
  void CreateShared(const Experiment& experiment, const PlanOptions& options,
                    bool beside_others = false);
  // Shares a directory that CreateShared has made, and leaves it as it is. Throws Error (kUsage)
  // when it holds no experiment.
  void Share();
  // Returns experiment.json. Throws Error (kUsage) when it is missing, no regular file, damaged or
  // of an earlier version.
  nlohmann::json ReadHeader() const;
  // Removes the files that an experiment wrote, which their names and their contents tell, and
  // names the files that stay on standard error. Throws Error (kUsage) when the directory holds no
  // experiment, of this version or an earlier one, or when another process runs it.
  void Remove() const;

  // Returns whether the cell is finished: its file is there, or the system does not tell that it is
  // absent. A damaged file counts, too, and ReadCell then throws.
  bool HasCell(const Cell& cell) const;
  // Write a document, atomically and durably. Throw Error (kIo). They return false, and leave the
  // document out, when the directory is shared and another process has finished the cell, or
  // has made a load of this key.
  bool WriteCell(const Cell& cell, nlohmann::json document) const;
  bool WriteLoad(const std::string& key, const nlohmann::json& document) const;
  // Keeps the document of a run that failed, which does not finish the cell, in place of the one
  // before. Returns the file's path.
  std::string WriteFailure(const Cell& cell, nlohmann::json document) const;
  // These return null when there is no such file. They throw Error (kUsage) when it is no regular
  // file, cannot be read, or holds no JSON, as a file that was cut off.
  nlohmann::json ReadCell(const Cell& cell) const;
  nlohmann::json ReadFailure(const Cell& cell) const;
  nlohmann::json ReadLoad(const std::string& key) const;
  // Returns the error of a cell whose results are there but damaged, which `why` explains.
  Error Damaged(const Cell& cell, const std::string& why) const;
  // Returns whether the document of a run that failed is kept.
  bool HasFailure(const Cell& cell) const;
  // Return the paths of the cell's file, of its failed run's, and of a load's.
  std::string CellFile(const Cell& cell) const;
  std::string FailureFile(const Cell& cell) const;
  std::string LoadFile(const std::string& key) const;
  // Returns the directory in which the cells keep their rehearsals (RunOptions::rehearsals_dir).
  std::string RehearsalsDir() const { return path_ + "/rehearsals"; }
  // Returns whether the load of this key must keep its document: a finished cell of the round was
  // measured on it, and its figures are the cell's. `planned` is the key that the plan gives to the
  // load, which documents of earlier versions do not name. In a directory that is shared each
  // document of a load must stay, as the cell of another process may be under way.
  bool NeedsLoad(const std::string& key, const std::string& planned, int round) const;
  // Returns the path of the claim on a cell, a block or a load (cluster/claim.h).
  std::string ClaimFile(const std::string& key) const { return path_ + "/claims/" + key; }
  // Takes a finished cell out of the results; its document stays, in set_aside/. Throws Error
  // (kIo).
  void SetAside(const Cell& cell) const;
  // Returns whether the directory is shared (CreateShared).
  bool shared() const { return shared_; }

 private:
  void LockShared();
  void Open(const Experiment& experiment, const PlanOptions& options);
  Claim ClaimHeader() const;
  // Writes the file of a cell or a load, whose key this is, unless it is there. Returns whether it
  // was not.
  bool Link(const std::string& key, const nlohmann::json& document, const std::string& file) const;
  const std::string path_;
  DirLock lock_;    // held since Create
  DirShare share_;  // held since CreateShared
  bool shared_ = false;
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_RESULTS_DIR_H_
