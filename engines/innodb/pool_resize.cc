#include "engines/innodb/pool_resize.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <thread>

#include "device/error.h"
#include "device/os/signal_guard.h"

namespace testbed::innodb {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kFirstPause(10), kLongestPause(1000);

// Sleeps for *pause, and makes the next pause longer.
void Pause(milliseconds* pause) {
  if (StopRequested()) throw Stopped("while innodb changed the size of its buffer pool");
  std::this_thread::sleep_for(*pause);
  *pause = std::min(*pause * 2, kLongestPause);
}

// The server gives up a shrink of the pool when it can free too few pages, as the pages of sessions
// that write are dirty or in use. So after the first attempt this tells the page cleaner to write
// dirty pages as soon as there are any. A checkpoint would write them, too, but InnoDB ends that
// statement only when the checkpoint has reached the end of the log. While sessions write, the end
// of the log moves on, and the statement may wait for ever.
void RequestSize(const mariadb::Ask& ask, uint64_t bytes, milliseconds patience) {
  mariadb::ChangedVariables changed("innodb", ask);
  const auto end = steady_clock::now() + patience;
  milliseconds pause = kFirstPause;
  for (bool first = true;; first = false) {
    try {
      ask(fmt::format("SET GLOBAL innodb_buffer_pool_size = {}", bytes));
      return;
    } catch (const Error& error) {
      const std::string_view said = error.what();
      if (said.find("change aborted") == std::string_view::npos) throw;
      if (steady_clock::now() >= end) {
        throw Error(Error::kRun,
                    fmt::format("innodb could not shrink its buffer pool to {} bytes within {} s, "
                                "because sessions use too many of its pages: {}",
                                bytes, patience.count() / 1000, said));
      }
    }
    if (first) {
      // The low-water mark (lwm) is changed first. Else the server would lower it to the new
      // percentage by itself, and ChangedVariables would not know the value to restore.
      changed.Set("innodb_max_dirty_pages_pct_lwm", "0");
      changed.Set("innodb_max_dirty_pages_pct", "0.001");
    }
    Pause(&pause);
  }
}

// Returns the state of a resize that a thread of the server is executing, and an empty string when
// none does. Newer servers (10.11.19) resize within the statement and have no such state.
std::string ResizeState(const mariadb::Ask& ask) {
  const auto rows = ask("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_resize_status'");
  if (rows.empty() || rows[0].size() < 2) return "";
  const std::string& state = rows[0][1];
  const bool ended = state.find("Completed") != std::string::npos ||
                     state.find("did not change") != std::string::npos;
  return ended ? "" : state;
}

void AwaitResize(const mariadb::Ask& ask, uint64_t bytes, milliseconds patience) {
  std::string before;
  milliseconds pause = kFirstPause;
  for (auto progress = steady_clock::now();;) {
    const std::string state = ResizeState(ask);
    if (state.empty()) return;
    const auto now = steady_clock::now();
    if (state != before) {
      progress = now;
      pause = kFirstPause;
    } else if (now - progress >= patience) {
      throw Error(Error::kRun,
                  fmt::format("innodb has not changed the size of its buffer pool to {} bytes: for "
                              "{} s the server has told \"{}\"",
                              bytes, patience.count() / 1000, state));
    }
    before = state;
    Pause(&pause);
  }
}

}  // namespace

void ResizePool(const mariadb::Ask& ask, uint64_t bytes, milliseconds patience) {
  RequestSize(ask, bytes, patience);
  AwaitResize(ask, bytes, patience);
}

}  // namespace testbed::innodb
