#include "tools/trace/trace_import.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <istream>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "device/error.h"
#include "tools/trace/csv_line.h"
#include "tools/trace/rocksdb_trace.h"
#include "tools/trace/trace_builder.h"
#include "workloads/dataset.h"
#include "workloads/trace/trace_client.h"
#include "workloads/trace/trace_file.h"
#include "workloads/trace/trace_writer.h"

namespace testbed {
namespace {

enum Kind : uint8_t { kRead, kUpdate, kErase };
const std::vector<std::string> kKinds = {"point-read", "update", "erase"};

// The kinds of the operations, by their names in all formats. Operations of memcached that change a
// value in place (append, incr) count as updates.
const std::map<std::string, Kind, std::less<>> kOperations = {
    {"get", kRead},      {"gets", kRead},      {"read", kRead},      {"point-read", kRead},
    {"set", kUpdate},    {"put", kUpdate},     {"update", kUpdate},  {"insert", kUpdate},
    {"write", kUpdate},  {"add", kUpdate},     {"replace", kUpdate}, {"cas", kUpdate},
    {"append", kUpdate}, {"prepend", kUpdate}, {"incr", kUpdate},    {"decr", kUpdate},
    {"delete", kErase},  {"erase", kErase},    {"remove", kErase}};

struct Line {
  double seconds = 0;
  std::string_view key, client, operation = "get", table;
  std::optional<uint64_t> value_size;
};

class Importer {
 public:
  Importer(const ImportOptions& options, const std::string& to)
      : options_(options),
        builder_(options, to, options.format == ImportOptions::kTwitter ? "twitter" : "csv", kKinds,
                 options.clients) {}

  void Read(std::istream& in) {
    std::string text;
    std::vector<std::string_view> cells;
    if (options_.format == ImportOptions::kCsv) ReadHeader(in);
    while (std::getline(in, text)) {
      ++line_;
      if (!text.empty() && text.back() == '\r') text.pop_back();
      if (text.empty()) continue;
      if (!SplitCsvLine(&text, &cells)) Refuse("has a quote that does not end");
      Add(options_.format == ImportOptions::kTwitter ? Twitter(cells) : Csv(cells));
    }
    if (in.bad()) Refuse("cannot be read");
  }

  uint64_t Finish() {
    const uint64_t operations = builder_.Finish();
    if (operations == 0) Refuse("holds no operations");
    return operations;
  }

 private:
  [[noreturn]] void Refuse(const std::string& what) const {
    throw Error(Error::kUsage, fmt::format("{} line {}: {}", options_.from, line_, what));
  }
  template <typename Value>
  Value Parse(std::string_view text, const char* what) const {
    Value value{};
    const char* end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || at != end || !(value >= 0)) {
      Refuse(fmt::format("'{}' is no {}", std::string(text.substr(0, 40)), what));
    }
    return value;
  }

  Line Twitter(const std::vector<std::string_view>& cells) const {
    if (cells.size() != 7) {
      Refuse(fmt::format("has {} columns, not the 7 of Twitter's cache traces", cells.size()));
    }
    Line line{.seconds = Parse<double>(cells[0], "time in seconds"),
              .key = cells[1],
              .client = cells[4],
              .operation = cells[5],
              .table = {},
              .value_size = Parse<uint64_t>(cells[3], "size of a value")};
    // A get of a row that was not there has no size.
    if (line.value_size == 0 && line.operation.starts_with("get")) line.value_size.reset();
    return line;
  }

  void ReadHeader(std::istream& in) {
    static const std::vector<std::string_view> known = {"time",   "key",   "operation",
                                                        "client", "table", "value_size"};
    std::string text;
    std::getline(in, text);
    ++line_;
    if (!text.empty() && text.back() == '\r') text.pop_back();
    std::vector<std::string_view> cells;
    SplitCsvLine(&text, &cells);
    for (const std::string_view cell : cells) {
      columns_.push_back(
          static_cast<size_t>(std::find(known.begin(), known.end(), cell) - known.begin()));
    }
    if (std::find(columns_.begin(), columns_.end(), 1) == columns_.end()) {
      Refuse(
          "is no header with a column key; it names the columns, of which key, time (in seconds), "
          "operation, client, table and value_size are used");
    }
  }

