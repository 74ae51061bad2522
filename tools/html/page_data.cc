#include "tools/html/page_data.h"

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>
#include <utility>

#include "device/error.h"
#include "tools/database/database_rows.h"
#include "tools/live/seconds.h"
#include "tools/output/json_text.h"
#include "tools/report/figures.h"
#include "tools/report/report.h"
#include "tools/report/run_tables.h"
#include "workloads/measure/histogram.h"

namespace testbed {
namespace {

using nlohmann::json;

// Joined seconds keep the largest value of these figures. Figures in neither list are added up.
const std::set<std::string> kLargest = {"p50_us", "p99_us", "max_us", "resident_bytes"};
// Joined seconds keep the last value of these figures. The page stacks the parts of the memory:
// their largest values would be of different moments, and together more than --ram.
const std::set<std::string> kLast = {"end_seconds", "process_memory_bytes", "page_cache_bytes",
                                     "kernel_memory_bytes"};

double NumberOf(const json& object, const std::string& name) {
  const auto at = object.find(name);
  return at != object.end() && at->is_number() ? at->get<double>() : NAN;
}

// Returns the figure of a second; null when it is not known, or is a percentile that too few
// operations of the second tell.
json FigureOfSecond(const json& second, const std::string& name) {
  const auto at = second.find(name);
  if (at == second.end()) return json();
  const double share = name == "p50_us" ? 0.5 : name == "p99_us" ? 0.99 : 0;
  if (share > 0 && !TellsPercentile(NumberOf(second, "operations"), share)) return json();
  return *at;
}

// Returns the value of a figure for the seconds [from, to) of the series, which are joined; null
// when it is not known.
json Joined(const json& series, const std::string& name, size_t from, size_t to) {
  if (to - from == 1 || kLast.contains(name)) return FigureOfSecond(series[to - 1], name);
  const bool largest = kLargest.contains(name);
  double all = largest ? NAN : 0;
  for (size_t i = from; i < to; ++i) {
    const json figure = FigureOfSecond(series[i], name);
    const double value = figure.is_number() ? figure.get<double>() : NAN;
    all = largest ? std::fmax(all, value) : all + value;  // fmax leaves out what is not known
  }
  return std::isfinite(all) ? json(all) : json();
}

// Each second has a list of objects with names, such as "by_operation". Returns one column for each
// name: the objects' `figure`. Joins `step` seconds into one, which has their largest value with
// `largest`, and otherwise their sum.
json NamedColumns(const json& series, const char* list, const char* figure, bool largest,
                  size_t step) {
  std::map<std::string, std::vector<double>> columns;
  const size_t length = (series.size() + step - 1) / step;
  for (size_t i = 0; i < series.size(); ++i) {
    const auto entries = series[i].find(list);
    if (entries == series[i].end() || !entries->is_array()) continue;
    for (const json& entry : *entries) {
      if (!entry.is_object() || !entry.contains("name") || !entry["name"].is_string()) continue;
      std::vector<double>& column = columns[entry["name"]];
      column.resize(length);
      const double value = NumberOf(entry, figure);
      if (!std::isfinite(value)) continue;
      column[i / step] = largest ? std::max(column[i / step], value) : column[i / step] + value;
    }
  }
  json result = json::object();
  for (const auto& [name, column] : columns) {
    const bool used = std::any_of(column.begin(), column.end(), [](double v) { return v != 0; });
    if (used) result[name] = column;
  }
  return result;
}

// Returns the stalls of a phase: when they began and ended in seconds, the lowest rate, and the
// slowest operation in microseconds.
json StallsJson(const json& phase) {
  json stalls = json::array();
  for (const Stall& stall : StallsOf(SecondsOf(phase))) {
    stalls.push_back({{"from", stall.from},
                      {"to", stall.to},
                      {"rate", FiniteJson(stall.rate)},
                      {"worst", FiniteJson(stall.max_us)}});
  }
  return stalls;
}

// Returns the names of the figures that any second has. The first may lack some: the memory of a
// run of several tasks is that of task 0, which may begin after the others.
std::set<std::string> FiguresOf(const json& series) {
  std::set<std::string> names;
  for (const json& second : series) {
    if (!second.is_object()) continue;
    for (const auto& [name, value] : second.items()) {
      if (!value.is_structured()) names.insert(name);
    }
  }
  return names;
}

json SeriesColumns(const json& series) {
  const size_t step = (series.size() + PageData::kMostSeconds - 1) / PageData::kMostSeconds;
  json columns = {{"joined", std::max<size_t>(step, 1)}};
  if (series.empty() || !series[0].is_object()) return columns;
  for (const std::string& name : FiguresOf(series)) {
    json column = json::array();
    for (size_t i = 0; i < series.size(); i += step) {
      column.push_back(Joined(series, name, i, std::min(i + step, series.size())));
    }
    columns[name] = std::move(column);
  }
  columns["count_by_operation"] = NamedColumns(series, "by_operation", "count", false, step);
  columns["background_read_bytes"] = NamedColumns(series, "background", "read_bytes", false, step);
  columns["background_write_bytes"] =
      NamedColumns(series, "background", "write_bytes", false, step);
  columns["max_us_by_operation"] = NamedColumns(series, "by_operation", "max_us", true, step);
  return columns;
}

// Returns the latency in microseconds that stands for a bucket of a histogram: the middle of the
// bucket, as in the percentiles of a document. `least` is the bucket's least latency in
// nanoseconds.
double BucketUs(const json& least) {
  if (!least.is_number_unsigned()) return least.get<double>() / 1000;  // a damaged document
  const size_t bucket = Histogram::BucketOf(least.get<uint64_t>());
  return static_cast<double>(Histogram::Middle(bucket)) / 1000;
}

// Returns points of the latency's distribution, denser toward its end, about 33 for each factor of
// ten in 1 - share: pairs of the share of operations that were not slower, and microseconds. The
// last point is the slowest operation.
json LatencyCurve(const json& buckets, double max_us) {
  double total = 0;
  for (const json& bucket : buckets) total += bucket.at(1).get<double>();
  json curve = json::array();
  double below = 0, last = -1;
  for (const json& bucket : buckets) {
    below += bucket.at(1).get<double>();
    if (below >= total) break;
    // HdrHistogram's axis: equal steps of the logarithm of 1 / (1 - share).
    const double at = std::log10(total / (total - below));
    if (at - last < 0.03) continue;
    last = at;
    curve.push_back({below / total, BucketUs(bucket.at(0))});
  }
  if (total > 0) curve.push_back({1, max_us});
  return curve;
}

// Returns the points of LatencyCurve from a document that has percentiles, but no histogram.
json PercentilesCurve(const json& us, double count) {
  json curve = json::array();
  for (const auto& [name, share] :
       {std::pair("p50", 0.5), std::pair("p90", 0.9), std::pair("p99", 0.99),
        std::pair("p999", 0.999), std::pair("p9999", 0.9999)}) {
    if (us.contains(name) && count * (1 - share) >= 1) curve.push_back({share, us.at(name)});
  }
  curve.push_back({1, us.at("max")});
  return curve;
}

// Puts the curve of an operation's latency in the place of its histograms. In an open loop, that is
// the latency from the intended start.
void PutLatencyCurve(json* operation) {
  const auto curve = [operation](const char* latency, const char* histogram) {
    const json& us = operation->at(latency);
    // Latencies from the intended start have a count of their own.
    const json& count = us.contains("count") ? us.at("count") : operation->at("count");
    return operation->contains(histogram)
               ? LatencyCurve(operation->at(histogram), us.at("max").get<double>())
               : PercentilesCurve(us, count.get<double>());
  };
  json made;
  if (operation->contains("latency_from_intended_us")) {
    made = curve("latency_from_intended_us", "latency_from_intended_ns_histogram");
  } else if (operation->contains("latency_ns_histogram")) {
    made = curve("latency_us", "latency_ns_histogram");
  }
  if (!made.is_null()) (*operation)["latency_curve"] = std::move(made);
  operation->erase("latency_ns_histogram");
  operation->erase("latency_from_intended_ns_histogram");
}

// Returns the lines of a part of the report, without the sign of warnings.
json Lines(const std::string& text) {
  json lines = json::array();
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line.starts_with("! ") ? line.substr(2) : line);
  }
  return lines;
}

