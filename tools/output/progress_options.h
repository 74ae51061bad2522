// What the user chose about progress lines (progress.h), apart so that options.h needs no more.
#ifndef TESTBED_TOOLS_OUTPUT_PROGRESS_OPTIONS_H_
#define TESTBED_TOOLS_OUTPUT_PROGRESS_OPTIONS_H_

namespace testbed {

struct ProgressOptions {
  bool quiet = false;
  double line_seconds = 0;  // --report-interval; 0: the rewritten line, or a line a minute
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_OUTPUT_PROGRESS_OPTIONS_H_
