#include "tools/results/benchmark_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "device/error.h"
#include "tools/output/csv.h"
#include "tools/report/figures.h"

namespace testbed {
namespace {

using nlohmann::json;

// The rows with their columns by name.
class BenchmarkRows {
 public:
  explicit BenchmarkRows(const QueryAnswer& rows) : rows_(rows) {
    for (size_t c = 0; c < rows.columns.size(); ++c) columns_[rows.columns[c]] = c;
  }
  size_t size() const { return rows_.rows.size(); }
  const std::map<std::string, size_t>& columns() const { return columns_; }
  const json& At(size_t row, const std::string& column) const {
    static const json none;
    const auto found = columns_.find(column);
    return found == columns_.end() ? none : rows_.rows[row][found->second];
  }
  std::string Text(size_t row, const std::string& column) const {
    return CellText(At(row, column));
  }
  // Returns the quotient of two columns; null when it is not known.
  json Ratio(size_t row, const std::string& of, const std::string& to) const {
    const json &a = At(row, of), &b = At(row, to);
    if (!a.is_number() || !b.is_number() || b.get<double>() == 0) return {};
    return a.get<double>() / b.get<double>();
  }

  // Returns a percentile of a latency; null when too few operations tell it, as in the report.
  json Percentile(size_t row, const std::string& latency, const std::string& name) const {
    const json &own = At(row, latency + "_count"), &all = At(row, "count");
    const json& told = own.is_number() ? own : all;
    if (!told.is_number() || !TellsPercentile(told.get<double>(), PercentileShare(name))) return {};
    return At(row, latency + "_" + name);
  }

  // Returns the operations of the row's phase, with those that got no answer: what the requests and
  // the processor time of a phase are divided by. Null when they are unknown or none.
  json ChargedOfPhase(size_t row) const {
    const json &answered = At(row, "phase_count"), &others = At(row, "phase_unanswered");
    if (!answered.is_number()) return {};
    const double all = answered.get<double>() + (others.is_number() ? others.get<double>() : 0);
    return all > 0 ? json(all) : json();
  }

  // Returns a total of the row's phase per operation; null when it is unknown.
  json PerOperation(size_t row, const std::string& total) const {
    const json &value = At(row, total), operations = ChargedOfPhase(row);
    if (!value.is_number() || operations.is_null()) return {};
    return value.get<double>() / operations.get<double>();
  }

 private:
  const QueryAnswer& rows_;
  std::map<std::string, size_t> columns_;
};

using Place = std::tuple<std::string, std::string, int64_t>;  // document, run, index of the phase

Place PlaceOf(const BenchmarkRows& rows, size_t row) {
  const json& index = rows.At(row, "phase_index");
  return {rows.Text(row, "document"), rows.Text(row, "run"),
          index.is_number() ? index.get<int64_t>() : -1};
}

bool IsSettle(const BenchmarkRows& phases, size_t row) {
  return phases.Text(row, "kind") == "settle";
}

// What the device wrote in settles. A settle counts against the phase before it.
class SettledWrites {
 public:
  explicit SettledWrites(const BenchmarkRows& phases) {
    for (size_t r = 0; r < phases.size(); ++r) {
      if (IsSettle(phases, r)) bytes_[PlaceOf(phases, r)] = phases.At(r, "phase_own_write_bytes");
    }
  }

  // Returns the bytes that the device wrote, in the phase of the row and in the settle right behind
  // it, for each byte of keys and values that the user wrote; null when it is not known.
  json PerUserByte(const BenchmarkRows& rows, size_t row) const {
    const json& user = rows.At(row, "phase_user_bytes_written");
    const json& written = rows.At(row, "phase_own_write_bytes");
    if (!user.is_number() || user.get<double>() == 0 || !written.is_number()) return {};
    double bytes = written.get<double>();
    Place place = PlaceOf(rows, row);
    for (++std::get<2>(place); bytes_.contains(place); ++std::get<2>(place)) {
      const json& settled = bytes_.at(place);
      if (!settled.is_number()) return {};
      bytes += settled.get<double>();
    }
    return bytes / user.get<double>();
  }

