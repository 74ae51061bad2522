// Shows a run while it lasts, from the run's parent process: as the screen or the lines of --live,
// and by the server of --metrics.
//
//   LiveView view(options.live);          // before the first run; throws when it cannot serve
//   view.Begin({"btree, 8 threads", "btree", 8}, "point-read");
//   view.Second(second);
//   view.Idle();                          // often, also when the run says nothing
//
// Drawing happens in this process, which is not in the run's memory budget. Not thread-safe.
#ifndef TESTBED_TOOLS_LIVE_LIVE_VIEW_H_
#define TESTBED_TOOLS_LIVE_LIVE_VIEW_H_

#include <memory>
#include <optional>
#include <string>

#include "tools/live/live_options.h"
#include "tools/live/live_state.h"
#include "tools/live/metrics_server.h"
#include "tools/live/screen.h"

namespace testbed {

class LiveView {
 public:
  struct RunName {
    std::string label, engine;
    int threads = 0;
  };
  // Starts the server when --metrics asks for one. Throws Error (kUsage) when the server cannot
  // listen at its address.
  explicit LiveView(const LiveOptions& options);

  // Shows that a phase begins. The first call prints the address of the server on standard error.
  void Begin(const RunName& run, const std::string& phase);
  // Shows a second of the phase, and passes it to the server.
  void Second(const SecondReport& second);
  // Draws the screen anew, or prints that the run stands still, when a second has passed since the
  // last drawing or line.
  void Idle();

 private:
  void Show(bool new_second);

  const bool live_;
  std::optional<MetricsServer> server_;
  std::unique_ptr<Screen> screen_;  // made at the first phase; null where lines are printed
  LiveState state_;
  bool told_ = false;  // the address of the server has been printed
  double shown_ = 0;   // when the screen was drawn, or a line printed
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_LIVE_LIVE_VIEW_H_
