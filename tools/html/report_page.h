// `testbed report --html`, `--svg` and `--png`: a page, and plots as files, from results files and
// directories.
#ifndef TESTBED_TOOLS_HTML_REPORT_PAGE_H_
#define TESTBED_TOOLS_HTML_REPORT_PAGE_H_

#include <string>
#include <vector>

namespace testbed {

// The outputs that were asked for; an empty name is none.
struct PageOutputs {
  std::string html;      // file
  std::string svg, png;  // directories; made when they do not exist
  bool any() const { return !html.empty() || !svg.empty() || !png.empty(); }
};

// Reads the results and writes the outputs. A path is a results file (docs/results.md), the
// document of a comparison (`testbed ab`), the directory of an experiment's results, or another
// directory, which stands for every such file in it. Prints a line for each output when all of them
// were written. Throws Error (kUsage) before anything is written when a path holds no results or an
// output cannot be, Stopped when the user ends it before all results were read, and Error (kRun)
// afterwards when an output could not be written.
void WritePages(const std::vector<std::string>& paths, const PageOutputs& outputs);

}  // namespace testbed

#endif  // TESTBED_TOOLS_HTML_REPORT_PAGE_H_
