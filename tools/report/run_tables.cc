#include "tools/report/run_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "device/error.h"
#include "tools/database/database_files.h"
#include "tools/database/database_rows.h"
#include "tools/report/figures.h"
#include "tools/report/insert_benchmark_metrics.h"
#include "tools/statistics/estimate.h"

namespace testbed {
namespace {

using nlohmann::json;

constexpr char kFromIntended[] = "latency_from_intended_us";

// Returns whether a level of the phase was counted: "file" is not when the engine calls the
// operating system without testbed's file layer, nor "kernel" without the kernel account.
bool Counts(const char* level, const json& phase) {
  const json& causes = phase.at("account").at("causes");
  return std::any_of(causes.begin(), causes.end(),
                     [level](const json& cause) { return cause.contains(level); });
}

std::string Steadiness(const json& flag) {
  return flag.is_boolean() ? (flag.get<bool>() ? "yes" : "no") : "-";
}

// Returns a percentile of an operation's latency; "-" when fewer than ten operations took longer,
// which are too few for the percentile.
std::string Percentile(const json& op, const char* name, double share,
                       const char* latency = "latency_us") {
  const bool told = TellsPercentile(ToldOperations(op, latency), share);
  return told ? Short(op.at(latency).at(name)) : "-";
}

Table RateTable(const json& document) {
  Table table("Operations", {"phase", "count", "ops/s", "mean us", "p50 us", "p99 us", "p99.9 us",
                             "max us", "cpu us/op", "prepare ns/op", "harness ns/op", "foreign cpu",
                             "steady", "checked", "wrong"});
  table.Wide({"prepare ns/op", "harness ns/op", "foreign cpu", "checked", "wrong"})
      .Keep({"steady"});
  ForEachPhase(document, [&](const json& run, const json& phase) {
    const double cpu = Number(phase, "/account/cpu_user_seconds", 0) +
                       Number(phase, "/account/cpu_system_seconds", 0);
    if (!phase.contains("operations")) return;
    const double charged = ChargedOperations(phase);
    const std::vector<std::string> of_phase = {
        Short(cpu * 1e6 / charged),
        Short(Number(phase, "/preparing_seconds") * 1e9 / charged),
        Short(Number(run, "/accounting/harness_ns_per_operation")),
        Percent(Number(phase, "/foreign_cpu_share")),
        Steadiness(phase.at("steady").at("rate")),
        Count(phase.at("verified")),
        Count(phase.at("wrong"))};
    const auto row = [&table](std::vector<std::string> cells,
                              const std::vector<std::string>& more) {
      cells.insert(cells.end(), more.begin(), more.end());
      table.Row(std::move(cells));
    };
    const bool several = phase.at("operations").size() > 1, none = phase.at("operations").empty();
    if (several || none) {
      row({RowName(run, phase, none ? "" : "all operations"), Count(phase.at("count")),
           Short(Number(phase, "/rate")), "-", "-", "-", "-", "-"},
          of_phase);
    }
    for (const json& op : phase.at("operations")) {
      const json& us = op.at("latency_us");
      row({RowName(run, phase, op.at("name")), Count(op.at("count")), Short(op.at("rate")),
           Short(us.at("mean")), Percentile(op, "p50", 0.5), Percentile(op, "p99", 0.99),
           Percentile(op, "p999", 0.999), Short(us.at("max"))},
          several ? std::vector<std::string>(of_phase.size(), "-") : of_phase);
    }
  });
  return table;
}

// Shows the latency of each operation from its intended start. The target and how late operations
// began are the phase's, so they are in a row of the phase when it has several operations.
Table IntendedTable(const json& document) {
  Table table("Latency from the intended start",
              {"phase", "target ops/s", "ops/s", "mean us", "p50 us", "p99 us", "p99.9 us",
               "max us", "late p50 us", "late p99 us", "backlog s"});
  ForEachPhase(document, [&](const json& run, const json& phase) {
    if (!phase.contains("operations")) return;
    const json& operations = phase.at("operations");
    const bool known = std::any_of(operations.begin(), operations.end(),
                                   [](const json& op) { return op.contains(kFromIntended); });
    if (!known) return;
    const bool several = operations.size() > 1, rated = phase.contains("target_rate");
    const std::string target = Short(Number(phase, "/target_rate"));
    const std::string reached =
        rated ? Short(Number(phase, "/clients_rate", Number(phase, "/rate"))) : "-";
    const std::vector<std::string> late = {Short(Number(phase, "/lateness_us/p50")),
                                           Short(Number(phase, "/lateness_us/p99")),
                                           Short(phase.at("backlog_seconds"))};
    const auto row = [&](std::vector<std::string> cells, bool whole) {
      for (const std::string& text : late) cells.push_back(whole ? text : "-");
      table.Row(std::move(cells));
    };
    if (several) {
      row({RowName(run, phase, "all operations"), target, reached, "-", "-", "-", "-", "-"}, true);
    }
    for (const json& op : operations) {
      if (!op.contains(kFromIntended)) continue;
      const json& us = op.at(kFromIntended);
      row({RowName(run, phase, op.at("name")), several ? "-" : target,
           several || !rated ? Short(op.at("rate")) : reached, Short(us.at("mean")),
           Percentile(op, "p50", 0.5, kFromIntended), Percentile(op, "p99", 0.99, kFromIntended),
           Percentile(op, "p999", 0.999, kFromIntended), Short(us.at("max"))},
          !several);
    }
  });
  return table;
}

// Shows the reads of each foreground operation at each level. The engine's and the device's counts
// do not tell operations apart, so their columns divide the phase's total by all its operations, in
// a row of the phase. What other programs ("others") read from the device has a row of its own.
Table ReadTable(const json& document) {
  Table table("Reads per operation, level by level (B = bytes)",
              {"phase", "engine asks", "engine misses", "file reads", "file B/read", "kernel reads",
               "kernel B/read", "device reads", "device B/read", "foreground share"});
  table.Wide({"engine asks", "file reads", "file B/read", "foreground share"});
  ForEachPhase(document, [&](const json& run, const json& phase) {
    if (!phase.contains("operations")) return;
    const double all = ChargedOperations(phase);
    const double asks = Number(phase, "/account/engine/block_requests");
    const double misses = EngineMisses(phase.at("account"));
    const auto asked_for = [](const json& cause) { return cause.at("ground") == "foreground"; };
    const double foreground =
        Counts("kernel", phase) ? SumOfCauses(phase, "kernel", "read_bytes", asked_for) : NAN;
    const DeviceIo device = OwnDeviceIo(phase.at("account"));
    const bool several = phase.at("operations").size() > 1;
    const std::vector<std::string> asked = {Short(asks / all), Short(misses / all)};
    const std::vector<std::string> done = {Short(device.reads / all),
                                           Short(device.read_bytes / device.reads),
                                           Percent(foreground / device.read_bytes)};
    const auto row = [&](const std::string& name, const std::vector<std::string>& own, bool whole) {
      std::vector<std::string> cells = {RowName(run, phase, name)};
      const auto add = [&cells](const std::vector<std::string>& more, bool known) {
        for (const std::string& text : more) cells.push_back(known ? text : "-");
      };
      add(asked, whole);
      add(own, true);
      add(done, whole);
      table.Row(std::move(cells));
    };
    if (several) row("all operations", {"-", "-", "-", "-"}, true);
    for (const json& op : phase.at("operations")) {
      const json* cause = Cause(phase, op.at("name"));
      if (cause == nullptr) continue;
      const double n = Number(*cause, "/operations");
      const double file = Number(*cause, "/file/reads"), kernel = Number(*cause, "/kernel/reads");
      row(op.at("name"),
          {Short(file / n), Short(Number(*cause, "/file/read_bytes") / file), Short(kernel / n),
           Short(Number(*cause, "/kernel/read_bytes") / kernel)},
          !several);
    }
    const DeviceIo other = OtherProgramsIo(phase.at("account"));
    if (other.reads > 0) {
      table.Row({RowName(run, phase, "") + ": others", "-", "-", "-", "-", "-", "-",
                 Whole(other.reads) + " in all", Short(other.read_bytes / other.reads), "-"});
    }
  });
  return table;
}

// Shows what each foreground operation exchanged with the server.
Table WireTable(const json& document) {
  Table table("Between client and server, per operation",
              {"phase", "round trips", "bytes sent", "bytes received"});
  ForEachPhase(document, [&](const json& run, const json& phase) {
    if (!phase.contains("operations")) return;
    for (const json& op : phase.at("operations")) {
      const json* const cause = Cause(phase, op.at("name"));
      if (cause == nullptr || !cause->contains("wire")) continue;
      const double n = Number(*cause, "/operations");
      table.Row({RowName(run, phase, op.at("name")), Short(Number(*cause, "/wire/round_trips") / n),
                 Short(Number(*cause, "/wire/sent_bytes") / n),
                 Short(Number(*cause, "/wire/received_bytes") / n)});
    }
  });
  return table;
}

// Shows what the server at each of several addresses did: its clients' operations, and what it
// counted itself.
Table AddressTable(const json& document) {
  Table table("Addresses of the server",
              {"phase: address", "clients", "count", "ops/s", "p50 us", "p99 us", "max us",
               "unanswered", "blocks read", "blocks written", "log B"});
  table.Wide({"max us"});
  ForEachPhase(document, [&](const json& run, const json& phase) {
    const json none = json::array();
    const json clients = phase.value("addresses", none);
    const json counted = phase.value("/account/addresses"_json_pointer, json::array());
    for (size_t i = 0; i < counted.size(); ++i) {
      const json& server = counted[i];
      const json of = i < clients.size() ? clients[i] : json::object();
      const double operations = Number(of, "/count", 0);
      const auto percentile = [&](const char* name, double share) {
        return Short(TellsPercentile(ToldOperations(of), share)
                         ? Number(of, std::string("/latency_us/") + name)
                         : NAN);
      };
      const double log =
          Number(server, "/engine/log_written_bytes", Number(server, "/engine/log_payload_bytes"));
      table.Row({RowName(run, phase, "") + ": " + OneLine(FigureText(server, "/address")) +
                     (server.contains("lost") ? " (lost)" : ""),
                 Whole(Number(of, "/threads")), Whole(Number(of, "/count")),
                 Short(Number(of, "/rate")), percentile("p50", 0.5), percentile("p99", 0.99),
                 Short(operations > 0 ? Number(of, "/latency_us/max") : NAN),
                 Whole(Number(of, "/unanswered")), Whole(Number(server, "/engine/block_reads")),
                 Whole(Number(server, "/engine/blocks_written")), Whole(log)});
    }
  });
  return table;
}

// Shows what each process did of a run whose clients are several.
Table TaskTable(const json& document) {
  Table table("Tasks of the run",
              {"phase: task", "host", "clients", "count", "ops/s", "p50 us", "p99 us", "max us",
               "late us", "clock us", "error us", "drift us"});
  table.Wide({"max us", "drift us"}).Words({0, 1});
  ForEachPhase(document, [&](const json& run, const json& phase) {
    for (const json& task : phase.value("tasks", json::array())) {
      const double operations = Number(task, "/count", 0);
      const auto percentile = [&](const char* name, double share) {
        return Short(TellsPercentile(ToldOperations(task), share)
                         ? Number(task, std::string("/latency_us/") + name)
                         : NAN);
      };
      table.Row(
          {RowName(run, phase, "") + ": " + Whole(Number(task, "/task")),
           OneLine(FigureText(task, "/host")), Whole(Number(task, "/threads")), Whole(operations),
           Short(Number(task, "/rate")), percentile("p50", 0.5), percentile("p99", 0.99),
           Short(operations > 0 ? Number(task, "/latency_us/max") : NAN),
           Short(Number(task, "/began_late_us")), Short(Number(task, "/clock_before/offset_us")),
           Short(Number(task, "/clock_before/error_us")), Short(Number(task, "/drift_us"))});
    }
  });
  return table;
}

Table WriteTable(const json& document) {
  Table table("Bytes written, by cause", {"phase", "bytes", "share", "per user byte"});
  // Bytes that the user wrote. A settle uses those of the phase before it; a count of rows stands
  // between two phases and has none.
  double written = 0;
  const json* of_run = nullptr;
  ForEachPhase(document, [&](const json& run, const json& phase) {
    if (std::exchange(of_run, &run) != &run) written = 0;
    if (phase.contains("operations")) written = Number(phase, "/user_bytes_written", 0);
    const double user = phase.at("kind") == "count" ? 0 : written;
    const double device = Number(phase, "/account/device/write_bytes", 0);
    const double discarded = Number(phase, "/account/device/discard_bytes", 0);
    if (device == 0 && discarded == 0) return;
    const std::string name = RowName(run, phase, "");
    const double own = OwnDeviceIo(phase.at("account")).write_bytes;
    const double others = OtherProgramsIo(phase.at("account")).write_bytes;
    const auto line = [&](const std::string& what, double bytes) {
      table.Row({name + ": " + what, Whole(bytes), "-", "-"});
    };
    const auto row = [&](const std::string& what, double bytes) {
      table.Row({name + ": " + what, Whole(bytes), Percent(bytes / own),
                 user > 0 ? Short(bytes / user) : "-"});
    };
    const auto add_discards = [&] {
      if (discarded > 0) line("discarded, not written", discarded);
    };
    if (device == 0) return add_discards();
    if (run.at("accounting").at("kernel_account").get<bool>()) {
      double sum = 0;
      for (const WriteClass& c : WriteClasses(phase)) {
        row(c.name, c.bytes);
        sum += c.bytes;
      }
      row("sum of the classes", sum);
    } else if (Counts("file", phase)) {
      row("written by the engine's file calls",
          SumOfCauses(phase, "file", "write_bytes", [](const json&) { return true; }));
    }
    if (others > 0) {
      row("device, of this run", own);
      line("device, of other programs", others);
      line("device, in all", device);
    } else {
      row("device", device);
    }
    add_discards();
  });
  return table;
}

// Shows the log writes of an operation at each level, from the log record to the device. Operations
// that only read count too: the document does not tell which ones committed something.
Table LogTable(const json& document) {
  Table table("Log writes, bytes per operation",
              {"phase", "operations", "payload", "framing", "padding", "rewritten", "engine says",
               "device all", "device log", "device journal", "estimate", "at least", "syncs",
               "device writes", "flushes"});
  table.Wide({"operations", "framing", "engine says", "device journal", "estimate", "at least",
              "device writes"});
  ForEachPhase(document, [&](const json& run, const json& phase) {
    if (!phase.contains("operations") || !phase.at("account").contains("log")) return;
    const double n = ChargedOperations(phase);
    const DeviceIo own = OwnDeviceIo(phase.at("account"));
    auto each = [&](const std::string& figure) {
      return Short(Number(phase, "/account/" + figure) / n);
    };
    table.Row({RowName(run, phase, ""), Whole(n), each("engine/log_payload_bytes"),
               each("engine/more/log_framing_bytes"), each("engine/more/log_padding_bytes"),
               each("engine/more/log_rewritten_bytes"), each("log/bytes"),
               Short(own.write_bytes / n), each("log/device_bytes"), each("log/journal_bytes"),
               each("log/estimate_bytes"), each("log/estimate_least_bytes"), each("log/syncs"),
               Short(own.writes / n), each("device/flushes")});
  });
  return table;
}

Table MemoryTable(const json& document) {
  Table table("Memory at the end of the phase, and held over it",
              {"phase", "ram", "engine cache", "process other", "page cache", "kernel", "unused",
               "unaccounted", "peak", "held, mean", "held, most"});
  table.Wide({"unaccounted", "held, mean", "held, most"});
  ForEachPhase(document, [&](const json& run, const json& phase) {
    if (!phase.contains("memory")) return;
    const json& m = phase.at("memory");
    table.Row({RowName(run, phase, ""), Size(m.at("limit")), Size(Number(m, "/engine_cache")),
               Size(m.at("process_other")), Size(m.at("page_cache")), Size(m.at("kernel")),
               Size(m.at("unused")), Percent(Number(m, "/unaccounted") / Number(m, "/limit")),
               Size(Number(m, "/peak")), Size(Number(m, "/held_mean")),
               Size(Number(m, "/held_most"))});
  });
  return table;
}

// Returns whether the phase may have changed the mean size of the rows. mixgraph draws sizes of
// values, a trace has its own sizes, and erases change the mean when rows have several sizes, which
// the options give as text.
bool ChangesRowSizes(const json& document, const json& phase) {
  const json sizes = document.value("/options/value_size"_json_pointer, json());
  return Number(phase, "/details/mean_value_bytes", 0) > 0 ||
         (phase.contains("/details/trace"_json_pointer) &&
          Number(phase, "/user_bytes_written", 0) > 0) ||
         (sizes.is_string() && phase.contains("operations") &&
          Number(phase, "/rows_erased", 1) > 0);
}

Table DatabaseTable(const json& document) {
  Table table("Database",
              {"phase", "seconds", "data", "log", "rows", "bytes/row", "per user byte"});
  std::map<const json*, double> rows, row_bytes;  // after each phase
  for (const json& run : document.at("runs")) {
    const std::vector<std::optional<double>> after = RowsAfterPhases(document, run);
    double row = HasOtherSizes(run) ? NAN : MeanRowBytes(document).value_or(NAN);
    for (size_t i = 0; i < after.size(); ++i) {
      const json& phase = run.at("phases")[i];
      if (ChangesRowSizes(document, phase)) row = NAN;
      rows[&phase] = after[i].value_or(NAN);
      row_bytes[&phase] = row;
    }
  }
  ForEachPhase(document, [&](const json& run, const json& phase) {
    const double data = PhaseDataBytes(phase), a_row = data / rows[&phase];
    table.Row({RowName(run, phase, ""), Short(phase.at("seconds")), Size(data),
               Size(Number(phase, "/log_file_bytes")), Whole(rows[&phase]), Short(a_row),
               Short(a_row / row_bytes[&phase])});
  });
  return table;
}

// Adds the shares that a search has tried, in rising order, and marks the chosen one.
void AddTrials(const json& tuning, const std::string& which, Table* table) {
  std::map<double, double> predicted;
  for (const json& point : tuning.value("/prediction/curve"_json_pointer, json::array())) {
    predicted[point.at("cache_pct")] = point.at("rate");
  }
  std::vector<json> trials = tuning.at("trials");
  std::sort(trials.begin(), trials.end(), [](const json& a, const json& b) {
    return a.at("cache_pct").get<double>() < b.at("cache_pct").get<double>();
  });
  for (const json& trial : trials) {
    const double share = trial.at("cache_pct");
    const auto curve = predicted.find(share);
    std::string name = fmt::format("{} %, {}", Short(share), which);
    if (share == tuning.at("chosen_pct").get<double>()) name += " (chosen)";
    table->Row({name, Count(trial.at("times")), Short(trial.at("rate")),
                curve == predicted.end() ? "-" : Short(curve->second),
                Short(Number(trial, "/engine_misses_per_operation")),
                Short(Number(trial, "/device_reads_per_operation")),
                Short(trial.at("cpu_us_per_operation")), Size(Number(trial, "/other_bytes"))});
  }
}

// Shows the shares that --cache-pct auto tried, by workload where it searched for several.
Table TuningTable(const json& document) {
  Table table("Shares of the memory that --cache-pct auto tried",
              {"cache", "times", "ops/s", "predicted", "engine misses/op", "device reads/op",
               "cpu us/op", "neither cache"});
  table.Wide({"neither cache"});
  for (const json& run : document.at("runs")) {
    if (!run.contains("cache_tuning")) continue;
    const json earlier = run.value("earlier_cache_tunings", json::array());
    const std::string which = fmt::format("{} thr{}", run.at("threads").get<int>(), WhichRun(run));
    const auto of_workload = [&earlier](const json& tuning) {
      return earlier.empty() ? "" : ", " + tuning.value("name", std::string());
    };
    for (const json& tuning : earlier) AddTrials(tuning, which + of_workload(tuning), &table);
    const json& last = run.at("cache_tuning");
    AddTrials(last, which + of_workload(last), &table);
  }
  return table;
}

// Shows the rates that --find-rate tried, from the lowest up, and the closed loop under them.
Table RateSearchTable(const json& document) {
  Table table("Rates that --find-rate tried",
              {"phase", "target ops/s", "ops/s", "seconds", "count", "p50 us", "p99 us",
               "limited us", "max us", "slower", "backlog s", "meets"});
  table.Wide({"seconds", "count", "max us"});
  for (const json& run : document.at("runs")) {
    for (const json& found : run.value("find_rate", json::array())) {
      std::vector<json> steps = found.at("steps");
      std::sort(steps.begin(), steps.end(), [](const json& a, const json& b) {
        return a.value("target_rate", INFINITY) < b.value("target_rate", INFINITY);
      });
      const std::string name = RowName(run, found, "");
      for (const json& step : steps) {
        const bool open = step.contains("target_rate");
        const bool chosen = open && found.at("outcome") == "found" &&
                            step.at("target_rate") == found.at("found_rate");
        std::string meets = step.at("meets").get<bool>() ? "yes" : "no";
        if (open && !step.at("kept_up").get<bool>()) meets = "no, fell behind";
        if (chosen) meets = "yes: found";
        const double tell = Number(step, "/latency_count", Number(step, "/count", 0));
        const auto told = [&](const char* figure, double share) {
          return TellsPercentile(tell, share) ? Short(step.at(figure)) : "-";
        };
        table.Row({name, open ? Short(step.at("target_rate")) : "closed loop",
                   Short(Number(step, "/rate")), Short(step.at("seconds")), Count(step.at("count")),
                   told("p50_us", 0.5), told("p99_us", 0.99),
                   told("limited_us", Number(found, "/limited_share")),
                   Short(Number(step, "/max_us")), Percent(Number(step, "/slower_share")),
                   Short(Number(step, "/backlog_seconds")), open ? meets : "-"});
      }
    }
  }
  return table;
}

// Shows the rehearsals of --cache-pct most, in the order in which they ran.
Table RehearsalTable(const json& document) {
  Table table("Shares of the memory that --cache-pct most rehearsed",
              {"cache", "cache held", "held without page cache, mean", "most", "memory needed"});
  const json rehearsal = document.value("cache_rehearsal", json::object());
  for (const json& trial : rehearsal.value("rehearsals", json::array())) {
    std::string name = Short(trial.at("cache_pct")) + " %";
    if (trial.at("cache_pct") == rehearsal.at("chosen_pct")) name += " (chosen)";
    const double cached = trial.at("engine_cache");  // 0: the engine does not tell
    table.Row({name, cached > 0 ? Size(cached) : "-", Size(trial.at("own_mean")),
               Size(trial.at("own_most")), Size(trial.at("needed"))});
  }
  return table;
}

// Shows the mean over the loads and its 95 % confidence interval. A single load has no interval,
// however many runs it had.
Table RepeatTable(const json& document) {
  Table table("Repeats: mean over the loads, and its 95 % confidence interval",
              {"phase", "loads", "runs", "ops/s", "ops/s +-", "p99 us", "p99 us +-",
               "device reads/op", "reads/op +-", "device writes/op", "writes/op +-"});
  table.Wide({"runs", "device writes/op", "writes/op +-"});
  for (const Repeated& r : Repeats(document)) {
    if (r.runs < 2) continue;
    std::vector<std::string> cells = {r.name, Count(r.loads), Count(r.runs)};
    for (const Estimate& e : {r.rate, r.p99_us, r.device_reads, r.device_writes}) {
      cells.push_back(e.n == 0 ? "-" : Short(e.mean));
      cells.push_back(e.n < 2 ? "-" : Percent(e.half_width / e.mean));
    }
    table.Row(std::move(cells));
  }
  return table;
}

}  // namespace

std::vector<Table> RunTables(const json& document) {
  std::vector<Table> all = {
      RateTable(document),      IntendedTable(document), RateSearchTable(document),
      TaskTable(document),      ReadTable(document),     WireTable(document),
      AddressTable(document),   WriteTable(document),    LogTable(document),
      MemoryTable(document),    DatabaseTable(document), TuningTable(document),
      RehearsalTable(document), RepeatTable(document)};
  for (Table& table : InsertBenchmarkTables(document)) all.push_back(std::move(table));
  return all;
}

std::vector<Table> TablesWithoutPlots(const json& document) {
  std::vector<Table> all;
  const auto add = [&all](Table table) {
    if (!table.empty()) all.push_back(std::move(table));
  };
  add(TaskTable(document));
  add(WireTable(document));
  add(AddressTable(document));
  add(LogTable(document));
  add(TuningTable(document));
  add(RehearsalTable(document));
  for (Table& table : InsertBenchmarkTables(document)) add(std::move(table));
  return all;
}

}  // namespace testbed
