// A terminal that is drawn anew each second (ncurses), on a screen of its own: what stood there
// before is back when it ends.
//
//   if (Screen::Works()) {
//     Screen screen;
//     screen.Draw([&](const LiveLook& look) { return LiveLines(state, now, look); });
//   }
//
// The terminal is put back by the destructor, and also when the process crashes, exits, or is ended
// by a signal that SignalGuard handles; only kill -9 leaves it as it is (`reset` helps). At most
// one object lives at a time. Not thread-safe.
#ifndef TESTBED_TOOLS_LIVE_SCREEN_H_
#define TESTBED_TOOLS_LIVE_SCREEN_H_

#include <functional>
#include <memory>
#include <vector>

#include "tools/live/live_lines.h"

namespace testbed {

class Screen {
 public:
  // Returns whether standard error is a terminal on which a screen can be drawn.
  static bool Works();
  // Throws Error (kRun) when the terminal cannot be drawn on after all.
  Screen();
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  // Draws the lines that `lines` returns for the size that the terminal has now.
  void Draw(const std::function<std::vector<LiveLine>(const LiveLook&)>& lines);

  // Undoes in a forked child what ncurses did to its signals: the terminal is the parent's.
  static void LeaveToParent();

 private:
  struct Terminal;
  std::unique_ptr<Terminal> terminal_;
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_LIVE_SCREEN_H_
