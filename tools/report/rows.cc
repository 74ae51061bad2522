#include "tools/report/rows.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "device/machine/host.h"
#include "tools/options.h"
#include "tools/report/figures.h"

namespace testbed {
namespace {

using nlohmann::json;
using RowUse = std::function<void(const std::vector<json>&)>;

// The parts of the document that a row is made from. `operation`, `second` and `cause` are null in
// rows without one, and `phase` is JSON's null.
struct RowSource {
  const json& document;
  const json& run;
  const json& phase;
  size_t run_index = 0, phase_index = 0;
  const json* operation = nullptr;
  const json* second = nullptr;
  const json* cause = nullptr;
};

constexpr std::pair<ColumnOf, const char*> kOfNames[] = {
    {ColumnOf::kDocument, "document"},
    {ColumnOf::kFact, "fact"},
    {ColumnOf::kRun, "run"},
    {ColumnOf::kPhase, "phase"},
    {ColumnOf::kOperation, "operation"},
    {ColumnOf::kCause, "cause"},
    {ColumnOf::kSecond, "second"},
    {ColumnOf::kBackground, "background"},
    {ColumnOf::kRunIndex, "run_index"},
    {ColumnOf::kPhaseIndex, "phase_index"},
    {ColumnOf::kOwn, "own"},
    {ColumnOf::kOtherPrograms, "other_programs"},
    {ColumnOf::kUnanswered, "unanswered"},
};

// Returns the column's name for a path: "/device/queue/scheduler" is device_queue_scheduler.
std::string NameOf(const std::string& prefix, const std::string& pointer) {
  std::string name = prefix + pointer.substr(1);
  for (char& c : name) c = c == '/' || c == '-' ? '_' : c;
  return name;
}

void AddPaths(ColumnOf of, const std::vector<std::string>& pointers,
              std::vector<RowColumn>* columns) {
  for (const std::string& p : pointers) columns->push_back({NameOf("", p), of, p});
}
// These add a column for each name below a part of the phase, of the operation or of its cause.
void AddOfPhase(const std::string& part, const std::vector<std::string>& names,
                std::vector<RowColumn>* columns) {
  for (const std::string& name : names) {
    const std::string p = part + "/" + name;
    // The names of columns omit "account", which says nothing more.
    columns->push_back(
        {NameOf("phase_", p.starts_with("/account") ? p.substr(8) : p), ColumnOf::kPhase, p});
  }
}
void AddBelow(ColumnOf of, const std::string& part, const std::vector<std::string>& names,
              std::vector<RowColumn>* columns) {
  for (const std::string& name : names) AddPaths(of, {part + "/" + name}, columns);
}

// Adds the columns that identify a run and, in AddIdentity, a phase.
void AddRunIdentity(std::vector<RowColumn>* columns) {
  columns->push_back({"engine", ColumnOf::kDocument, "/options/engine"});
  columns->push_back({"run", ColumnOf::kRunIndex, ""});
  AddPaths(ColumnOf::kRun, {"/threads", "/load", "/repeat"}, columns);
}
void AddIdentity(std::vector<RowColumn>* columns) {
  AddRunIdentity(columns);
  columns->push_back({"phase_index", ColumnOf::kPhaseIndex, ""});
  columns->push_back({"phase", ColumnOf::kPhase, "/name"});
  columns->push_back({"kind", ColumnOf::kPhase, "/kind"});
}

// Adds what a cause moved.
void AddMoved(std::vector<RowColumn>* columns) {
  AddBelow(ColumnOf::kCause, "/file", {"reads", "read_bytes", "writes", "write_bytes", "syncs"},
           columns);
  AddBelow(ColumnOf::kCause, "/kernel",
           {"reads", "read_bytes", "readahead_reads", "writes", "write_bytes", "flushes"}, columns);
  AddBelow(ColumnOf::kCause, "/wire", {"round_trips", "sent_bytes", "received_bytes"}, columns);
}

// Adds the bytes that a cause moved, by kind of file.
void AddMovedByKind(std::vector<RowColumn>* columns) {
  for (const std::string level : {"/file_by_kind/", "/kernel_by_kind/"}) {
    for (const char* kind : {"data", "log", "binlog", "doublewrite", "temp", "meta", "other-file",
                             "fs-journal", "fs-metadata"}) {
      AddBelow(ColumnOf::kCause, level + kind, {"read_bytes", "write_bytes"}, columns);
    }
  }
}

// Adds the figures of an operation: its rate and latency, and what it caused itself.
void AddOperation(std::vector<RowColumn>* columns) {
  columns->push_back({"operation", ColumnOf::kOperation, "/name"});
  AddBelow(ColumnOf::kOperation, "", {"count", "rate"}, columns);
  for (const char* latency : {"/latency_us", "/latency_from_intended_us"}) {
    AddBelow(ColumnOf::kOperation, latency,
             {"mean", "p50", "p90", "p99", "p999", "p9999", "max", "count"}, columns);
  }
  columns->push_back({"charged_operations", ColumnOf::kCause, "/operations"});
  AddMoved(columns);
}

// Adds what --ram held at the end of the phase, and what the run held meanwhile.
void AddMemory(std::vector<RowColumn>* columns) {
  AddOfPhase("/memory",
             {"limit", "engine_cache", "process_other", "page_cache", "kernel", "unused",
              "unaccounted", "peak", "held_mean", "held_most", "own_mean", "own_most",
              "page_cache_mean", "dirty", "limit_hits", "shortages", "process_check"},
             columns);
}

// Adds the figures of the whole phase.
void AddPhase(std::vector<RowColumn>* columns) {
  AddOfPhase("",
             {"threads",
              "seconds",
              "count",
              "rate",
              "rows_read",
              "rows_written",
              "rows_inserted",
              "rows_erased",
              "not_found",
              "user_bytes_written",
              "verified",
              "wrong",
              "preparing_seconds",
              "target_rate",
              "clients_rate",
              "backlog_seconds",
              "due_operations",
              "undone_operations",
              "partial",
              "ended_because",
              "foreign_cpu_share",
              "steal_share",
              "cache_pct",
              "database_bytes",
              "log_file_bytes",
              "grade"},
             columns);
  AddOfPhase("/lateness_us", {"mean", "p50", "p99", "max"}, columns);
  AddOfPhase("/steady", {"rate", "p99", "device_reads"}, columns);
  AddOfPhase("/account",
             {"cpu_user_seconds", "cpu_system_seconds", "process_read_bytes", "process_write_bytes",
              "major_faults", "context_switches"},
             columns);
  AddOfPhase("/account/engine",
             {"block_requests", "block_hits", "block_reads", "block_read_bytes", "blocks_written",
              "block_write_bytes", "log_payload_bytes", "log_written_bytes", "cache_bytes"},
             columns);
  for (const auto& [prefix, of] : {std::pair("phase_own_", ColumnOf::kOwn),
                                   std::pair("phase_other_programs_", ColumnOf::kOtherPrograms)}) {
    for (const char* figure : {"/reads", "/read_bytes", "/writes", "/write_bytes"}) {
      columns->push_back({NameOf(prefix, figure), of, figure});
    }
  }
  AddOfPhase("/account/device",
             {"reads", "read_bytes", "writes", "write_bytes", "flushes", "discards",
              "discard_bytes", "read_ms", "write_ms"},
             columns);
  AddOfPhase("/account/log",
             {"bytes", "writes", "syncs", "device_bytes", "journal_bytes", "estimate_bytes",
              "estimate_least_bytes"},
             columns);
  AddOfPhase("/account/closure", {"reads", "read_bytes", "writes", "write_bytes", "at_rest"},
             columns);
  AddMemory(columns);
}

// Adds where the figures come from: versions, settings, machine, device. The settings' names are
// those of this version, whatever document is printed.
void AddOrigin(std::vector<RowColumn>* columns) {
  AddPaths(ColumnOf::kDocument,
           {"/started", "/label", "/testbed", "/build/commit", "/build/compiler", "/build/type",
            "/host", "/cell/name", "/cell/round", "/not_in_force"},
           columns);
  columns->push_back({"grade", ColumnOf::kRun, "/accounting/grade"});
  columns->push_back({"engine_version", ColumnOf::kRun, "/engine/version"});
  columns->push_back(
      {"harness_ns_per_operation", ColumnOf::kRun, "/accounting/harness_ns_per_operation"});
  static const json options = RunOptions().ToJson();
  for (const auto& [name, value] : options.items()) {
    if (name == "engine") continue;  // it is the first column
    columns->push_back({"option_" + name, ColumnOf::kDocument, "/options/" + name});
  }
  columns->push_back({"option_scratch_fs", ColumnOf::kDocument, "/options/scratch_fs"});
  columns->push_back({"option_release", ColumnOf::kDocument, "/options/release"});
  columns->push_back({"option_tasks", ColumnOf::kDocument, "/options/tasks"});
  for (const auto& [name, value] : HostFacts().Fields()) {
    // The kernel's version stays a text: AsNumber would make a number of 6.10.
    const ColumnOf of = name == "kernel" ? ColumnOf::kDocument : ColumnOf::kFact;
    columns->push_back({"machine_" + name, of, "/machine/" + name});
  }
  AddPaths(ColumnOf::kDocument, {"/device/name", "/device/exclusive"}, columns);
  AddPaths(ColumnOf::kFact,
           {"/device/queue/read_ahead_kb", "/device/queue/scheduler", "/device/queue/rotational"},
           columns);
}

// Adds the figures of a second of the series.
void AddSecond(std::vector<RowColumn>* columns) {
  AddPaths(ColumnOf::kSecond,
           {"/end_seconds", "/operations", "/p50_us", "/p99_us", "/max_us", "/device_reads",
            "/device_read_bytes", "/device_writes", "/device_write_bytes", "/host_context_switches",
            "/host_user_seconds", "/host_system_seconds", "/resident_bytes"},
           columns);
  AddPaths(ColumnOf::kDocument, {"/started", "/label", "/cell/name", "/cell/round"}, columns);
  AddPaths(
      ColumnOf::kSecond,
      {"/process_memory_bytes", "/page_cache_bytes", "/kernel_memory_bytes", "/limit_hits",
       "/refaults", "/other_reads", "/other_read_bytes", "/other_writes", "/other_write_bytes"},
      columns);
  columns->push_back({"background", ColumnOf::kBackground, "/name"});
  for (const char* figure : {"/read_bytes", "/write_bytes"}) {
    columns->push_back({NameOf("background_", figure), ColumnOf::kBackground, figure});
  }
}

// Adds how a run ended, how exact its account is, and how its engine was set up.
void AddRun(std::vector<RowColumn>* columns) {
  AddPaths(ColumnOf::kRun,
           {"/seed", "/partial", "/error/sentence", "/error/exit_code", "/error/out_of_memory",
            "/database/rows", "/database/bytes", "/database/log_bytes", "/cache_tuning/chosen_pct",
            "/find_rate", "/accounting/depth", "/accounting/clock", "/accounting/kernel_account",
            "/accounting/latency_relative_error", "/accounting/grade_reasons",
            "/accounting/missing", "/engine/effective"},
           columns);
}

json ValueAtPointer(const json& j, const json::json_pointer& at) {
  return j.contains(at) ? j[at] : json();
}

// Returns a text that holds a number as that number, and any other value unchanged.
json AsNumber(json fact) {
  if (!fact.is_string()) return fact;
  const std::string& text = fact.get_ref<const std::string&>();
  const char *begin = text.data(), *end = begin + text.size();
  if (const size_t sign = text.starts_with('-');
      sign >= text.size() || text[sign] < '0' || text[sign] > '9') {
    return fact;
  }
  int64_t whole = 0;
  if (const auto [at, error] = std::from_chars(begin, end, whole);
      error == std::errc() && at == end) {
    return whole;
  }
  double real = 0;
  if (const auto [at, error] = std::from_chars(begin, end, real);
      error == std::errc() && at == end) {
    return real;
  }
  return fact;
}

json OfDeviceIo(const DeviceIo& io, const std::string& figure) {
  const double value = figure == "/reads"        ? io.reads
                       : figure == "/read_bytes" ? io.read_bytes
                       : figure == "/writes"     ? io.writes
                                                 : io.write_bytes;
  return std::isfinite(value) ? json(value) : json();
}

// Returns the names of a second's background work, or the sum of a figure over it.
json OfBackground(const json& second, const json::json_pointer& at) {
  const auto list = second.find("background");
  if (list == second.end() || !list->is_array() || list->empty()) return {};
  if (at.back() == "name") {
    json names = json::array();
    for (const json& work : *list) names.push_back(ValueAtPointer(work, at));
    return names;
  }
  double sum = 0;
  for (const json& work : *list) sum += Number(work, at.to_string(), 0);
  return sum;
}

// Returns the sum of a figure over the operations of a phase that got no answer. Their list is
// absent when there were none.
json OfUnanswered(const json& phase, const std::string& figure) {
  if (!phase.is_object() || !phase.contains("operations")) return {};
  double sum = 0;
  const json none = json::array();
  for (const json& operation : phase.value("unanswered", none)) sum += Number(operation, figure, 0);
  return sum;
}

struct PreparedColumn {
  ColumnOf of;
  json::json_pointer at;
};

json CellOf(const PreparedColumn& column, const RowSource& s, const json* cause) {
  switch (column.of) {
    case ColumnOf::kDocument:
      return ValueAtPointer(s.document, column.at);
    case ColumnOf::kFact:
      return AsNumber(ValueAtPointer(s.document, column.at));
    case ColumnOf::kRun:
      return ValueAtPointer(s.run, column.at);
    case ColumnOf::kPhase:
      return ValueAtPointer(s.phase, column.at);
    case ColumnOf::kOperation:
      return s.operation == nullptr ? json() : ValueAtPointer(*s.operation, column.at);
    case ColumnOf::kCause:
      return cause == nullptr ? json() : ValueAtPointer(*cause, column.at);
    case ColumnOf::kSecond:
      return s.second == nullptr ? json() : ValueAtPointer(*s.second, column.at);
    case ColumnOf::kBackground:
      return s.second == nullptr ? json() : OfBackground(*s.second, column.at);
    case ColumnOf::kRunIndex:
      return s.run_index;
    case ColumnOf::kPhaseIndex:
      return s.phase.is_null() ? json() : json(s.phase_index);
    case ColumnOf::kOwn:
      if (s.phase.is_null()) return {};
      return OfDeviceIo(OwnDeviceIo(s.phase.at("account")), column.at.to_string());
    case ColumnOf::kOtherPrograms:
      // Only the kernel account, which lists these threads, tells the IO of other programs.
      if (s.phase.is_null() || !s.phase.at("account").contains("other_threads")) return {};
      return OfDeviceIo(OtherProgramsIo(s.phase.at("account")), column.at.to_string());
    case ColumnOf::kUnanswered:
      return OfUnanswered(s.phase, column.at.to_string());
  }
  return {};
}

void UseRow(const std::vector<PreparedColumn>& columns, const RowSource& source,
            const RowUse& use) {
  const json* cause = source.operation == nullptr
                          ? source.cause
                          : Cause(source.phase, source.operation->at("name"));
  std::vector<json> cells;
  cells.reserve(columns.size());
  for (const PreparedColumn& column : columns) cells.push_back(CellOf(column, source, cause));
  use(cells);
}

// Returns the causes of IO in a phase: those of its account, and the threads outside the run in the
// form of these.
json CausesOf(const json& phase) {
  json causes = json::array();
  if (!phase.is_object() || !phase.contains("account")) return causes;
  const json& account = phase["account"];
  const json none = json::array();
  causes = account.value("causes", none);
  for (const json& thread : account.value("other_threads", none)) {
    const json counts = thread.value("kernel", json::object());
    const std::string kind = thread.value("kind", "");
    json by_kind = json::object();
    by_kind[kind] = counts;
    json cause = {{"name", thread.value("thread", "")},
                  {"ground", IsOfOtherProgram(thread) ? "other program" : "kernel thread"},
                  {"kernel", counts},
                  {"kernel_by_kind", std::move(by_kind)}};
    causes.push_back(std::move(cause));
  }
  return causes;
}

void UsePhase(RowTable::Per per, const std::vector<PreparedColumn>& columns, RowSource source,
              const RowUse& use) {
  if (per == RowTable::Per::kCause) {
    const json causes = CausesOf(source.phase);
    for (const json& cause : causes) {
      source.cause = &cause;
      UseRow(columns, source, use);
    }
    return;
  }
  const bool seconds = per == RowTable::Per::kSecond;
  const json none = json::array();
  const json& list =
      source.phase.is_object() && source.phase.contains(seconds ? "series" : "operations")
          ? source.phase[seconds ? "series" : "operations"]
          : none;
  for (const json& item : list) {
    (seconds ? source.second : source.operation) = &item;
    UseRow(columns, source, use);
  }
  if (list.empty() && !seconds) UseRow(columns, source, use);
}

}  // namespace

const RowTable& RunRows() {
  static const RowTable table = [] {
    RowTable all{"runs", RowTable::Per::kRun, {}};
    AddRunIdentity(&all.columns);
    AddRun(&all.columns);
    AddOrigin(&all.columns);
    return all;
  }();
  return table;
}

const RowTable& ResultRows() {
  static const RowTable table = [] {
    RowTable all{"results", RowTable::Per::kOperation, {}};
    AddIdentity(&all.columns);
    AddOperation(&all.columns);
    AddPhase(&all.columns);
    all.columns.push_back({"phase_unanswered", ColumnOf::kUnanswered, "/count"});
    AddPaths(ColumnOf::kRun, {"/error/sentence"}, &all.columns);
    AddOrigin(&all.columns);
    return all;
  }();
  return table;
}

const RowTable& SeriesRows() {
  static const RowTable table = [] {
    RowTable all{"series", RowTable::Per::kSecond, {}};
    AddIdentity(&all.columns);
    AddSecond(&all.columns);
    return all;
  }();
  return table;
}

const RowTable& CauseRows() {
  static const RowTable table = [] {
    RowTable all{"causes", RowTable::Per::kCause, {}};
    AddIdentity(&all.columns);
    all.columns.push_back({"cause", ColumnOf::kCause, "/name"});
    AddPaths(ColumnOf::kCause, {"/ground", "/operations"}, &all.columns);
    AddMoved(&all.columns);
    AddMovedByKind(&all.columns);
    AddOfPhase("", {"count", "user_bytes_written"}, &all.columns);
    AddPaths(ColumnOf::kDocument, {"/started", "/label", "/cell/name", "/cell/round"},
             &all.columns);
    return all;
  }();
  return table;
}

void ForEachRow(const RowTable& table, const json& document, const RowUse& use) {
  std::vector<PreparedColumn> columns;
  columns.reserve(table.columns.size());
  for (const RowColumn& c : table.columns) columns.push_back({c.of, json::json_pointer(c.at)});
  const json none;
  size_t run_index = 0;
  for (const json& run : document.at("runs")) {
    if (table.per == RowTable::Per::kRun) {
      UseRow(columns, {document, run, none, run_index++}, use);
      continue;
    }
    size_t phase_index = 0;
    for (const json& phase : run.at("phases")) {
      UsePhase(table.per, columns, {document, run, phase, run_index, phase_index++}, use);
    }
    if (phase_index == 0) UsePhase(table.per, columns, {document, run, none, run_index}, use);
    ++run_index;
  }
}

json RowTablesJson() {
  json tables;
  for (const RowTable* table : {&RunRows(), &ResultRows(), &SeriesRows(), &CauseRows()}) {
    json& columns = tables[table->name] = json::array();
    for (const RowColumn& column : table->columns) {
      const auto* of = std::find_if(std::begin(kOfNames), std::end(kOfNames),
                                    [&](const auto& name) { return name.first == column.of; });
      columns.push_back({{"name", column.name}, {"of", of->second}, {"at", column.at}});
    }
  }
  return tables;
}

}  // namespace testbed
