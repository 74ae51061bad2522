// The line that shows how a phase goes: on a terminal, rewritten in place once a second; silent in
// pipes and with --quiet.
#ifndef TESTBED_TOOLS_OUTPUT_PROGRESS_H_
#define TESTBED_TOOLS_OUTPUT_PROGRESS_H_

#include <string>

#include "workloads/measure/runner.h"

namespace testbed {

class ProgressLine {
 public:
  ProgressLine(std::string what, bool quiet);
  ~ProgressLine() { Clear(); }
  void Show(const PhaseOptions::Progress& progress);
  void Say(const std::string& text);
  void Clear();

 private:
  const std::string what_;
  const bool on_;
  bool shown_ = false;
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_OUTPUT_PROGRESS_H_
