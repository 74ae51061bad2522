#include "tools/trace/trace_import.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <istream>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/error.h"
#include "device/os/signal_guard.h"
#include "tools/output/table.h"
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
    while (NextLine(in, &text)) {
      if (text.empty()) continue;
      if (options_.format == ImportOptions::kTwitter) {
        Add(Twitter(text));
        continue;
      }
      Split(&text, &cells);
      Add(Csv(cells));
    }
  }

  uint64_t Finish() {
    const uint64_t operations = builder_.Finish();
    if (operations == 0) Refuse("holds no operations");
    return operations;
  }

 private:
  [[noreturn]] void Refuse(const std::string& what) const {
    const std::string line = line_ == 0 ? "" : fmt::format(" line {}:", line_);
    throw Error(Error::kUsage, fmt::format("{}{} {}", options_.from, line, what));
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

  // Reads the next line to *text, without its end. Returns false at the end of the input.
  bool NextLine(std::istream& in, std::string* text) {
    // A file of another kind may have no end of a line at all. A key takes 128 kB in its quotes.
    constexpr size_t kMostLine = 1 << 20;
    room_.resize(kMostLine + 1);
    in.getline(room_.data(), std::ssize(room_));
    const auto got = static_cast<size_t>(in.gcount());
    TraceBuilder::CheckStop();
    if (in.bad()) Refuse("cannot be read");
    if (got == 0) return false;
    ++line_;
    if (in.fail()) {
      Refuse(
          fmt::format("is longer than {} MB, which no line of such a trace is", kMostLine >> 20));
    }
    text->assign(room_.data(), in.eof() ? got : got - 1);  // an end of a line counts as read
    if (text->ends_with('\r')) text->pop_back();
    return true;
  }

  // Twitter's lines have no quotes, and a key may have commas: five columns stand behind it. The
  // column of its size tells such a key from a line of another format.
  Line Twitter(std::string_view text) const {
    const auto columns = 1 + static_cast<size_t>(std::count(text.begin(), text.end(), ','));
    const auto refuse = [&] {
      Refuse(
          fmt::format("has {}, not the 7 of Twitter's cache traces", Counted(columns, "column")));
    };
    if (columns < 7) refuse();
    std::array<std::string_view, 5> behind;  // key size, value size, client, operation, TTL
    for (size_t i = behind.size(); i-- > 0;) {
      const size_t comma = text.rfind(',');
      behind[i] = text.substr(comma + 1);
      text = text.substr(0, comma);
    }
    const size_t comma = text.find(',');
    const std::string_view key = text.substr(comma + 1);
    if (columns > 7 && key.size() != Parse<uint64_t>(behind[0], "size of a key")) refuse();
    Line line{.seconds = Parse<double>(text.substr(0, comma), "time in seconds"),
              .key = key,
              .client = behind[2],
              .operation = behind[3],
              .table = {},
              .value_size = Parse<uint64_t>(behind[1], "size of a value")};
    // A size of 0 in a get means that there was no row, so the size is not known.
    if (line.value_size == 0 && line.operation.starts_with("get")) line.value_size.reset();
    return line;
  }

  void Split(std::string* text, std::vector<std::string_view>* cells) const {
    if (SplitCsvLine(text, cells)) return;
    Refuse("has a quote that does not end in its line, or text behind it in its cell");
  }

  void ReadHeader(std::istream& in) {
    static const std::vector<std::string_view> known = {"time",   "key",   "operation",
                                                        "client", "table", "value_size"};
    std::string text;
    if (!NextLine(in, &text)) ++line_;  // an empty file is refused at its first line
    if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);  // the UTF-8 byte order mark
    std::vector<std::string_view> cells;
    Split(&text, &cells);
    for (const std::string_view cell : cells) {
      const auto column =
          static_cast<size_t>(std::find(known.begin(), known.end(), cell) - known.begin());
      if (column != known.size() && std::count(columns_.begin(), columns_.end(), column) != 0) {
        Refuse(fmt::format("names the column {} twice; give it one of these names", cell));
      }
      columns_.push_back(column);
    }
    if (std::find(columns_.begin(), columns_.end(), 1) == columns_.end()) {
      Refuse(
          "is no header with a column key; it names the columns, of which key, time (in seconds), "
          "operation, client, table and value_size are used");
    }
    TellUnused(cells, known.size());
  }

  // Reports the columns that are not used (`none` in columns_), and what is assumed in place of a
  // missing column: the user may have given that column another name.
  void TellUnused(const std::vector<std::string_view>& cells, size_t none) const {
    if (options_.unused == nullptr) return;
    std::vector<std::string> names;
    for (size_t i = 0; i < cells.size(); ++i) {
      if (columns_[i] == none) names.push_back(OneLine(std::string(cells[i].substr(0, 40))));
    }
    if (names.empty()) return;
    std::string& text = *options_.unused;
    text = fmt::format("columns that are not used: {}", fmt::join(names, ", "));
    if (std::count(columns_.begin(), columns_.end(), 0u) == 0) {
      text += "; without a column time all operations begin at once";
    }
    if (std::count(columns_.begin(), columns_.end(), 2u) == 0) {
      text += "; without a column operation all are gets";
    }
  }

  Line Csv(const std::vector<std::string_view>& cells) const {
    if (cells.size() != columns_.size()) {
      Refuse(fmt::format("has {}, and the header {}", Counted(cells.size(), "column"),
                         columns_.size()));
    }
    Line line;
    for (size_t i = 0; i < cells.size(); ++i) {
      const std::string_view cell = cells[i];
      if (columns_[i] == 0) line.seconds = Parse<double>(cell, "time") * options_.time_unit;
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

  // Returns the seconds from the first line's time to this line's. When this line's time is
  // earlier, returns 0.
  double SecondsOf(const Line& line) {
    constexpr double kMostSeconds = 1e9;  // thirty years
    if (!first_seconds_) first_seconds_ = line.seconds;
    const double seconds = line.seconds - *first_seconds_;
    const bool csv = options_.format == ImportOptions::kCsv;
    const char* const units =
        csv ? "give times in seconds, or their --time-unit: ms, us or ns" : "give times in seconds";
    if (!(line.seconds < 1e15)) Refuse(fmt::format("its time is too large; {}", units));
    if (seconds > kMostSeconds) {
      Refuse(fmt::format("its time is more than thirty years after that of the first line; {}",
                         units));
    }
    return std::max(0.0, seconds);
  }

  // Returns the start of the line's operation, in nanoseconds. Unless the line's time is earlier
  // than that of the line before, the start is at least a nanosecond after the one before: only the
  // starts order the operations of different clients in a trace.
  uint64_t StartOf(const Line& line) {
    const auto time_ns = static_cast<uint64_t>(std::llround(SecondsOf(line) * 1e9));
    const bool follows = last_time_ && *last_time_ <= time_ns;
    last_time_ = time_ns;
    last_start_ = follows ? std::max(time_ns, last_start_ + 1) : time_ns;
    return last_start_;
  }

  void Add(const Line& line) {
    const auto operation = kOperations.find(line.operation);
    if (operation == kOperations.end()) {
      Refuse(fmt::format("'{}' is no operation; get, set, delete and their like are",
                         std::string(line.operation.substr(0, 40))));
    }
    if (line.key.empty()) Refuse("its key is empty");
    if (line.key.size() > kMostTraceKey) Refuse("has " + TraceBuilder::LongKey(line.key.size()));
    const uint64_t size = line.value_size.value_or(0);
    if (size > kMostTraceValue) {
      Refuse(fmt::format("has a value of {}, and a trace holds values of {} at most",
                         Counted(size, "byte"), Count(kMostTraceValue)));
    }
    const uint64_t start = StartOf(line);
    const uint64_t hash = XXH3_64bits(line.client.data(), line.client.size());
    TraceClient& client = builder_.client(hash);
    const uint32_t table = builder_.TableOf(line.table.empty() ? kMainTable : line.table);
    const std::string_view key = builder_.KeyOf(line.key, &hash_);
    client.Begin(operation->second, start);
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
  std::vector<size_t> columns_;  // by column of a CSV file: the known column that it is
  uint64_t line_ = 0;
  std::vector<char> room_;  // memory for a line
  std::optional<double> first_seconds_;
  std::optional<uint64_t> last_time_;  // time of the last line, in nanoseconds
  uint64_t last_start_ = 0;            // start of that line's operation
  std::string hash_;
};

// The keys that a trace of fewer keys has: a share of them, chosen by their hashes.
class KeyShare {
 public:
  explicit KeyShare(double share) : most_(static_cast<uint64_t>(share * 0x1p63) * 2) {}

  // Returns whether the smaller trace has the operation. An operation of multi-gets alone is left
  // with the keys that the smaller trace has.
  bool Take(TraceOperation* operation) {
    const auto multi_get = [](const TraceCall& call) {
      return call.kind == TraceCallKind::kMultiGet;
    };
    const std::vector<TraceCall>& calls = operation->calls;
    if (operation->keys.empty() || !std::all_of(calls.begin(), calls.end(), multi_get)) {
      return Has(operation->FirstKey());
    }
    TakeKeys(operation);
    return !operation->calls.empty();
  }

 private:
  bool Has(std::string_view key) const {
    return Mix64(XXH3_64bits(key.data(), key.size())) < most_;
  }

  void TakeKeys(TraceOperation* operation) {
    keys_.clear();
    answers_.clear();
    for (TraceCall& call : operation->calls) {
      const size_t begin = call.first, end = begin + call.number, first = keys_.size();
      for (size_t i = begin; i < end; ++i) {
        if (!Has(operation->keys[i])) continue;
        keys_.push_back(operation->keys[i]);
        answers_.push_back(operation->answers[i]);
      }
      call.first = static_cast<uint32_t>(first);
      call.number = keys_.size() - first;
      call.key = call.number == 0 ? std::string_view() : keys_[first];
    }
    operation->keys.swap(keys_);
    operation->answers.swap(answers_);
    std::erase_if(operation->calls, [](const TraceCall& call) { return call.number == 0; });
  }

  const uint64_t most_;
  std::vector<std::string_view> keys_;  // the memory of an operation's keys, and of their answers
  std::vector<TraceAnswer> answers_;
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
  KeyShare keys(share);
  for (const uint32_t number : AllClients(file)) {
    TraceClient client(writer, number, TraceBlockBytes(facts.clients));
    TraceStream stream(file, {number});
    TraceOperation operation;
    while (stream.Next(&operation)) {
      if (StopRequested()) throw Stopped("before the whole trace was read", "the command");
      if (!operation.StandsAlone()) {
        file.Refuse(
            "has a transaction or a cursor that goes on from one operation to the next, of which a "
            "share of the keys may have one alone; it cannot be scaled");
      }
      if (!keys.Take(&operation)) continue;
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
