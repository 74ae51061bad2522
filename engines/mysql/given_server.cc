#include "engines/mysql/given_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <thread>
#include <utility>

#include "device/error.h"
#include "device/os/signal_guard.h"
#include "engines/sql/mariadb_settings.h"

namespace testbed::mysql {
namespace {

// Throws Error (kUsage) when a given server with these variables refuses the tables that testbed
// makes. A server before MariaDB 10.2 may be set to refuse them. `server` is its name in the
// sentence.
void CheckRowFormat(const std::string& server,
                    const std::map<std::string, std::string>& variables) {
  static constexpr std::pair<const char*, const char*> kWanted[] = {
      {"innodb_file_format", "Barracuda"}, {"innodb_large_prefix", "ON"}};
  for (const auto& [name, wanted] : kWanted) {
    const auto it = variables.find(name);
    if (it == variables.end() || it->second == wanted) continue;
    throw Error(Error::kUsage, fmt::format("mysql needs tables with long keys, and {} has {} = {}; "
                                           "give that server {}",
                                           server, name, it->second, wanted));
  }
}

}  // namespace

void CheckGivenServer(const Settings& settings, const ConnectOptions& target,
                      std::map<std::string, std::string> variables) {
  const std::string server = settings.targets.size() > 1 ? target.shown : "the server";
  const auto refuse = [&server](const std::string& option, const std::string& name,
                                const std::string& value, const std::string& give) {
    throw Error(Error::kUsage, fmt::format("mysql cannot honour {}: {} has {} = {}; give {}",
                                           option, server, name, value, give));
  };
  const std::string page = variables["innodb_page_size"];
  if (page.empty()) {
    throw Error(Error::kUsage,
                fmt::format("mysql keeps its tables in InnoDB, and {} has it off", target.shown));
  }
  if (page != std::to_string(settings.page_size)) {
    refuse(fmt::format("--page-size {}", settings.page_size), "innodb_page_size", page,
           "--page-size " + page);
  }
  CheckRowFormat(server, variables);
  const mariadb::DataFileIo data = mariadb::DataFileIoOf(variables);
  if (data.is_direct != (settings.io == IoMode::kDirect)) {
    refuse(fmt::format("--io {}", IoModeName(settings.io)), data.variable, data.value,
           data.is_direct ? "--io direct" : "--io buffered");
  }
  const std::string flush = variables["innodb_flush_log_at_trx_commit"];
  const std::string timeout = variables["innodb_flush_log_at_timeout"];
  // At 3 the server syncs each commit, too. At 0 it syncs as often as at 2.
  const Durability has = flush == "1" || flush == "3" ? Durability::kSync
                         : settings.durability == Durability::kNone && flush == "0"
                             ? Durability::kNone
                             : Durability::kLazy;
  if (has != settings.durability) {
    refuse(fmt::format("--durability {}", DurabilityName(settings.durability)),
           "innodb_flush_log_at_trx_commit", flush,
           fmt::format("--durability {}", DurabilityName(has)));
  }
  if (has != Durability::kNone) {
    // After a power cut the server rolls back commits that the binary log lacks, although InnoDB's
    // log has them. With debug_no_sync the server syncs no file, and with the method nosync InnoDB
    // does not.
    const std::string durability = fmt::format("--durability {}", DurabilityName(has));
    const std::string method = variables["innodb_flush_method"];
    if (variables["log_bin"] == "ON" && variables["sync_binlog"] != "1") {
      refuse(durability, "sync_binlog", variables["sync_binlog"], "that server sync_binlog = 1");
    }
    if (variables["debug_no_sync"] == "ON") {
      refuse(durability, "debug_no_sync", "ON", "that server debug_no_sync = OFF");
    }
    if (method == "nosync") {
      refuse(durability, "innodb_flush_method", method, "that server fsync or O_DIRECT");
    }
  }
  if (has == Durability::kLazy &&
      std::strtoull(timeout.c_str(), nullptr, 10) * 1000 > settings.lazy_interval_ms) {
    refuse(fmt::format("--lazy-interval {}", settings.lazy_interval_ms),
           "innodb_flush_log_at_timeout", timeout + " s", "--lazy-interval " + timeout + "000");
  }
}

void AwaitLogSync(std::chrono::milliseconds lazy_interval) {
  using Steady = std::chrono::steady_clock;
  constexpr Steady::duration kLook = std::chrono::milliseconds(50);
  const Steady::time_point end = Steady::now() + lazy_interval + std::chrono::seconds(1);
  for (;;) {
    if (StopRequested()) throw Stopped("before its server had synced the log");
    const Steady::duration left = end - Steady::now();
    if (left <= Steady::duration::zero()) return;
    std::this_thread::sleep_for(std::min(left, kLook));
  }
}

}  // namespace testbed::mysql
