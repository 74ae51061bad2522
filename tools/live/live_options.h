// The options of a run that is watched while it lasts: --report-interval, --live and --metrics
// (docs/live.md).
#ifndef TESTBED_TOOLS_LIVE_LIVE_OPTIONS_H_
#define TESTBED_TOOLS_LIVE_LIVE_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "tools/output/progress_options.h"

namespace CLI {
class App;
}

namespace testbed {

// Where a server listens.
struct ListenAddress {
  std::string address = "127.0.0.1";  // IPv4 alone: Debian's CivetWeb is built without IPv6
  uint16_t port = 0;                  // 0: the system chooses a free port
  // Returns "127.0.0.1:9100".
  std::string Text() const;
};

struct LiveOptions {
  double report_interval = 0;  // seconds between lines of progress; 0: as ProgressLine chooses
  bool live = false;
  std::optional<ListenAddress> metrics;
  // Returns whether the run must report each second while it lasts.
  bool any() const { return live || metrics.has_value(); }

  std::string line_prefix;  // begins each printed line of progress: which cell of a plan it is
  // Returns how progress is shown: not at all beside a live view.
  ProgressOptions Progress(bool quiet) const {
    return {.quiet = quiet || live, .line_seconds = report_interval, .before = line_prefix};
  }
};

// Adds the options to `app`. Parsing stores the values in `options`, which must outlive `app`.
void AddLiveOptions(CLI::App& app, LiveOptions& options);

// Adds --quiet and --report-interval alone, for a command whose runs are not watched otherwise. The
// values (ProgressOptions) must outlive `app`.
void AddProgressOptions(CLI::App& app, bool& quiet, double& seconds);

// Returns the address that a value of --metrics names: PORT or ADDRESS:PORT. Throws Error
// (kUsage) for anything else.
ListenAddress ParseListenAddress(const std::string& option, const std::string& text);

}  // namespace testbed

#endif  // TESTBED_TOOLS_LIVE_LIVE_OPTIONS_H_
