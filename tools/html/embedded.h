// The files that the program carries with it to write pages and plots: the plotting library
// (third_party/echarts/) and the page's own modules and style (tools/html/page/).
#ifndef TESTBED_TOOLS_HTML_EMBEDDED_H_
#define TESTBED_TOOLS_HTML_EMBEDDED_H_

#include <string_view>
#include <vector>

namespace testbed {

struct EmbeddedFile {
  std::string_view name;  // file name of a module
  std::string_view text;  // valid as long as the program runs
};

EmbeddedFile PlotLibrary();

// Returns the modules that make plots out of page data, in the order in which they are executed.
// They use the language of ECMAScript 5 and no browser, because the program executes them too
// (plot_files.h).
const std::vector<EmbeddedFile>& PlotModules();

// Returns the modules that build the page in a browser, in the order in which they are executed,
// after the library and the plot modules.
const std::vector<EmbeddedFile>& PageModules();

std::string_view PageStyle();

}  // namespace testbed

#endif  // TESTBED_TOOLS_HTML_EMBEDDED_H_
