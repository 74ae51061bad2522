// Chooses the rows that operations access, by --distribution.
#ifndef TESTBED_WORKLOADS_ROW_CHOOSER_H_
#define TESTBED_WORKLOADS_ROW_CHOOSER_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "workloads/gray_zipf.h"
#include "workloads/workload.h"

namespace testbed {

// Draws rows of a data set that exist in the database. Which rows are popular follows from the data
// set and WorkloadOptions::popular_rows. So all phases and runs share them, and a warm-up caches
// the rows of the measured phase. The order in which rows are drawn depends on `seed`.
//
// Not thread-safe: each thread has its own.
// Where clients insert or erase rows, Next and NextPlace must be called while the caller holds a
// Population::Batch. Requires !empty() for Next and NextPlace.
class RowChooser {
 public:
  RowChooser(const Dataset& dataset, const WorkloadOptions& options, uint64_t seed);
  // Returns whether the database holds no row to draw.
  bool empty() const;
  // Returns a drawn row.
  uint64_t Next();
  // Returns the place of a drawn row in the population. Requires WorkloadOptions::population.
  uint64_t NextPlace();
  // Draws whether a read of a row is to find its key, which a share WorkloadOptions::hit_ratio of
  // reads does. Draws nothing where all of them do.
  bool NextExists() { return hit_ratio_ >= 1 || random_.Unit() < hit_ratio_; }
  Random& random() { return random_; }

 private:
  uint64_t Draw();
  uint64_t DrawRank();
  uint64_t DrawAge();
  void SetRanks(uint64_t n);
  std::optional<uint64_t> DrawPlace();
  void DrawPopular();

  const Dataset& dataset_;
  const Population* const population_;
  const Distribution distribution_;
  const double zipf_theta_;
  const double hot_probability_;
  const double hit_ratio_;
  const uint64_t hot_rows_;
  const uint64_t first_hot_;
  const uint64_t popular_seed_;
  Random random_;
  const double mean_age_;  // of kExponential, in rows
  uint64_t ranks_;         // number of ranks from which DrawRank draws
  uint64_t position_;      // of kSequential: the last row, by the order of the load
  const bool as_ycsb_;     // ranks are drawn by ycsb_ranks_, else by zipfian_
  Zipfian zipfian_;
  GrayZipf ycsb_ranks_;
  Permutation scatter_;  // spreads popular ranks over the key space
  // Popular rows are drawn 16 at a time: the processor then overlaps their logarithms, powers and
  // permutations, where a single draw would make its operation wait for each of them in turn.
  std::array<uint64_t, 16> popular_{};
  size_t used_ = popular_.size();
};

// Implements Workload::has_popular_rows for workloads whose rows a RowChooser draws: returns
// whether WorkloadOptions::popular_rows changes what it draws.
bool HasPopularRows(const WorkloadOptions& options);

// Throws Error (kUsage) when WorkloadOptions::hit_ratio asks for keys that do not exist, and the
// data set has such keys behind its last row alone: every miss would look at the same page.
void CheckHitRatio(const Dataset& dataset, const WorkloadOptions& options);

// Implements Workload::EndedBecause for workloads that read rows: returns an empty string while the
// database holds any row, else a sentence.
std::string WhyNothingToRead(const WorkloadOptions& options);

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_ROW_CHOOSER_H_
