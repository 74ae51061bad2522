#include "tools/output/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <new>
#include <utility>

#include "tools/output/table.h"

namespace testbed {
namespace {

constexpr double kMinute = 60;

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Returns the time of the last line that this program printed in any of its processes; at first the
// time of the first call.
std::atomic<double>& LastLine() {
  static std::atomic<double>* const last = [] {
    static std::atomic<double> alone;
    void* memory =
        ::mmap(nullptr, sizeof(alone), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    auto* shared = memory == MAP_FAILED ? &alone : new (memory) std::atomic<double>;
    *shared = Now();
    return shared;
  }();
  return *last;
}

// Returns how many characters the rewritten line may have. A longer line would wrap, and the next
// rewriting would begin in its last row.
size_t LineRoom() {
  winsize size{};
  const bool told = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return told ? size.ws_col - size_t{1} : SIZE_MAX;
}

double LineSeconds(const ProgressOptions& options) {
  if (options.line_seconds > 0) return options.line_seconds;
  return ::isatty(STDERR_FILENO) == 1 ? 0 : kMinute;
}

}  // namespace

ProgressLine::ProgressLine(std::string what, const ProgressOptions& options)
    : what_(std::move(what)),
      before_(options.before),
      on_(!options.quiet),
      line_seconds_(LineSeconds(options)) {
  LastLine();
}

void ProgressLine::Show(const PhaseOptions::Progress& p) {
  std::string text = fmt::format("{:.0f} s, {:.0f} operations/s", p.seconds, p.rate);
  if (p.fraction > 0) {
    text += fmt::format(", {:.0f} %, {:.0f} s left", p.fraction * 100,
                        p.seconds * (1 - p.fraction) / p.fraction);
  }
  Say(text);
}

bool ProgressLine::Due(double grace_seconds) const {
  // The runner reports about once a second, so a line may come a little before its time.
  constexpr double kEarly = 0.1;
  return Now() - LastLine() >= line_seconds_ + grace_seconds - kEarly;
}

void ProgressLine::PrintLine(const std::string& text) {
  LastLine() = Now();
  fmt::print(stderr, "{}\n", OneLine(fmt::format("{}{}: {}", before_, what_, text)));
}

void ProgressLine::Say(const std::string& text) {
  if (!on_) return;
  if (line_seconds_ > 0) {
    if (Due(0)) PrintLine(text);
    return;
  }
  const std::string line = OneLine(fmt::format("{}: {}", what_, text));
  fmt::print(stderr, "\r\x1b[K{}", FirstCharacters(line, LineRoom()));
  std::fflush(stderr);
  shown_ = true;
}

void ProgressLine::SayIfSilent(const std::string& text) {
  constexpr double kGraceSeconds = 3;
  if (on_ && line_seconds_ > 0 && Due(kGraceSeconds)) PrintLine(text);
}

void ProgressLine::Clear() {
  if (!shown_) return;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace testbed
