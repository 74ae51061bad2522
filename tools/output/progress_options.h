// The user's choices about progress lines (progress.h), in a header of their own that options.h can
// include.
#ifndef TESTBED_TOOLS_OUTPUT_PROGRESS_OPTIONS_H_
#define TESTBED_TOOLS_OUTPUT_PROGRESS_OPTIONS_H_

#include <string>

namespace testbed {

struct ProgressOptions {
  bool quiet = false;
  double line_seconds = 0;  // --report-interval; 0: the rewritten line, or a line a minute
  std::string before = {};  // begins each printed line, such as "[9/27] "; not the rewritten line
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_OUTPUT_PROGRESS_OPTIONS_H_
