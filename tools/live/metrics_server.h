// Serves OpenMetrics over HTTP (CivetWeb) from a process of its own, so that neither the run nor
// its parent spends time or memory on it.
//
//   MetricsServer server({.address = "127.0.0.1", .port = 9100}, "0.1.0");
//   server.Begin({.engine = "btree", .threads = 8}, "point-read");
//   server.Second(second);                 // GET http://127.0.0.1:9100/metrics has it now
//
// The process ends with this object, and with this program. Not thread-safe.
#ifndef TESTBED_TOOLS_LIVE_METRICS_SERVER_H_
#define TESTBED_TOOLS_LIVE_METRICS_SERVER_H_

#include <sys/types.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tools/live/live_options.h"
#include "tools/live/open_metrics.h"
#include "tools/live/second_report.h"

namespace testbed {

class MetricsServer {
 public:
  // Forks, so it must be called before this program has threads. Throws Error (kUsage) when the
  // server cannot listen at that address: the port is in use, or the address is not this machine's.
  MetricsServer(const ListenAddress& listen, const std::string& version);
  ~MetricsServer();
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

  // Returns "http://127.0.0.1:9100/metrics", with the port that was chosen for 0.
  const std::string& url() const { return url_; }
  // Send the beginning of a phase, or a second of it, to the process of the server, and do not wait
  // for it. When 4 MiB are still unsent, the call is dropped.
  void Begin(const OpenMetrics::RunLabels& run, const std::string& phase);
  void Second(const SecondReport& second);

 private:
  void Send(const nlohmann::json& event);

  std::string url_, unsent_;
  pid_t process_ = -1;
  int to_process_ = -1;
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_LIVE_METRICS_SERVER_H_