 private:
  std::map<Place, json> bytes_;  // null where they were not counted
};

// Returns the number of each phase among those of its name in its run, from 1.
std::map<Place, size_t> PhaseNumbers(const BenchmarkRows& phases) {
  std::map<Place, size_t> numbers;
  std::map<std::tuple<std::string, std::string, std::string>, size_t> last;
  for (size_t r = 0; r < phases.size(); ++r) {
    if (IsSettle(phases, r)) continue;
    const std::tuple of_name(phases.Text(r, "document"), phases.Text(r, "run"),
                             phases.Text(r, "phase"));
    numbers[PlaceOf(phases, r)] = ++last[of_name];
  }
  return numbers;
}

// Returns the rows that are benchmarks: operations with a latency, of phases that load or measure
// and came to their end, in runs that did not fail.
std::vector<size_t> BenchmarkedRows(const BenchmarkRows& rows) {
  std::vector<size_t> benchmarked;
  for (size_t r = 0; r < rows.size(); ++r) {
    const std::string kind = rows.Text(r, "kind");
    const bool whole =
        rows.Text(r, "phase_partial") != "1" && rows.Text(r, "error_sentence").empty();
    if ((kind == "load" || kind == "measure") && whole &&
        rows.At(r, "latency_us_mean").is_number()) {
      benchmarked.push_back(r);
    }
  }
  return benchmarked;
}

// Returns the columns that have several values and tell benchmarks from each other: options, and
// what the runs were made of and on. The seed, which differs by load, and the workload, which the
// phase's name tells, are left out.
std::vector<std::string> VaryingColumns(const BenchmarkRows& rows,
                                        const std::vector<size_t>& benchmarked) {
  std::vector<std::string> varying;
  for (const auto& [column, place] : rows.columns()) {
    const bool origin = column == "host" || column == "engine_version" || column == "build_commit";
    const bool option =
        column.starts_with("option_") && column != "option_seed" && column != "option_workload";
    if (!origin && !option) continue;
    std::set<std::string> values;
    for (const size_t r : benchmarked) values.insert(rows.Text(r, column));
    if (values.size() > 1) varying.push_back(column);
  }
  return varying;
}

// Makes the names of the rows.
class BenchmarkNames {
 public:
  BenchmarkNames(const BenchmarkRows& rows, const BenchmarkRows& phases,
                 std::vector<std::string> varying)
      : rows_(rows), numbers_(PhaseNumbers(phases)), varying_(std::move(varying)) {}

  std::string Of(size_t row) const {
    const std::string phase = rows_.Text(row, "phase"), operation = rows_.Text(row, "operation");
    std::string name = rows_.Text(row, "engine") + "/" + phase;
    if (operation != phase) name += "/" + operation;
    name += "/threads:" + rows_.Text(row, "threads");
    const auto number = numbers_.find(PlaceOf(rows_, row));
    if (number != numbers_.end() && number->second > 1) {
      name += fmt::format("/phase:{}", number->second);
    }
    for (const std::string& column : varying_) {
      const size_t prefix = column.starts_with("option_") ? std::string("option_").size() : 0;
      name += "/" + column.substr(prefix) + ":" + rows_.Text(row, column);
    }
    return name;
  }

