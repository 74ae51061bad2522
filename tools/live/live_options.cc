#include "tools/live/live_options.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>

#include "tools/option_values.h"

namespace testbed {
namespace {

constexpr char kAddresses[] =
    "a port from 0 to 65535 (0: a free one), alone or after an IPv4 address: 9100, 0.0.0.0:9100";

bool IsAddress(const std::string& text) {
  in_addr bytes{};
  return ::inet_pton(AF_INET, text.c_str(), &bytes) == 1;
}

}  // namespace

std::string ListenAddress::Text() const { return fmt::format("{}:{}", address, port); }

ListenAddress ParseListenAddress(const std::string& option, const std::string& text) {
  ListenAddress listen;
  const size_t colon = text.rfind(':');
  const std::string port = colon == std::string::npos ? text : text.substr(colon + 1);
  if (colon != std::string::npos && text.substr(0, colon) != "localhost") {
    listen.address = text.substr(0, colon);
  }
  const char* end = port.data() + port.size();
  const auto [at, error] = std::from_chars(port.data(), end, listen.port);
  if (!IsAddress(listen.address) || error != std::errc() || at != end) {
    RefuseValue(option, text, kAddresses);
  }
  return listen;
}

namespace {

void AddReportInterval(CLI::App& app, double& seconds) {
  app.add_option_function<std::string>(
         "--report-interval",
         [&seconds](const std::string& text) {
           seconds = ParseReal("--report-interval", text, 1, 86400, "seconds");
         },
         "Print a line of progress on standard error every S seconds [60 when standard error is no "
         "terminal, and one rewritten line when it is]")
      ->type_name("S");
}

}  // namespace

void AddProgressOptions(CLI::App& app, bool& quiet, double& seconds) {
  app.add_flag("--quiet", quiet, "Print no progress lines");
  AddReportInterval(app, seconds);
}

void AddLiveOptions(CLI::App& app, LiveOptions& options) {
  AddReportInterval(app, options.report_interval);
  app.add_flag("--live", options.live,
               "Draw rate, latency, ledger and memory each second in the terminal; print them as "
               "lines on standard error when that is no terminal");
  app.add_option_function<std::string>(
         "--metrics",
         [&options](const std::string& text) {
           options.metrics = ParseListenAddress("--metrics", text);
         },
         "Serve the figures of --live as OpenMetrics, for Prometheus, at "
         "http://ADDRESS:PORT/metrics; without an address it serves this machine alone "
         "(docs/live.md)")
      ->type_name("[ADDRESS:]PORT");
}

}  // namespace testbed