std::string Compressed(const std::string& text) {
  uLongf size = compressBound(text.size());
  std::string compressed(size, '\0');
  const int result = compress2(reinterpret_cast<Bytef*>(compressed.data()), &size,
                               reinterpret_cast<const Bytef*>(text.data()), text.size(), 6);
  if (result != Z_OK) throw Error::NoMemory("for the page", "give fewer results");
  compressed.resize(size);
  return compressed;
}

std::string Base64(const std::string& bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t n = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t j = 0; j < 3; ++j) {
      group = group << 8 | (j < n ? static_cast<uint8_t>(bytes[i + j]) : 0);
    }
    for (size_t j = 0; j < 4; ++j) {
      text += j <= n ? kDigits[group >> (18 - 6 * j) & 63] : '=';
    }
  }
  return text;
}

}  // namespace

json TextsOfTable(const Table& table) {
  return {{"title", table.title()}, {"columns", table.columns()}, {"rows", table.rows()}};
}

json PageData::Share(const json& part) {
  const auto [at, added] = shared_index_.emplace(JsonText(part), shared_.size());
  if (added) shared_.push_back(part);
  return at->second;
}

void PageData::ShareFacts(json* document) {
  for (const char* part : {"machine", "device"}) {
    if (document->contains(part)) (*document)[part] = Share((*document)[part]);
  }
}

