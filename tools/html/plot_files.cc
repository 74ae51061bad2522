#include "tools/html/plot_files.h"

#include <duktape.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "device/error.h"
#include "device/file/file.h"
#include "device/os/child_process.h"
#include "device/os/signal_guard.h"
#include "tools/html/embedded.h"
#include "tools/output/json_text.h"

namespace testbed {
namespace {

constexpr char kConverter[] = "rsvg-convert";
constexpr char kSvgFile[] = "plot.svg", kPngFile[] = "plot.png";

// Defines the functions of a browser that the library calls. They do nothing: a plot without
// animation needs no timer.
constexpr char kSurroundings[] =
    "var console = {log: function () {}, warn: function () {}, error: function () {}};"
    "var setTimeout = function () { return 0; }, setInterval = setTimeout;"
    "var clearTimeout = function () {}, clearInterval = clearTimeout;";

// Duktape calls this when an error was thrown outside of a protected call, which cannot happen
// here.
void Fatal(void*, const char* message) {
  fmt::print(stderr, "testbed: the plot engine failed: {}\n", message == nullptr ? "" : message);
  std::abort();
}

std::string Converter() {
  if (const auto program = FindProgram(kConverter)) return *program;
  throw Error(Error::kUsage,
              "--png needs the program rsvg-convert, which is not installed (Debian: "
              "librsvg2-bin); --svg needs nothing");
}

// Throws Stopped when the user has asked to stop: the plots of many results take minutes.
void StopDrawing() {
  if (StopRequested()) throw Stopped("before all plots were drawn", "the report");
}

void RemovePlot(const std::string& directory) {
  for (const char* file : {kSvgFile, kPngFile}) ::unlink((directory + "/" + file).c_str());
}

// Makes the directory of a PngMaker, after removing those that killed processes left. A leftover of
// another command holds other files than a plot's, and stays.
TemporaryDir DirForPlots(const std::string& directory) {
  for (const TemporaryDir& dead : TemporaryDir::Leftovers(directory)) RemovePlot(dead.held_path());
  return TemporaryDir(directory);
}

// A JavaScript context with the plot modules and, to draw, the library. Not thread-safe.
class PlotEngine {
 public:
  explicit PlotEngine(const nlohmann::json& data, bool draws = true)
      : context_(duk_create_heap(nullptr, nullptr, nullptr, nullptr, Fatal), duk_destroy_heap) {
    if (context_ == nullptr) throw Error::NoMemory("for the plots", "plot fewer results");
    Execute("surroundings", kSurroundings);
    if (draws) Execute(PlotLibrary().name, PlotLibrary().text);
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
    StopDrawing();
    files.push_back({engine.Execute("name", fmt::format("plots[{}].name;", i)),
                     engine.Execute("plot", fmt::format("testbed.plotSvg(plots[{}]);", i))});
  }
  return files;
}

std::string EvaluateOnPage(const nlohmann::json& data, const std::string& expression) {
  constexpr bool kDraws = false;  // reading the plotting library takes a second
  return PlotEngine(data, kDraws).Execute("expression", expression);
}

void CheckPngProgram() { (void)Converter(); }

PngMaker::PngMaker(const std::string& directory)
    : program_(Converter()), dir_(DirForPlots(directory)) {}

PngMaker::~PngMaker() { RemovePlot(dir_.path()); }

std::string PngMaker::Png(const std::string& svg) const {
  StopDrawing();
  const std::string from = dir_.path() + "/" + kSvgFile, to = dir_.path() + "/" + kPngFile;
  RemovePlot(dir_.path());
  File::Open(from, {.kind = FileKind::kTemp, .create = FileOptions::kMustCreate})
      ->Write(0, svg.data(), svg.size());
  // The PNG has twice the SVG's size, for print and for screens of high density.
  RunProgram({program_, "--zoom", "2", "--output", to, from});
  const auto file = File::Open(to, {.kind = FileKind::kTemp, .read_only = true});
  std::string png(file->Size(), '\0');
  file->Read(0, png.data(), png.size());
  return png;
}

}  // namespace testbed
