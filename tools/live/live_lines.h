// What --live shows, as text: the lines of the screen, and the single line of each second that is
// printed where there is no terminal.
#ifndef TESTBED_TOOLS_LIVE_LIVE_LINES_H_
#define TESTBED_TOOLS_LIVE_LIVE_LINES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "tools/live/live_state.h"

namespace testbed {

struct LiveLook {
  size_t columns = 80, rows = 24;
  bool ascii = false;  // the terminal shows no block characters
};

struct LiveLine {
  enum class Kind : uint8_t { kPlain, kTitle, kAlarm };
  std::string text;  // UTF-8, no longer than the screen is wide
  Kind kind = Kind::kPlain;
};

// Returns the lines of the screen, at most `rows` of them: those that decide come first.
// Thread-safe.
std::vector<LiveLine> LiveLines(const LiveState& state, double now, const LiveLook& look);

// Returns the last second in one line; with a report overdue, how long the run has stood still.
std::string LiveSummary(const LiveState& state, double now);

}  // namespace testbed

#endif  // TESTBED_TOOLS_LIVE_LIVE_LINES_H_
