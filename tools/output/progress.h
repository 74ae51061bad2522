// The line that shows the progress of a phase. On a terminal it is rewritten in place once a
// second; in pipes and with --quiet it is silent.
#ifndef TESTBED_TOOLS_OUTPUT_PROGRESS_H_
#define TESTBED_TOOLS_OUTPUT_PROGRESS_H_

#include <string>

#include "workloads/measure/runner.h"

namespace testbed {

// Not thread-safe.
class ProgressLine {
 public:
  ProgressLine(std::string what, bool quiet);
  ~ProgressLine() { Clear(); }
  // Shows the rate and, where it is known, the time left.
  void Show(const PhaseOptions::Progress& progress);
  // Shows `text` after the name of the phase.
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
