#include "tools/report/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/option_values.h"
#include "tools/output/json_text.h"
#include "tools/output/table.h"

namespace testbed {
namespace {

using nlohmann::json;

// Returns whether the number can be shown as a count; a damaged document may have any.
bool IsCount(double n) { return n >= 0 && n < 0x1p63; }

constexpr char kOtherFile[] = "other-file";  // FileKindName of a file that is not the database's

// Sums the bytes that were written to files of a kind by the run's causes and, with `others`, by
// threads outside the run.
double KindBytes(const json& phase, const std::string& kind, bool others) {
  const json& account = phase.at("account");
  double sum = 0;
  for (const json& cause : account.at("causes")) {
    sum += Number(cause, "/kernel_by_kind/" + kind + "/write_bytes", 0);
  }
  const json none = json::array();
  for (const json& f : account.value("other_threads", none)) {
    if (others && f.value("kind", "") == kind) sum += Number(f, "/kernel/write_bytes", 0);
  }
  return sum;
}

}  // namespace

double Number(const json& j, const std::string& pointer, double otherwise) {
  const json::json_pointer at(pointer);
  return j.contains(at) && j[at].is_number() ? j[at].get<double>() : otherwise;
}

std::string FigureText(const json& j, const std::string& pointer) {
  const json::json_pointer at(pointer);
  if (!j.contains(at)) return "-";
  return OneLine(j[at].is_string() ? j[at].get<std::string>() : JsonText(j[at]));
}

std::string Size(double bytes) {
  return IsCount(bytes) ? ShortSize(static_cast<uint64_t>(bytes)) : "-";
}

std::string Whole(double n) { return IsCount(n) ? Count(static_cast<uint64_t>(n)) : "-"; }

std::string ClientsText(const json& run, const json& phase) {
  const std::string threads = fmt::format("{} thr", run.at("threads").get<int>());
  const auto tasks = phase.find("tasks");
  if (tasks == phase.end() || !tasks->is_array() || tasks->size() < 2) return threads;
  return fmt::format("{} x {} tasks", threads, tasks->size());
}

std::string WhichRun(const json& run) {
  const auto ordinal = [&run](const char* prefix, const char* pointer) {
    const double number = Number(run, pointer, 0);
    return number > 0 ? prefix + Whole(number + 1) : std::string();
  };
  return ordinal(" load ", "/load") + ordinal(" #", "/repeat");
}

std::string RowName(const json& run, const json& phase, const std::string& operation) {
  std::string name = phase.at("name").get<std::string>();
  if (operation != name && !operation.empty()) name += " " + operation;
  name += ", " + ClientsText(run, phase);
  return OneLine(name + WhichRun(run));
}

bool TellsPercentile(double operations, double share) {
  constexpr double kLeastAbove = 10;
  return operations * (1 - share) >= kLeastAbove;
}

double ToldOperations(const json& entry, const std::string& latency) {
  return Number(entry, "/" + latency + "/count", Number(entry, "/count", 0));
}

double ChargedOperations(const json& phase) {
  double n = Number(phase, "/count");
  const json none = json::array();
  for (const json& op : phase.value("unanswered", none)) n += Number(op, "/count", 0);
  return n;
}

double PercentileShare(const std::string& metric) {
  const std::string name = metric.substr(metric.find_last_of("._") + 1);
  return name == "p50" ? 0.5 : name == "p99" ? 0.99 : name == "p999" ? 0.999 : 0;
}

const json* Cause(const json& phase, const std::string& name) {
  for (const json& cause : phase.at("account").at("causes")) {
    if (cause.at("name") == name) return &cause;
  }
  return nullptr;
}

bool IsOfOtherProgram(const json& thread) { return thread.value("kind", "") == kOtherFile; }

DeviceIo OtherProgramsIo(const json& account) {
  DeviceIo io;
  const json none = json::array();
  for (const json& f : account.value("other_threads", none)) {
    if (!IsOfOtherProgram(f)) continue;
    io.reads += Number(f, "/kernel/reads", 0);
    io.read_bytes += Number(f, "/kernel/read_bytes", 0);
    io.writes += Number(f, "/kernel/writes", 0);
    io.write_bytes += Number(f, "/kernel/write_bytes", 0);
  }
  return io;
}

double PhaseDataBytes(const json& phase) {
  return Number(phase, "/database_bytes") - Number(phase, "/log_file_bytes", 0);
}

DeviceIo OwnDeviceIo(const json& account) {
  const DeviceIo other = OtherProgramsIo(account);
  // The device's count and the kernel account are read one after the other, so their difference may
  // be below 0 by a request.
  const auto own = [&](const char* figure, double others) {
    const double all = Number(account, std::string("/device/") + figure);
    return std::isnan(all) ? all : std::max(0.0, all - others);
  };
  return {.reads = own("reads", other.reads),
          .read_bytes = own("read_bytes", other.read_bytes),
          .writes = own("writes", other.writes),
          .write_bytes = own("write_bytes", other.write_bytes)};
}

json OwnDeviceJson(const json& account) {
  if (!account.contains("device")) return {};
  const DeviceIo own = OwnDeviceIo(account);
  const auto whole = [](double n) { return static_cast<uint64_t>(n); };
  return {{"reads", whole(own.reads)},
          {"read_bytes", whole(own.read_bytes)},
          {"writes", whole(own.writes)},
          {"write_bytes", whole(own.write_bytes)}};
}

double EngineMisses(const json& account) {
  const double asks = Number(account, "/engine/block_requests");
  return std::isnan(asks) ? Number(account, "/engine/block_reads")
                          : asks - Number(account, "/engine/block_hits");
}

std::vector<WriteClass> WriteClasses(const json& phase) {
  std::vector<WriteClass> classes;
  auto add = [&classes](const std::string& name, double bytes) {
    if (bytes != 0) classes.push_back({name, bytes});
  };
  const double log = KindBytes(phase, "log", true);
  const double counted = Number(phase, "/account/engine/log_payload_bytes");
  if (std::isnan(counted)) {
    add("log", log);  // the engine does not count its records
  } else {
    const double payload = std::min(log, counted);
    add("log records", payload);
    add("log framing, padding and rewrites", log - payload);
  }
  add("binary log", KindBytes(phase, "binlog", true));
  double data = KindBytes(phase, "data", true);
  for (const json& cause : phase.at("account").at("causes")) {
    const double bytes = Number(cause, "/kernel_by_kind/data/write_bytes", 0);
    add("data by " + cause.at("name").get<std::string>(), bytes);
    data -= bytes;
  }
  add("data by kernel threads", data);
  add("torn-page protection", KindBytes(phase, "doublewrite", true));
  add("engine metadata", KindBytes(phase, "meta", true));
  add("temporary files", KindBytes(phase, "temp", true));
  add("other files of the run", KindBytes(phase, kOtherFile, false));
  add("file system journal", KindBytes(phase, "fs-journal", true));
  add("file system metadata", KindBytes(phase, "fs-metadata", true));
  return classes;
}

}  // namespace testbed