  Line Csv(const std::vector<std::string_view>& cells) const {
    if (cells.size() != columns_.size()) {
      Refuse(fmt::format("has {} columns, and the header {}", cells.size(), columns_.size()));
    }
    Line line;
    for (size_t i = 0; i < cells.size(); ++i) {
      const std::string_view cell = cells[i];
      if (columns_[i] == 0) line.seconds = Parse<double>(cell, "time in seconds");
      if (columns_[i] == 1) line.key = cell;
      if (columns_[i] == 2) line.operation = cell;
      if (columns_[i] == 3) line.client = cell;
      if (columns_[i] == 4) line.table = cell;
      if (columns_[i] == 5 && !cell.empty()) {
        line.value_size = Parse<uint64_t>(cell, "size of a value");
      }
    }
    return line;
  }

  void Add(const Line& line) {
    const auto operation = kOperations.find(line.operation);
    if (operation == kOperations.end()) {
      Refuse(fmt::format("'{}' is no operation; get, set, delete and their like are",
                         std::string(line.operation.substr(0, 40))));
    }
    if (line.key.empty() || line.key.size() > kMostTraceKey) Refuse("its key is empty or too long");
    const uint64_t size = line.value_size.value_or(0);
    if (size > kMostTraceValue) Refuse("its value is too long");
    if (!(line.seconds < 1e15)) Refuse("its time is none");
    if (!first_seconds_) first_seconds_ = line.seconds;
    const double seconds = std::max(0.0, line.seconds - *first_seconds_);
    const auto start = static_cast<uint64_t>(std::llround(std::min(seconds, 1e9) * 1e9));
    // Lines of one time follow each other by a nanosecond: operations of different clients have an
    // order in a trace by their starts alone.
    ties_ = last_start_ == start ? ties_ + 1 : 0;
    last_start_ = start;
    const uint64_t hash = XXH3_64bits(line.client.data(), line.client.size());
    TraceClient& client = builder_.client(hash);
    const uint32_t table = builder_.TableOf(line.table.empty() ? kMainTable : line.table);
    const std::string_view key = builder_.KeyOf(line.key, &hash_);
    client.Begin(operation->second, start + ties_);
    if (operation->second == kRead) {
      client.Get(table, key,
                 line.value_size ? TraceAnswer{TraceAnswer::kFound, size} : TraceAnswer{});
    } else if (operation->second == kUpdate) {
      if (!line.value_size) Refuse("writes a value of unknown size; give a column value_size");
      client.Put(table, key, size);
    } else {
      client.Erase(table, key);
    }
    client.End();
    client.Rest();
  }

  const ImportOptions& options_;
  TraceBuilder builder_;
  std::vector<size_t> columns_;  // of a CSV file: which known column each is
  uint64_t line_ = 0;
  std::optional<double> first_seconds_;
  std::optional<uint64_t> last_start_;  // of the last line, by its time
  uint64_t ties_ = 0;                   // lines before it that had the same time
  std::string hash_;
};

}  // namespace

uint64_t ImportTrace(std::istream& in, const ImportOptions& options, const std::string& to) {
  if (options.format == ImportOptions::kRocksdb) return ImportRocksdbTrace(in, options, to);
  Importer importer(options, to);
  importer.Read(in);
  return importer.Finish();
}

uint64_t ScaleTrace(const std::string& from, double share, const std::string& to) {
  const TraceFile file(from);
  TraceFacts facts = file.facts();
  facts.operations = facts.last_ns = 0;
  facts.calls = {};
  TraceWriter writer(to);
  const auto most = static_cast<uint64_t>(share * 0x1p63) * 2;
  for (const uint32_t number : AllClients(file)) {
    TraceClient client(writer, number);
    TraceStream stream(file, {number});
    TraceOperation operation;
    while (stream.Next(&operation)) {
      const std::string_view key = operation.FirstKey();
      if (Mix64(XXH3_64bits(key.data(), key.size())) >= most) continue;
      client.Begin(operation.kind, operation.start_ns);
      client.Repeat(operation);
      client.End();
      client.Rest();
    }
    client.Finish();
    facts.operations += client.operations();
    facts.last_ns = std::max(facts.last_ns, client.last_ns());
    for (size_t k = 0; k < kTraceCalls; ++k) facts.calls[k] += client.calls()[k];
  }
  if (facts.operations == 0) file.Refuse("has no operation in so small a share of its keys");
  writer.Finish(facts);
  return facts.operations;
}

}  // namespace testbed
