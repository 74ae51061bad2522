#include "tools/live/live_view.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <utility>

#include "tools/live/live_lines.h"

namespace testbed {
namespace {

double LiveNow() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

LiveView::LiveView(const LiveOptions& options) : live_(options.live) {
  if (!options.metrics) return;
  server_.emplace(*options.metrics, TESTBED_VERSION);
}

void LiveView::Begin(const RunName& run, const std::string& phase) {
  state_.Begin(run.label, phase, LiveNow());
  // The address is printed when a phase begins, because a run that is refused prints one line
  // alone.
  if (server_ && !std::exchange(told_, true)) fmt::print(stderr, "metrics: {}\n", server_->url());
  if (server_) server_->Begin({run.engine, run.threads}, phase);
  if (live_ && !screen_ && Screen::Works()) screen_ = std::make_unique<Screen>();
  Show(true);
}

void LiveView::Second(const SecondReport& second) {
  state_.Add(second, LiveNow());
  if (server_) server_->Second(second);
  Show(true);
}

void LiveView::Idle() {
  // The screen is drawn each second. A line is printed here only when the run stands still (Show).
  if (LiveNow() - shown_ >= 1) Show(false);
}

void LiveView::Show(bool new_second) {
  if (!live_) return;
  const double now = LiveNow();
  if (screen_) {
    screen_->Draw([&](const LiveLook& look) { return LiveLines(state_, now, look); });
  } else if (new_second || state_.StandsStill(now)) {
    fmt::print(stderr, "{}\n", LiveSummary(state_, now));
    std::fflush(stderr);
  } else {
    return;
  }
  shown_ = now;
}

}  // namespace testbed
