// A RowChooser draws the rows that operations access, by --distribution.
#ifndef TESTBED_WORKLOADS_ROW_CHOOSER_H_
#define TESTBED_WORKLOADS_ROW_CHOOSER_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "workloads/workload.h"

namespace testbed {

// Draws rows that the database holds. Not thread-safe: each thread has one. Where clients insert or
// erase rows, its methods are called within a Population::Batch.
class RowChooser {
 public:
  RowChooser(const Dataset& dataset, const WorkloadOptions& options, uint64_t seed);
  // Returns whether the database holds no row.
  bool empty() const;
  // Draws a row; empty() must be false.
  uint64_t Next();
  // Draws a row as Next does and returns its place; WorkloadOptions::population must not be null.
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
  // Popular rows are drawn several at a time, so that the processor works on all of them at once. A
  // single draw would keep the operation waiting for its logarithm, its power and its scattering.
  std::array<uint64_t, 16> popular_{};
  size_t used_ = popular_.size();
};

// Implements Workload::EndedBecause for workloads that read rows: it is empty while the database
// holds a row.
std::string WhyNothingToRead(const WorkloadOptions& options);

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_ROW_CHOOSER_H_