json PageData::Entry(const std::string& source, json document) {
  document["doubts"] = Lines(Doubts(document));
  document["remarks"] = Lines(Remarks(document));
  json tables = json::array();
  for (const Table& table : TablesWithoutPlots(document)) tables.push_back(TextsOfTable(table));
  document["tables"] = std::move(tables);
  if (LoaderOf(document) != "insert") document.erase("data");
  ShareFacts(&document);
  for (json& run : document.at("runs")) {
    if (run.contains("engine") && run["engine"].contains("effective")) {
      run["engine"]["effective"] = Share(run["engine"]["effective"]);
    }
    run.erase("population");
    for (json& phase : run.at("phases")) {
      if (phase.value("kind", "") == "tune") {
        phase = {{"name", phase.at("name")}, {"kind", "tune"}};
        continue;
      }
      if (phase.contains("series")) {
        json stalls = StallsJson(phase);
        phase["series"] = SeriesColumns(phase["series"]);
        phase["series"]["stalls"] = std::move(stalls);
      }
      if (!phase.contains("operations")) continue;
      for (json& operation : phase["operations"]) PutLatencyCurve(&operation);
    }
  }
  return {{"source", source}, {"document", std::move(document)}};
}

void PageData::AddDocument(const std::string& source, json document) {
  documents_.push_back(Entry(source, std::move(document)));
}

void PageData::AddComparison(json comparison) {
  ShareFacts(&comparison);
  comparisons_.push_back(std::move(comparison));
}

size_t PageData::PackDocument(const std::string& source, json document) {
  packed_.push_back(Base64(Compressed(JsonText(Entry(source, std::move(document))))));
  packed_bytes_ += packed_.back().size();
  return packed_.size() - 1;
}

json PageData::Json() const {
  return {{"schema", "testbed-page/1"},  {"testbed", TESTBED_VERSION},
          {"shared", shared_},           {"documents", documents_},
          {"experiments", experiments_}, {"comparisons", comparisons_},
          {"compared", compared_},       {"packed", packed_}};
}

}  // namespace testbed
