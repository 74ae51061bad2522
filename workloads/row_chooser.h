// Which row an operation takes: draws rows of a data set by --distribution.
#ifndef TESTBED_WORKLOADS_ROW_CHOOSER_H_
#define TESTBED_WORKLOADS_ROW_CHOOSER_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "workloads/workload.h"

namespace testbed {

// Draws rows that are there by the chosen distribution. One a thread; where clients insert or erase,
// called within a Population::Batch.
class RowChooser {
 public:
  RowChooser(const Dataset& dataset, const WorkloadOptions& options, uint64_t seed);
  // Whether there is no row to draw.
  bool empty() const;
  uint64_t Next();
  // The same as its place; for who has a population.
  uint64_t NextPlace();
  Random& random() { return random_; }

 private:
  uint64_t Draw();
  std::optional<uint64_t> DrawPlace();
  void DrawPopular();

  const Dataset& dataset_;
  const Population* const population_;
  const Distribution distribution_;
  const double hot_probability_;
  const uint64_t hot_rows_;
  Random random_;
  Zipfian zipfian_;
  Permutation scatter_;  // spreads popular ranks over the key space
  // Popular rows are drawn some at a time: then the processor works on all of them at once, where a
  // single one would keep the operation waiting for its logarithm, its power and its scattering.
  std::array<uint64_t, 16> popular_{};
  size_t used_ = popular_.size();
};

// Workload::EndedBecause of those that read rows: empty while the database holds any.
std::string WhyNothingToRead(const WorkloadOptions& options);

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_ROW_CHOOSER_H_
