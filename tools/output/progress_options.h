// The user's choices about progress lines (progress.h), in a header of their own that options.h can
// include.
#ifndef TESTBED_TOOLS_OUTPUT_PROGRESS_OPTIONS_H_
#define TESTBED_TOOLS_OUTPUT_PROGRESS_OPTIONS_H_

namespace testbed {

struct ProgressOptions {
  bool quiet = false;
  double line_seconds = 0;  // --report-interval; 0: the rewritten line, or a line a minute
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_OUTPUT_PROGRESS_OPTIONS_H_
