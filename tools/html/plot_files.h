// Writes the plots of a page as files, for papers and posts. The plots are those of the page: the same
// library makes them from the same data, in a small JavaScript engine (Duktape) and without a browser.
#ifndef TESTBED_TOOLS_HTML_PLOT_FILES_H_
#define TESTBED_TOOLS_HTML_PLOT_FILES_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace testbed {

struct PlotFile {
  std::string name;  // without an ending; fit for a file, and unlike that of every other plot
  std::string svg;
};

// Returns all plots of `data` (page_data.h) as SVG, `width` pixels wide, in their order on the page.
// Throws Error (kRun) when a plot cannot be made.
std::vector<PlotFile> RenderPlots(const nlohmann::json& data, int width);

// Makes PNG files out of SVG by the program rsvg-convert. Throws Error (kUsage) when the program is
// not installed: CheckPngProgram before the plots are made.
void CheckPngProgram();
void WritePng(const std::string& svg_file, const std::string& png_file);

}  // namespace testbed

#endif  // TESTBED_TOOLS_HTML_PLOT_FILES_H_
