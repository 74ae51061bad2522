// Writes the plots of a page as files, for papers and posts. The plots are those of the page: the
// same library makes them from the same data, in a small JavaScript engine (Duktape) and without a
// browser.
#ifndef TESTBED_TOOLS_HTML_PLOT_FILES_H_
#define TESTBED_TOOLS_HTML_PLOT_FILES_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "device/os/temporary_dir.h"

namespace testbed {

struct PlotFile {
  std::string name;  // a valid file name without an ending; no other plot has it
  std::string svg;
};

// Returns all plots of `data` (page_data.h) as SVG, `width` pixels wide, in their order on the
// page. Throws Error (kRun) when a plot cannot be made, and Stopped when the user ends it.
std::vector<PlotFile> RenderPlots(const nlohmann::json& data, int width);

// Evaluates a JavaScript expression and returns its value as text. The expression may use the
// variable `data` and call all functions of the plot modules except those that draw. Tests find out
// by it what the page says about results. Throws Error (kRun) when the evaluation fails.
std::string EvaluateOnPage(const nlohmann::json& data, const std::string& expression);

// Throws Error (kUsage) unless the program rsvg-convert, which makes PNG out of SVG, is installed.
void CheckPngProgram();

// Makes PNG out of SVG by that program. The program reads and writes files in a temporary directory
// below `directory`, which the destructor removes. The constructor first removes the temporary
// directories that killed processes left there. Not thread-safe.
class PngMaker {
 public:
  // Throws Error: kUsage as CheckPngProgram does, and kIo.
  explicit PngMaker(const std::string& directory);
  ~PngMaker();
  PngMaker(const PngMaker&) = delete;
  PngMaker& operator=(const PngMaker&) = delete;
  // Returns the contents of a PNG file. Throws Error: kIo, and kRun with what the program says.
  // Throws Stopped when the user ends it.
  std::string Png(const std::string& svg) const;

 private:
  const std::string program_;
  const TemporaryDir dir_;
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_HTML_PLOT_FILES_H_
