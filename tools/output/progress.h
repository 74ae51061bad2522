// Shows on standard error how far a phase is. A terminal shows one line that is rewritten in place,
// as much of it as its columns have room for.
// Without a terminal (a log file, a pipe, a job of cron) a line is printed every minute, whatever
// phase or process the program is in. --report-interval asks for lines more often, on a terminal
// too; --quiet for none.
#ifndef TESTBED_TOOLS_OUTPUT_PROGRESS_H_
#define TESTBED_TOOLS_OUTPUT_PROGRESS_H_

#include <string>

#include "tools/output/progress_options.h"
#include "workloads/measure/runner.h"

namespace testbed {

// Not thread-safe. Processes that fork from this one after the first line was made share the time
// of the last line with it, so that together they print one line a minute.
class ProgressLine {
 public:
  // The line begins with `what`.
  ProgressLine(std::string what, const ProgressOptions& options);
  ~ProgressLine() { Clear(); }
  // Shows the time, the rate and, when it is known, the part that is done.
  void Show(const PhaseOptions::Progress& progress);
  // Shows `text`.
  void Say(const std::string& text);
  // Prints `text` as a line when lines are printed and the last one is older than usual. The caller
  // speaks for a step that takes too long, or a child that hangs.
  void SayIfSilent(const std::string& text);
  // Removes the line from the terminal.
  void Clear();

 private:
  bool Due(double grace_seconds) const;
  void PrintLine(const std::string& text);

  const std::string what_, before_;
  const bool on_;
  const double line_seconds_;  // seconds between lines; 0: one line is rewritten
  bool shown_ = false;
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_OUTPUT_PROGRESS_H_
