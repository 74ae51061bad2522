#include "tools/report/insert_benchmark_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "tools/report/figures.h"

namespace testbed {
namespace {

using nlohmann::json;

constexpr double kSlaShare = 0.95;  // share of the target rate that a read step must reach
constexpr double kShortSecond = 0.5;

// Returns the operation whose latency and rate the step is about: the query of a read step, the
// writing of indexes in ib.x, the insert of any other step.
std::string MainOperation(const json& phase) {
  for (const char* name : {"range-query", "point-query", "index-write"}) {
    for (const json& op : phase.at("operations")) {
      if (op.at("name") == name) return name;
    }
  }
  return "insert";
}

const json* Operation(const json& phase, const std::string& name) {
  for (const json& op : phase.at("operations")) {
    if (op.at("name") == name) return &op;
  }
  return nullptr;
}

double CountIn(const json& second, const std::string& operation) {
  if (!second.contains("by_operation")) return Number(second, "/operations");
  for (const json& op : second.at("by_operation")) {
    if (op.at("name") == operation) return Number(op, "/count");
  }
  return 0;
}

double SeriesSum(const json& phase, const std::string& figure, double otherwise = NAN) {
  double sum = 0;
  for (const json& second : phase.at("series")) sum += Number(second, "/" + figure, otherwise);
  return sum;
}

// Returns the rate of an operation in each second of the phase, times `weight`. Intervals shorter
// than kShortSecond are left out: the last one is too short for a rate.
std::vector<double> Rates(const json& phase, const std::string& operation, double weight) {
  std::vector<double> rates;
  double before = 0;
  for (const json& second : phase.at("series")) {
    const double end = Number(second, "/end_seconds"), length = end - before;
    before = end;
    if (length < kShortSecond) continue;
    rates.push_back(CountIn(second, operation) * weight / length);
  }
  return rates;
}

// Sets a field unless its value is NaN or infinite: JSON has no number for a figure that is not
// known.
void Put(json* j, const char* name, double value) {
  if (std::isfinite(value)) (*j)[name] = value;
}

// Returns the blocks of one kind of operation: per operation for a foreground kind, per inserted
// row (in ib.x: indexed row) for background work.
json Blocks(const std::string& name, bool foreground, double operations, double rows,
            const json& counts, const char* level) {
  const double per = foreground ? operations : rows;
  json blocks = {{"name", name},
                 {"per", foreground ? "operation" : "row"},
                 {"level", level},
                 {"operations", operations}};
  Put(&blocks, "reads", Number(counts, "/reads") / per);
  Put(&blocks, "read_kb", Number(counts, "/read_bytes") / 1024 / per);
  Put(&blocks, "writes", Number(counts, "/writes") / per);
  Put(&blocks, "write_kb", Number(counts, "/write_bytes") / 1024 / per);
  return blocks;
}

// Returns whether anything was counted. A bio that joins a waiting request has bytes and makes no
// request, and numbers of requests may be below 0 (BlockCounts).
bool HasCost(const json& counts) {
  const auto moved = [&](const char* figure) {
    return Number(counts, std::string("/") + figure, 0) != 0;
  };
  return moved("reads") || moved("read_bytes") || moved("writes") || moved("write_bytes");
}

json AllBlocks(const json& account, double rows) {
  json all = json::array();
  for (const json& cause : account.at("causes")) {
    const char* level = cause.contains("kernel") ? "kernel" : "file";
    if (!cause.contains(level)) continue;
    const json& counts = cause.at(level);
    const bool foreground = cause.at("ground") == "foreground";
    if (!foreground && !HasCost(counts)) continue;
    all.push_back(
        Blocks(cause.at("name"), foreground, Number(cause, "/operations"), rows, counts, level));
  }
  if (!account.contains("other_threads")) return all;
  json others = {{"reads", 0.0}, {"read_bytes", 0.0}, {"writes", 0.0}, {"write_bytes", 0.0}};
  for (const json& thread : account.at("other_threads")) {
    if (IsOfOtherProgram(thread)) continue;
    for (auto& [figure, sum] : others.items()) {
      sum = sum.get<double>() + Number(thread, "/kernel/" + figure);
    }
  }
  if (HasCost(others)) all.push_back(Blocks("other threads", false, 0, rows, others, "kernel"));
  return all;
}

// Adds the CPU time and context switches of the whole machine, as vmstat shows them, and the memory
// of the process.
void PutHost(const json& phase, double secs, double rate, json* m) {
  if (phase.at("series").empty()) return;
  const double switches = SeriesSum(phase, "host_context_switches") / secs;
  const double cpu =
      SeriesSum(phase, "host_user_seconds") + SeriesSum(phase, "host_system_seconds");
  Put(m, "csps", switches);
  Put(m, "cspq", switches / rate);
  Put(m, "cpups", 100 * cpu / secs / Number(phase, "/host_cpus"));
  Put(m, "cpupq", cpu * 1e6 / (rate * secs));
  double most = NAN;  // fmax passes over seconds in which it is not known
  for (const json& second : phase.at("series")) {
    most = std::fmax(most, Number(second, "/resident_bytes"));
  }
  Put(m, "rss", most / 1e9);
}

// Adds the device's figures of the step. Other programs' part is taken from the series, too: the
// account has what they did until the device came to rest.
void PutDevice(const json& phase, double secs, double ips, double rate, json* m) {
  if (!phase.at("account").contains("device") || phase.at("series").empty()) return;
  const auto per_second = [&](const std::string& figure) {
    const double others = SeriesSum(phase, "other_" + figure, 0);
    return std::max(0.0, SeriesSum(phase, "device_" + figure) - others) / secs;
  };
  const double reads = per_second("reads");
  const double read_bytes = per_second("read_bytes");
  const double writes = per_second("writes");
  const double write_bytes = per_second("write_bytes");
  Put(m, "rps", reads);
  Put(m, "rmbps", read_bytes / 1024 / 1024);
  Put(m, "wps", writes);
  Put(m, "wmbps", write_bytes / 1024 / 1024);
  Put(m, "rpq", reads / rate);
  Put(m, "rkbpq", read_bytes / 1024 / rate);
  Put(m, "wpi", writes / ips);
  Put(m, "wkbpi", write_bytes / 1024 / ips);
}

}  // namespace

double RateExceededIn(std::vector<double> rates, double share) {
  if (rates.size() < 10) return std::numeric_limits<double>::quiet_NaN();
  std::sort(rates.begin(), rates.end(), std::greater<>());
  const auto at = static_cast<size_t>(static_cast<double>(rates.size()) * share);
  return rates[std::min(at, rates.size() - 1)];
}

json InsertBenchmarkMetrics(const json& phase) {
  if (!phase.contains("details") || !phase.at("details").contains("rows_inserted")) return {};
  const json& details = phase.at("details");
  const double secs = Number(phase, "/seconds");
  const bool reads = details.contains("queries");
  const std::string main = MainOperation(phase);
  const double rows =
      Number(details, details.contains("rows_indexed") ? "/rows_indexed" : "/rows_inserted");
  const double queries = reads ? Number(details, "/queries") : 0;
  const double ips = rows / secs, qps = queries / secs, rate = reads ? qps : ips;
  json m = {{"main_operation", main}};
  Put(&m, "ips", ips);
  Put(&m, "qps", qps);
  PutDevice(phase, secs, ips, rate, &m);
  const double cpu =
      Number(phase, "/account/cpu_user_seconds") + Number(phase, "/account/cpu_system_seconds");
  Put(&m, "process_cpupq", cpu * 1e6 / (rate * secs));
  PutHost(phase, secs, rate, &m);
  Put(&m, "dbgb1", PhaseDataBytes(phase) / 1e9);
  Put(&m, "dbgb2", Number(phase, "/database_bytes") / 1e9);
  Put(&m, "bytes_per_row", PhaseDataBytes(phase) / Number(details, "/table_rows"));
  if (const json* op = Operation(phase, main)) {
    Put(&m, "maxop", Number(*op, "/latency_us/max") / 1e6);
  }
  if (main != "index-write") {
    const double weight = reads ? 1 : Number(details, "/rows_per_commit");
    const std::vector<double> rates = Rates(phase, main, weight);
    Put(&m, "p50", RateExceededIn(rates, 0.50));
    Put(&m, "p99", RateExceededIn(rates, 0.99));
  }
  if (details.contains("target_rows_per_second")) {
    const double share = ips / Number(details, "/target_rows_per_second");
    Put(&m, "target_share", share);
    m["sla_met"] = share >= kSlaShare;
  }
  // The two metrics of written bytes include the dirty pages that the step left in the page cache,
  // which are written back when it ends.
  const double written = OwnDeviceIo(phase.at("account")).write_bytes;
  Put(&m, "device_write_bytes", written);
  Put(&m, "device_write_mbps", written / 1e6 / secs);
  if (phase.contains("thread_seconds") && !phase.at("thread_seconds").empty()) {
    const auto ends = phase.at("thread_seconds").get<std::vector<double>>();
    const auto [first, last] = std::minmax_element(ends.begin(), ends.end());
    m["first_client_seconds"] = *first;
    m["last_client_seconds"] = *last;
  }
  m["blocks"] = AllBlocks(phase["account"], rows);
  return m;
}

std::vector<Table> InsertBenchmarkTables(const json& document) {
  Table classic("Insert benchmark: the device's figures divided by the step's rate",
                {"step",   "clients", "ips",    "qps",    "of target", "rps",  "rMiB/s", "wps",
                 "wMiB/s", "rpq",     "rKiB/q", "wpi",    "wKiB/i",    "csps", "cpups",  "cspq",
                 "cpupq",  "dbgb1",   "dbgb2",  "rss GB", "max op s",  "p50",  "p99"});
  Table rounds("Insert benchmark: sizes, and when clients finished",
               {"step", "rows", "seconds", "data GB", "log GB", "bytes/row", "GB written",
                "MB/s written", "ips", "first client s", "last client s"});
  Table blocks("Insert benchmark: blocks that each kind of operation caused itself",
               {"step: operation", "count", "reads", "read KiB", "writes", "write KiB", "level"});
  for (const json& run : document.at("runs")) {
    for (const json& phase : run.at("phases")) {
      if (!phase.contains("details") || !phase.at("details").contains("metrics")) continue;
      const json& m = phase.at("details").at("metrics");
      const std::string name = RowName(run, phase, "");
      const auto cell = [&](const char* figure) {
        return Short(Number(m, std::string("/") + figure));
      };
      std::string target = "-";
      if (m.contains("target_share")) {
        target = Percent(m.at("target_share")) + (m.at("sla_met").get<bool>() ? "" : " MISSED");
      }
      classic.Row({name,          Short(Number(phase, "/details/clients")),
                   cell("ips"),   cell("qps"),
                   target,        cell("rps"),
                   cell("rmbps"), cell("wps"),
                   cell("wmbps"), cell("rpq"),
                   cell("rkbpq"), cell("wpi"),
                   cell("wkbpi"), cell("csps"),
                   cell("cpups"), cell("cspq"),
                   cell("cpupq"), cell("dbgb1"),
                   cell("dbgb2"), cell("rss"),
                   cell("maxop"), cell("p50"),
                   cell("p99")});
      rounds.Row({name, Short(Number(phase, "/details/table_rows")), Short(phase.at("seconds")),
                  cell("dbgb1"), Short(Number(phase, "/log_file_bytes") / 1e9),
                  cell("bytes_per_row"), Short(Number(m, "/device_write_bytes") / 1e9),
                  cell("device_write_mbps"), cell("ips"), cell("first_client_seconds"),
                  cell("last_client_seconds")});
      for (const json& b : m.at("blocks")) {
        blocks.Row({fmt::format("{}: {}, per {}", name, b.at("name").get<std::string>(),
                                b.at("per").get<std::string>()),
                    Short(b.at("operations")), Short(Number(b, "/reads")),
                    Short(Number(b, "/read_kb")), Short(Number(b, "/writes")),
                    Short(Number(b, "/write_kb")), b.at("level")});
      }
    }
  }
  return {classic, rounds, blocks};
}

}  // namespace testbed
