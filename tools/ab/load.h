// Loads the database of every side once, and measures the sides on it.
#ifndef TESTBED_TOOLS_AB_LOAD_H_
#define TESTBED_TOOLS_AB_LOAD_H_

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tools/ab/ab_options.h"
#include "tools/ab/measured_time.h"
#include "tools/ab/side_run.h"
#include "tools/ab/turns/schedule.h"
#include "workloads/measure/histogram.h"

namespace testbed {

// The results of a load. `samples` and `runs` are those of docs/results.md; `whole` says that every
// side was measured from beginning to end.
struct LoadResult {
  nlohmann::json samples = nlohmann::json::array();
  nlohmann::json runs = nlohmann::json::array();
  nlohmann::json errors = nlohmann::json::array();  // {"side", "sentence", "exit_code"}
  nlohmann::json notes = nlohmann::json::array();   // sentences
  bool whole = false;
  bool device_left_out = false;  // figures of a device that sides shared (LeaveOutSharedDevice)
  // Figures of the kernel account have requests of other sides' threads (SharedThreads); in a duet
  // they were left out (LeaveOutRequests).
  bool threads_mixed = false;
  double load_seconds = 0;      // time until all sides were loaded; 0 in rounds
  double measured_seconds = 0;  // time of all slices, those of the warm-up included; 0 in rounds
};

// Not thread-safe. All that the constructor receives must outlive the object.
class Load {
 public:
  using Say = std::function<void(const std::string&)>;
  struct Turn {
    int number = 0;                     // number of the load, from 0
    double seconds = 0;                 // with --loads: what the load may take, from its begin
    std::optional<RatioSpread> spread;  // spread of the loads before it
  };
  // `dirs` has a directory for each side. `say` shows progress.
  Load(const AbOptions& options, const Surroundings& surroundings,
       std::vector<std::unique_ptr<DatabaseDir>>* dirs, Turn turn, Schedule* schedule, Say say);
  ~Load();
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  // Loads and measures all sides. When a side fails, its database is removed and the others go on
  // to their end. Throws Error, which names the side, when the first side of the first load cannot
  // be started.
  LoadResult Run();

 private:
  void RunRounds();
  void RunAtOnce();
  void RunSlices();
  bool StartSide(int side);
  void Fail(int side, nlohmann::json error);
  void LoadSides();
  void AwaitLoads(std::vector<int>* loading);
  void AwaitEnd(int side);
  void SayDoing(const std::vector<int>& sides);
  void Blocks(double seconds, bool keep);
  void Block(const std::vector<int>& order, bool keep);
  void AwaitSlices(std::vector<int> sides, bool keep);
  void SayLate(const std::string& late, double seconds);
  void TakeAll();
  void Finish(int side);
  std::vector<int> Alive() const;
  const std::string& Label(int side) const { return options_.sides[At(side)].label; }
  static size_t At(int side) { return static_cast<size_t>(side); }
  void AddSample(nlohmann::json sample, const nlohmann::json& account);
  void AddSlice(int side, const nlohmann::json& slice);
  void GiveSlices(int side, const nlohmann::json& phase);
  void AddRun(int side, const nlohmann::json& run);
  void CheckRows();

  const AbOptions& options_;
  const Surroundings& surroundings_;
  std::vector<std::unique_ptr<DatabaseDir>>& dirs_;
  const Turn turn_;
  Schedule& schedule_;
  const Say say_;
  std::vector<std::unique_ptr<SideRun>> runs_;  // by side; null before its start and after its end
  std::vector<HistogramCounts> latency_;        // latency in the slices that are kept, by side
  const bool threads_mix_;  // sides that run side by side have threads with the same names
  int block_ = 0;
  bool started_ = false;  // a side of this load was started
  LoadResult result_;
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_AB_LOAD_H_
