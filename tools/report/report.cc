#include "tools/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <optional>

#include "device/account/grade.h"
#include "device/error.h"
#include "tools/database/database_rows.h"
#include "tools/options.h"
#include "tools/output/json_text.h"
#include "tools/output/statistics.h"
#include "tools/output/table.h"
#include "tools/report/compare.h"
#include "tools/report/foreign_cpu.h"
#include "tools/report/insert_benchmark_metrics.h"

namespace testbed {
namespace {

using nlohmann::json;

double Number(const json& j, const std::string& pointer, double otherwise = NAN) {
  const json::json_pointer at(pointer);
  return j.contains(at) && j[at].is_number() ? j[at].get<double>() : otherwise;
}

std::string Text(const json& j, const std::string& pointer) {
  const json::json_pointer at(pointer);
  if (!j.contains(at)) return "-";
  return j[at].is_string() ? j[at].get<std::string>() : JsonText(j[at]);
}

// Returns whether the number can be shown as a count; a damaged document may have any.
bool IsCount(double n) { return n >= 0 && n < 0x1p63; }

std::string Size(double bytes) {
  return IsCount(bytes) ? ShortSize(static_cast<uint64_t>(bytes)) : "-";
}

std::string Whole(double n) { return IsCount(n) ? Count(static_cast<uint64_t>(n)) : "-"; }

// Sums a kernel or file figure over the causes that `take` accepts.
template <typename Take>
double Sum(const json& phase, const std::string& level, const std::string& figure, Take take) {
  double sum = 0;
  for (const json& cause : phase.at("account").at("causes")) {
    if (take(cause)) sum += Number(cause, "/" + level + "/" + figure, 0);
  }
  return sum;
}

double OtherThreads(const json& phase, const std::string& figure) {
  double sum = 0;
  const json none = json::array();
  for (const json& f : phase.at("account").value("other_threads", none)) {
    sum += Number(f, "/kernel/" + figure, 0);
  }
  return sum;
}

const json* Cause(const json& phase, const std::string& name) {
  for (const json& cause : phase.at("account").at("causes")) {
    if (cause.at("name") == name) return &cause;
  }
  return nullptr;
}

// Returns whether the phase's files were counted. They are not when the engine calls the operating
// system without testbed's file layer.
bool CountsFiles(const json& phase) {
  const json& causes = phase.at("account").at("causes");
  return std::any_of(causes.begin(), causes.end(),
                     [](const json& cause) { return cause.contains("file"); });
}

std::string Steadiness(const json& flag) {
  return flag.is_boolean() ? (flag.get<bool>() ? "yes" : "no") : "-";
}

// Returns the first cell of a phase's rows, which is the same in every table.
std::string RowName(const json& run, const json& phase, const std::string& operation) {
  std::string name = phase.at("name").get<std::string>();
  if (operation != name && !operation.empty()) name += " " + operation;
  name += fmt::format(", {} thr", run.at("threads").get<int>());
  if (run.at("repeat").get<int>() > 0) name += fmt::format(" #{}", run.at("repeat").get<int>() + 1);
  return name;
}

// Calls `function` for each run and phase of the document, except for warm-up and tuning phases,
// which no table shows.
template <typename Function>
void ForEachPhase(const json& document, Function function) {
  for (const json& run : document.at("runs")) {
    for (const json& phase : run.at("phases")) {
      if (phase.at("kind") != "warm-up" && phase.at("kind") != "tune") function(run, phase);
    }
  }
}

Table RateTable(const json& document) {
  Table table("Operations",
              {"phase", "count", "ops/s", "mean us", "p50 us", "p99 us", "p99.9 us", "max us",
               "cpu us/op", "harness ns/op", "foreign cpu", "steady", "checked", "wrong"});
  ForEachPhase(document, [&](const json& run, const json& phase) {
    const double cpu = Number(phase, "/account/cpu_user_seconds", 0) +
                       Number(phase, "/account/cpu_system_seconds", 0);
    if (!phase.contains("operations")) return;
    const std::vector<std::string> of_phase = {
        Short(cpu * 1e6 / Number(phase, "/count")),
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
    const bool several = phase.at("operations").size() > 1;
    if (several) {
      row({RowName(run, phase, "all operations"), Count(phase.at("count")), Short(phase.at("rate")),
           "-", "-", "-", "-", "-"},
          of_phase);
    }
    for (const json& op : phase.at("operations")) {
      const json& us = op.at("latency_us");
      row({RowName(run, phase, op.at("name")), Count(op.at("count")), Short(op.at("rate")),
           Short(us.at("mean")), Short(us.at("p50")), Short(us.at("p99")), Short(us.at("p999")),
           Short(us.at("max"))},
          several ? std::vector<std::string>(of_phase.size(), "-") : of_phase);
    }
  });
  return table;
}

Table IntendedTable(const json& document) {
  Table table("Latency from the intended start",
              {"phase", "target ops/s", "ops/s", "mean us", "p50 us", "p99 us", "p99.9 us",
               "max us", "backlog s"});
  ForEachPhase(document, [&](const json& run, const json& phase) {
    if (!phase.contains("operations")) return;
    for (const json& op : phase.at("operations")) {
      if (!op.contains("latency_from_intended_us")) continue;
      const json& us = op.at("latency_from_intended_us");
      table.Row({RowName(run, phase, op.at("name")), Short(Number(phase, "/target_rate")),
                 Short(phase.contains("target_rate") ? phase.at("rate") : op.at("rate")),
                 Short(us.at("mean")), Short(us.at("p50")), Short(us.at("p99")),
                 Short(us.at("p999")), Short(us.at("max")), Short(phase.at("backlog_seconds"))});
    }
  });
  return table;
}

// Shows the reads of each foreground operation at each level. The engine's and the device's counts
// do not tell operations apart, so their columns divide the phase's total by all its operations, in
// a row of the phase.
Table ReadTable(const json& document) {
  Table table("Reads per operation, level by level (B = bytes)",
              {"phase", "engine asks", "engine misses", "file reads", "file B/read", "kernel reads",
               "kernel B/read", "device reads", "device B/read", "foreground share"});
  ForEachPhase(document, [&](const json& run, const json& phase) {
    if (!phase.contains("operations")) return;
    const double all = Number(phase, "/count");
    const double asks = Number(phase, "/account/engine/block_requests");
    const double misses = asks - Number(phase, "/account/engine/block_hits");
    const double foreground = Sum(phase, "kernel", "read_bytes",
                                  [](const json& c) { return c.at("ground") == "foreground"; });
    const double device = Number(phase, "/account/device/reads");
    const bool several = phase.at("operations").size() > 1;
    const std::vector<std::string> asked = {Short(asks / all), Short(misses / all)};
    const std::vector<std::string> done = {
        Short(device / all), Short(Number(phase, "/account/device/read_bytes") / device),
        Percent(foreground / Number(phase, "/account/device/read_bytes"))};
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
  });
  return table;
}

// A class of written bytes, which is one row of the table.
struct WriteClass {
  std::string name;
  double bytes;
};

double KindBytes(const json& phase, const std::string& kind, const json** cause_filter = nullptr) {
  double sum = 0;
  for (const json& cause : phase.at("account").at("causes")) {
    if (cause_filter != nullptr && &cause != *cause_filter) continue;
    sum += Number(cause, "/kernel_by_kind/" + kind + "/write_bytes", 0);
  }
  if (cause_filter != nullptr) return sum;
  const json none = json::array();
  for (const json& f : phase.at("account").value("other_threads", none)) {
    if (f.at("kind") == kind) sum += Number(f, "/kernel/write_bytes", 0);
  }
  return sum;
}

// Divides what the device wrote in a phase into classes that add up to it exactly.
std::vector<WriteClass> WriteClasses(const json& phase) {
  std::vector<WriteClass> classes;
  auto add = [&classes](const std::string& name, double bytes) {
    if (bytes != 0) classes.push_back({name, bytes});
  };
  const double log = KindBytes(phase, "log");
  const double payload = std::min(log, Number(phase, "/account/engine/log_payload_bytes", log));
  add("log records", payload);
  add("log padding and rewrites", log - payload);
  double data = KindBytes(phase, "data");
  for (const json& cause : phase.at("account").at("causes")) {
    const json* only = &cause;
    const double bytes = KindBytes(phase, "data", &only);
    add("data by " + cause.at("name").get<std::string>(), bytes);
    data -= bytes;
  }
  add("data by kernel threads", data);
  add("torn-page protection", KindBytes(phase, "doublewrite"));
  add("engine metadata", KindBytes(phase, "meta"));
  add("temporary files", KindBytes(phase, "temp"));
  add("other files", KindBytes(phase, "other-file"));
  add("file system journal", KindBytes(phase, "fs-journal"));
  add("file system metadata", KindBytes(phase, "fs-metadata"));
  return classes;
}

Table WriteTable(const json& document) {
  Table table("Bytes written, by cause", {"phase", "bytes", "share", "per user byte"});
  double user = 0;  // bytes that the user wrote; a settle keeps the figure of the phase before it
  ForEachPhase(document, [&](const json& run, const json& phase) {
    if (phase.contains("operations")) user = Number(phase, "/user_bytes_written", 0);
    const double device = Number(phase, "/account/device/write_bytes", 0);
    if (device == 0) return;
    const std::string name = RowName(run, phase, "");
    auto row = [&](const std::string& what, double bytes) {
      table.Row({name + ": " + what, Whole(bytes), Percent(bytes / device),
                 user > 0 ? Short(bytes / user) : "-"});
    };
    if (run.at("accounting").at("kernel_account").get<bool>()) {
      double sum = 0;
      for (const WriteClass& c : WriteClasses(phase)) {
        row(c.name, c.bytes);
        sum += c.bytes;
      }
      row("sum of the classes", sum);
    } else if (CountsFiles(phase)) {
      row("written by the engine's file calls",
          Sum(phase, "file", "write_bytes", [](const json&) { return true; }));
    }
    row("device", device);
    const double discarded = Number(phase, "/account/device/discard_bytes", 0);
    if (discarded > 0) {
      table.Row({name + ": discarded, not written", Whole(discarded), "-", "-"});
    }
  });
  return table;
}

// Shows the log writes of a commit at each level, from the log record to the device. Every
// operation of the phase counts as one commit.
Table LogTable(const json& document) {
  Table table("Log writes, bytes per commit",
              {"phase", "commits", "payload", "framing", "padding", "rewritten", "engine says",
               "device all", "device log", "device journal", "estimate", "at least", "syncs",
               "device writes", "flushes"});
  ForEachPhase(document, [&](const json& run, const json& phase) {
    if (!phase.at("account").contains("log") || !phase.contains("operations")) return;
    const double n = Number(phase, "/count");
    auto each = [&](const std::string& figure) {
      return Short(Number(phase, "/account/" + figure) / n);
    };
    table.Row({RowName(run, phase, ""), Whole(n), each("engine/log_payload_bytes"),
               each("engine/more/log_framing_bytes"), each("engine/more/log_padding_bytes"),
               each("engine/more/log_rewritten_bytes"), each("log/bytes"),
               each("device/write_bytes"), each("log/device_bytes"), each("log/journal_bytes"),
               each("log/estimate_bytes"), each("log/estimate_least_bytes"), each("log/syncs"),
               each("device/writes"), each("device/flushes")});
  });
  return table;
}

Table MemoryTable(const json& document) {
  Table table("Memory at the end of the phase, and held over it",
              {"phase", "ram", "engine cache", "process other", "page cache", "kernel", "unused",
               "unaccounted", "peak", "held, mean", "held, most"});
  ForEachPhase(document, [&](const json& run, const json& phase) {
    if (!phase.contains("memory")) return;
    const json& m = phase.at("memory");
    table.Row({RowName(run, phase, ""), Size(m.at("limit")), Size(m.at("engine_cache")),
               Size(m.at("process_other")), Size(m.at("page_cache")), Size(m.at("kernel")),
               Size(m.at("unused")), Percent(Number(m, "/unaccounted") / Number(m, "/limit")),
               Size(m.at("peak")), Size(Number(m, "/held_mean")), Size(Number(m, "/held_most"))});
  });
  return table;
}

Table DatabaseTable(const json& document) {
  Table table("Database", {"phase", "seconds", "bytes", "rows", "bytes/row", "per user byte"});
  const double row = MeanRowBytes(document).value_or(NAN);
  std::map<const json*, double> rows;  // after each phase
  for (const json& run : document.at("runs")) {
    const std::vector<std::optional<double>> after = RowsAfterPhases(document, run);
    for (size_t i = 0; i < after.size(); ++i) rows[&run.at("phases")[i]] = after[i].value_or(NAN);
  }
  ForEachPhase(document, [&](const json& run, const json& phase) {
    const double bytes = Number(phase, "/database_bytes"), a_row = bytes / rows[&phase];
    table.Row({RowName(run, phase, ""), Short(phase.at("seconds")), Size(bytes),
               Whole(rows[&phase]), Short(a_row), Short(a_row / row)});
  });
  return table;
}

// Shows the shares that --cache-pct auto tried, in rising order, and marks the chosen one.
Table TuningTable(const json& document) {
  Table table("Shares of the memory that --cache-pct auto tried",
              {"cache", "times", "ops/s", "predicted", "engine misses/op", "device reads/op",
               "cpu us/op", "neither cache"});
  for (const json& run : document.at("runs")) {
    if (!run.contains("cache_tuning")) continue;
    const json& tuning = run.at("cache_tuning");
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
      std::string name = fmt::format("{} %, {} thr", Short(share), run.at("threads").get<int>());
      if (share == tuning.at("chosen_pct").get<double>()) name += " (chosen)";
      table.Row({name, Count(trial.at("times")), Short(trial.at("rate")),
                 curve == predicted.end() ? "-" : Short(curve->second),
                 Short(trial.at("engine_misses_per_operation")),
                 Short(trial.at("device_reads_per_operation")),
                 Short(trial.at("cpu_us_per_operation")), Size(trial.at("other_bytes"))});
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
    table.Row({name, Size(trial.at("engine_cache")), Size(trial.at("own_mean")),
               Size(trial.at("own_most")), Size(trial.at("needed"))});
  }
  return table;
}

Table RepeatTable(const json& document) {
  Table table("Repeats: mean and 95 % confidence interval",
              {"phase", "runs", "ops/s", "+-", "p99 us", "+-", "device reads/op", "+-",
               "device writes/op", "+-"});
  for (const Repeated& r : Repeats(document)) {
    if (r.rate.n < 2) continue;
    table.Row(
        {r.name, Count(r.rate.n), Short(r.rate.mean), Percent(r.rate.half_width / r.rate.mean),
         Short(r.p99_us.mean), Percent(r.p99_us.half_width / r.p99_us.mean),
         Short(r.device_reads.mean), Percent(r.device_reads.half_width / r.device_reads.mean),
         Short(r.device_writes.mean), Percent(r.device_writes.half_width / r.device_writes.mean)});
  }
  return table;
}

std::string Header(const json& document) {
  const json& o = document.at("options");
  const json run = document.at("runs").empty() ? json::object() : document.at("runs").at(0);
  std::string text = fmt::format(
      "testbed {}: {} {}, io {}, page {}, cache {} of ram {}, durability {}, compression {}\n",
      Text(document, "/testbed"), Text(o, "/engine"), Text(run, "/engine/version"), Text(o, "/io"),
      Size(Number(o, "/page_size")),
      (o.value("cache_auto", false)   ? "auto from "
       : o.value("cache_most", false) ? "most, "
                                      : "") +
          Size(Number(o, "/cache_size")),
      Size(Number(o, "/ram")), Text(o, "/durability"), Text(o, "/compression"));
  const double rows = Number(document, "/data/rows", Number(o, "/rows"));
  const double keys = Number(document, "/data/key_bytes", rows * Number(o, "/key_size"));
  const double bytes =
      keys + Number(document, "/data/value_bytes", rows * Number(o, "/value_size"));
  const bool of_file = !o.value("keys", std::string()).empty();
  text += fmt::format(
      "{} rows of {} + {} bytes = {}, {} x ram; seed {}\n", Whole(rows),
      of_file ? fmt::format("{:.1f} (mean, keys of a file)", keys / rows) : Text(o, "/key_size"),
      Text(o, "/value_size"), Size(bytes), Short(bytes / Number(o, "/ram")), Text(o, "/seed"));
  text +=
      fmt::format("device {}{}, {}, read_ahead_kb {}; kernel {}\n", Text(document, "/device/name"),
                  document.contains("device") && document.at("device").at("exclusive").get<bool>()
                      ? " (the run's alone)"
                      : " (shared)",
                  Text(document, "/machine/file_system"),
                  Text(document, "/device/queue/read_ahead_kb"), Text(document, "/machine/kernel"));
  return text + "\n";
}

// Returns a line with the worst grade of the runs, the reasons for it, and the figures that this
// machine cannot give.
std::string GradeLine(const json& document) {
  Grade worst{'A', {}};
  json missing = json::array();
  bool known = false;
  for (const json& run : document.at("runs")) {
    if (!run.contains("accounting")) continue;
    const json& a = run.at("accounting");
    known = true;
    missing = a.at("missing");
    KeepWorse({a.at("grade").get<std::string>().at(0),
               a.value("grade_reasons", std::vector<std::string>())},
              &worst);
  }
  if (!known) return "";
  std::string text = fmt::format("grade {}", worst.letter);
  for (const std::string& reason : worst.reasons) text += "; " + reason;
  for (const json& what : missing) text += "; not known: " + what.get<std::string>();
  return text + "\n";
}

// Returns a line for each phase that ended early by itself. Warm-ups are included, because a
// warm-up may have used up the rows that the next phase needs.
std::string EndedLines(const json& document) {
  std::string text;
  for (const json& run : document.at("runs")) {
    for (const json& phase : run.at("phases")) {
      if (!phase.contains("ended_because") || phase.at("kind") == "tune") continue;
      text += fmt::format(
          "{} ended after {:.3g} s and {} operations: {}; load more --rows, or give fewer "
          "--operations or --seconds, or a shorter --warmup\n",
          RowName(run, phase, ""), Number(phase, "/seconds", 0), Text(phase, "/count"),
          Text(phase, "/ended_because"));
    }
  }
  return text;
}

// Returns the closure lines, which tell how far the kernel's account of all threads is from the
// device's own statistics, and the grade line.
std::string ClosureLines(const json& document) {
  std::string text;
  ForEachPhase(document, [&](const json& run, const json& phase) {
    if (!phase.at("account").contains("closure")) return;
    const json& c = phase.at("account").at("closure");
    const double reads = Number(phase, "/account/device/reads", 0);
    const double writes = Number(phase, "/account/device/writes", 0);
    text += fmt::format(
        "closure {}: all threads - device = {} of {} reads, {} bytes; {} of {} writes, {} "
        "bytes{}{}\n",
        RowName(run, phase, ""), c.at("reads").get<int64_t>(), Whole(reads),
        c.at("read_bytes").get<int64_t>(), c.at("writes").get<int64_t>(), Whole(writes),
        c.at("write_bytes").get<int64_t>(),
        c.at("at_rest").get<bool>() ? "" : " (the device did not come to rest)",
        phase.contains("grade") ? " (grade " + Text(phase, "/grade") + ")" : "");
    const double other = OtherThreads(phase, "reads") + OtherThreads(phase, "writes");
    if (other > 0) {
      text += "  of it by threads outside the run:";
      for (const json& f : phase.at("account").at("other_threads")) {
        text += fmt::format(" {} {} ({} reads, {} writes);", Text(f, "/thread"), Text(f, "/kind"),
                            Text(f, "/kernel/reads"), Text(f, "/kernel/writes"));
      }
      text.back() = '\n';
    }
  });
  return text + GradeLine(document);
}

std::vector<Table> Tables(const json& document) {
  std::vector<Table> all = {RateTable(document),      IntendedTable(document),
                            ReadTable(document),      WriteTable(document),
                            LogTable(document),       MemoryTable(document),
                            DatabaseTable(document),  TuningTable(document),
                            RehearsalTable(document), RepeatTable(document)};
  for (Table& table : InsertBenchmarkTables(document)) all.push_back(std::move(table));
  std::vector<Table> tables;
  for (Table& table : all) {
    if (!table.empty()) tables.push_back(std::move(table));
  }
  return tables;
}

}  // namespace

std::string ReportText(const json& document) {
  std::string text = ForeignCpuLine(document) + Header(document);
  for (const Table& table : Tables(document)) text += table.Text();
  text += EndedLines(document);
  text += ClosureLines(document);
  const json none = json::array();
  for (const json& note : document.value("notes", none))
    text += "note: " + note.get<std::string>() + "\n";
  if (document.value("partial", false)) text += "PARTIAL: a run was interrupted\n";
  return text;
}

std::string ReportCsv(const json& document) {
  std::string text;
  for (const Table& table : Tables(document)) text += table.Csv();
  return text;
}

json ReadResults(const std::string& path) {
  std::ifstream in(path);
  if (!in)
    throw Error(Error::kUsage,
                fmt::format("{} cannot be read; give a file written by --json", path));
  json document = ParseJson(in);
  if (document.is_discarded() || !document.is_object() ||
      document.value("schema", json()) != "testbed-results/1") {
    throw Error(
        Error::kUsage,
        fmt::format("{} is not a results file of this version (schema testbed-results/1)", path));
  }
  // A results file is whole when everything that is printed from one can be printed.
  try {
    (void)ReportText(document);
    (void)ReportCsv(document);
    (void)CompareText(document, document);
  } catch (const json::exception& e) {
    throw Error(Error::kUsage,
                fmt::format("{} is damaged, or not a results file of this version: {}", path,
                            JsonErrorText(e)));
  }
  return document;
}

}  // namespace testbed
