// The progress line of a phase on standard error, rewritten in place. It is shown only when
// standard error is a terminal, and not with --quiet. Not thread-safe.
#ifndef TESTBED_TOOLS_OUTPUT_PROGRESS_H_
#define TESTBED_TOOLS_OUTPUT_PROGRESS_H_

#include <string>

#include "workloads/measure/runner.h"

namespace testbed {

// Not thread-safe.
class ProgressLine {
 public:
  // The line begins with `what`.
  ProgressLine(std::string what, bool quiet);
  ~ProgressLine() { Clear(); }
  // Shows the time, the rate and, when it is known, the part that is done.
  void Show(const PhaseOptions::Progress& progress);
  // Shows `text`.
  void Say(const std::string& text);
  // Removes the line from the terminal.
  void Clear();

 private:
  const std::string what_;
  const bool on_;
  bool shown_ = false;
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_OUTPUT_PROGRESS_H_
