#include "tools/output/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace testbed {

ProgressLine::ProgressLine(std::string what, bool quiet)
    : what_(std::move(what)), on_(!quiet && ::isatty(STDERR_FILENO) == 1) {}

void ProgressLine::Show(const PhaseOptions::Progress& p) {
  std::string text = fmt::format("{:.0f} s, {:.0f} operations/s", p.seconds, p.rate);
  if (p.fraction > 0) {
    text += fmt::format(", {:.0f} %, {:.0f} s left", p.fraction * 100,
                        p.seconds * (1 - p.fraction) / p.fraction);
  }
  Say(text);
}

void ProgressLine::Say(const std::string& text) {
  if (!on_) return;
  fmt::print(stderr, "\r\x1b[K{}: {}", what_, text);
  std::fflush(stderr);
  shown_ = true;
}

void ProgressLine::Clear() {
  if (!shown_) return;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace testbed
