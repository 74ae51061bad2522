#include "tools/html/embedded.h"

// The assembler copies each file into the program (.incbin), because a compiler takes seconds for a
// string literal of a megabyte. CMake defines the two folders and makes this file depend on all
// that is in them.
#define TESTBED_EMBED(symbol, path)                                                  \
  extern "C" const char symbol[];                                                    \
  extern "C" const char symbol##_end[];                                              \
  __asm__(".pushsection .rodata\n.global " #symbol "\n" #symbol ":\n.incbin \"" path \
          "\"\n.global " #symbol "_end\n" #symbol "_end:\n.byte 0\n.popsection\n")

#define TESTBED_EMBED_PAGE(name, file) \
  TESTBED_EMBED(testbed_embedded_##name, TESTBED_PAGE_DIR "/" file)

TESTBED_EMBED(testbed_embedded_echarts, TESTBED_ECHARTS_DIR "/echarts.min.js");
TESTBED_EMBED_PAGE(style, "style.css");
TESTBED_EMBED_PAGE(figures, "figures.js");
TESTBED_EMBED_PAGE(palette, "palette.js");
TESTBED_EMBED_PAGE(ledger, "ledger.js");
TESTBED_EMBED_PAGE(answers, "answers.js");
TESTBED_EMBED_PAGE(plots_time, "plots_time.js");
TESTBED_EMBED_PAGE(plots_phase, "plots_phase.js");
TESTBED_EMBED_PAGE(plots_space, "plots_space.js");
TESTBED_EMBED_PAGE(plots_rate, "plots_rate.js");
TESTBED_EMBED_PAGE(plots_experiment, "plots_experiment.js");
TESTBED_EMBED_PAGE(plots_comparison, "plots_comparison.js");
TESTBED_EMBED_PAGE(plots_ab, "plots_ab.js");
TESTBED_EMBED_PAGE(plot_list, "plot_list.js");
TESTBED_EMBED_PAGE(dom, "dom.js");
TESTBED_EMBED_PAGE(view_run, "view_run.js");
TESTBED_EMBED_PAGE(view_experiment, "view_experiment.js");
TESTBED_EMBED_PAGE(view_ab, "view_ab.js");
TESTBED_EMBED_PAGE(view_comparison, "view_comparison.js");
TESTBED_EMBED_PAGE(start, "start.js");

namespace testbed {
namespace {

std::string_view Between(const char* begin, const char* end) {
  return {begin, static_cast<size_t>(end - begin)};
}

#define TESTBED_FILE(name, file) \
  EmbeddedFile { file, Between(testbed_embedded_##name, testbed_embedded_##name##_end) }

}  // namespace

EmbeddedFile PlotLibrary() { return TESTBED_FILE(echarts, "echarts.min.js"); }

const std::vector<EmbeddedFile>& PlotModules() {
  static const std::vector<EmbeddedFile> modules = {
      TESTBED_FILE(figures, "figures.js"),
      TESTBED_FILE(palette, "palette.js"),
      TESTBED_FILE(ledger, "ledger.js"),
      TESTBED_FILE(answers, "answers.js"),
      TESTBED_FILE(plots_time, "plots_time.js"),
      TESTBED_FILE(plots_phase, "plots_phase.js"),
      TESTBED_FILE(plots_space, "plots_space.js"),
      TESTBED_FILE(plots_rate, "plots_rate.js"),
      TESTBED_FILE(plots_experiment, "plots_experiment.js"),
      TESTBED_FILE(plots_comparison, "plots_comparison.js"),
      TESTBED_FILE(plots_ab, "plots_ab.js"),
      TESTBED_FILE(plot_list, "plot_list.js"),
  };
  return modules;
}

const std::vector<EmbeddedFile>& PageModules() {
  static const std::vector<EmbeddedFile> modules = {
      TESTBED_FILE(dom, "dom.js"),
      TESTBED_FILE(view_run, "view_run.js"),
      TESTBED_FILE(view_experiment, "view_experiment.js"),
      TESTBED_FILE(view_ab, "view_ab.js"),
      TESTBED_FILE(view_comparison, "view_comparison.js"),
      TESTBED_FILE(start, "start.js"),
  };
  return modules;
}

std::string_view PageStyle() { return Between(testbed_embedded_style, testbed_embedded_style_end); }

}  // namespace testbed
