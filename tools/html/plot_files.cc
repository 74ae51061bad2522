#include "tools/html/plot_files.h"

#include <duktape.h>
#include <fmt/format.h>

#include <cstdlib>
#include <memory>

#include "device/error.h"
#include "device/os/child_process.h"
#include "tools/html/embedded.h"
#include "tools/output/json_text.h"

namespace testbed {
namespace {

constexpr char kConverter[] = "rsvg-convert";

// What the library expects of its surroundings. A plot without animation needs no timer.
constexpr char kSurroundings[] =
    "var console = {log: function () {}, warn: function () {}, error: function () {}};"
    "var setTimeout = function () { return 0; }, setInterval = setTimeout;"
    "var clearTimeout = function () {}, clearInterval = clearTimeout;";

// Duktape calls this when an error was thrown outside of a protected call, which cannot happen here.
void Fatal(void*, const char* message) {
  fmt::print(stderr, "testbed: the plot engine failed: {}\n", message == nullptr ? "" : message);
  std::abort();
}

// A JavaScript context with the library and the plot modules. Not thread-safe.
class PlotEngine {
 public:
  explicit PlotEngine(const nlohmann::json& data)
      : context_(duk_create_heap(nullptr, nullptr, nullptr, nullptr, Fatal), duk_destroy_heap) {
    if (context_ == nullptr) throw Error(Error::kRun, "memory is exhausted; plot fewer results");
    Execute("surroundings", kSurroundings);
    Execute(PlotLibrary().name, PlotLibrary().text);
    for (const EmbeddedFile& module : PlotModules()) Execute(module.name, module.text);
    const std::string text = JsonText(data);
    duk_push_lstring(context_.get(), text.data(), text.size());
    duk_put_global_string(context_.get(), "dataText");
    Execute("data", "var data = JSON.parse(dataText); dataText = null;");
  }

  // Executes the text and returns its last value as a string.
  std::string Execute(std::string_view name, std::string_view text) {
    duk_context* c = context_.get();
    duk_push_lstring(c, name.data(), name.size());
    const bool failed =
        duk_pcompile_lstring_filename(c, 0, text.data(), text.size()) != 0 || duk_pcall(c, 0) != 0;
    const std::string result = duk_safe_to_string(c, -1);
    duk_pop(c);
    if (failed) {
      throw Error(Error::kRun, fmt::format("a plot cannot be made ({}: {})", name, result));
    }
    return result;
  }

 private:
  std::unique_ptr<duk_context, void (*)(duk_context*)> context_;
};

}  // namespace

std::vector<PlotFile> RenderPlots(const nlohmann::json& data, int width) {
  PlotEngine engine(data);
  const size_t count = std::stoul(engine.Execute(
      "list",
      fmt::format("var plots = testbed.allPlots(data, 'light', {}); plots.length;", width)));
  std::vector<PlotFile> files;
  for (size_t i = 0; i < count; ++i) {
    files.push_back({engine.Execute("name", fmt::format("plots[{}].name;", i)),
                     engine.Execute("plot", fmt::format("testbed.plotSvg(plots[{}]);", i))});
  }
  return files;
}

void CheckPngProgram() {
  if (!FindProgram(kConverter)) {
    throw Error(Error::kUsage,
                "--png needs the program rsvg-convert, which is not installed (Debian: "
                "librsvg2-bin); --svg needs nothing");
  }
}

void WritePng(const std::string& svg_file, const std::string& png_file) {
  CheckPngProgram();
  // Twice the size of the SVG, for print and for screens of high density.
  RunProgram({*FindProgram(kConverter), "--zoom", "2", "--output", png_file, svg_file});
}

}  // namespace testbed