 private:
  const BenchmarkRows& rows_;
  const std::map<Place, size_t> numbers_;
  const std::vector<std::string> varying_;
};

json ContextOf(const BenchmarkRows& rows, size_t first) {
  json context = {
      {"date", rows.At(first, "started")},
      {"host_name", rows.Text(first, "host")},
      {"executable", "testbed"},
      {"num_cpus", rows.At(first, "machine_cpus")},
      {"caches", json::array()},
      {"library_version", rows.Text(first, "testbed")},
      {"library_build_type", rows.Text(first, "build_type") == "Debug" ? "debug" : "release"},
      {"json_schema_version", 1}};
  const std::string governor = rows.Text(first, "machine_cpu_governor");
  if (!governor.empty()) context["cpu_scaling_enabled"] = governor != "performance";
  if (const json& load = rows.At(first, "machine_load"); load.is_number()) {
    context["load_avg"] = json::array({load});
  }
  return context;
}

// Returns whether all operations of the row's phase are of the row's kind. A total of the phase,
// such as its processor time, is then that of the kind.
bool IsAllOfPhase(const BenchmarkRows& rows, size_t row) {
  return rows.At(row, "count") == rows.At(row, "phase_count");
}

json CountersOf(const BenchmarkRows& rows, size_t row, const SettledWrites& settled) {
  // Rows that an older version stored have only the number of the operations that were answered.
  const char* const charged =
      rows.At(row, "charged_operations").is_number() ? "charged_operations" : "count";
  constexpr char kIntended[] = "latency_from_intended_us";
  json counters = {{"p50_us", rows.Percentile(row, "latency_us", "p50")},
                   {"p99_us", rows.Percentile(row, "latency_us", "p99")},
                   {"p999_us", rows.Percentile(row, "latency_us", "p999")},
                   {"max_us", rows.At(row, "latency_us_max")},
                   {"p50_from_intended_us", rows.Percentile(row, kIntended, "p50")},
                   {"p99_from_intended_us", rows.Percentile(row, kIntended, "p99")},
                   {"p999_from_intended_us", rows.Percentile(row, kIntended, "p999")},
                   {"file_reads_per_op", rows.Ratio(row, "file_reads", charged)},
                   {"kernel_reads_per_op", rows.Ratio(row, "kernel_reads", charged)},
                   {"kernel_read_bytes_per_op", rows.Ratio(row, "kernel_read_bytes", charged)},
                   {"database_bytes", rows.At(row, "phase_database_bytes")}};
  const std::string of = IsAllOfPhase(rows, row) ? "" : "phase_";
  counters[of + "device_reads_per_op"] = rows.PerOperation(row, "phase_own_reads");
  counters[of + "device_read_bytes_per_op"] = rows.PerOperation(row, "phase_own_read_bytes");
  counters[of + "written_per_user_byte"] = settled.PerUserByte(rows, row);
  json known = json::object();
  for (const auto& [name, value] : counters.items()) {
    if (value.is_number()) known[name] = value;
  }
  return known;
}

json EntryOf(const BenchmarkRows& rows, size_t row, const SettledWrites& settled) {
  json entry = CountersOf(rows, row, settled);
  const json user = rows.PerOperation(row, "phase_cpu_user_seconds"),
             system = rows.PerOperation(row, "phase_cpu_system_seconds");
  entry["run_type"] = "iteration";
  entry["threads"] = rows.At(row, "threads");
  entry["iterations"] = rows.At(row, "count");
  entry["real_time"] = rows.At(row, "latency_us_mean");
  const bool known = user.is_number() && system.is_number(), all = IsAllOfPhase(rows, row);
  const double cpu = known ? (user.get<double>() + system.get<double>()) * 1e6 : 0.0;
  entry["cpu_time"] = all ? cpu : 0.0;
  if (known && !all) entry["phase_cpu_us_per_op"] = cpu;
  entry["time_unit"] = "us";
  if (const json& rate = rows.At(row, "rate"); rate.is_number()) entry["items_per_second"] = rate;
  if (const std::string label = rows.Text(row, "label"); !label.empty()) entry["label"] = label;
  return entry;
}

}  // namespace

json BenchmarkJson(const QueryAnswer& answer, const QueryAnswer& all_phases) {
  const BenchmarkRows rows(answer), phases(all_phases);
  const SettledWrites settled(phases);
  const std::vector<size_t> benchmarked = BenchmarkedRows(rows);
  if (benchmarked.empty()) {
    throw Error(Error::kUsage,
                "there is no operation with a latency in a phase that was finished, of a run that "
                "did not fail, among these results, so there is nothing to export as a benchmark; "
                "choose others by --where");
  }
  const BenchmarkNames names(rows, phases, VaryingColumns(rows, benchmarked));
  std::vector<std::string> order;                      // names, in the order of the rows
  std::map<std::string, std::vector<size_t>> by_name;  // rows
  for (const size_t r : benchmarked) {
    const std::string name = names.Of(r);
    if (by_name[name].empty()) order.push_back(name);
    by_name[name].push_back(r);
  }
  json benchmarks = json::array();
  for (size_t family = 0; family < order.size(); ++family) {
    const std::vector<size_t>& repetitions = by_name[order[family]];
    for (size_t i = 0; i < repetitions.size(); ++i) {
      json entry = EntryOf(rows, repetitions[i], settled);
      entry["name"] = entry["run_name"] = order[family];
      entry["family_index"] = family;
      entry["per_family_instance_index"] = 0;
      entry["repetitions"] = repetitions.size();
      entry["repetition_index"] = i;
      benchmarks.push_back(std::move(entry));
    }
  }
  return {{"context", ContextOf(rows, benchmarked.front())}, {"benchmarks", std::move(benchmarks)}};
}

}  // namespace testbed
