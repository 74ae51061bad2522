#include "workloads/sysbench/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "device/error.h"
#include "device/os/signal_guard.h"
#include "engines/extra_options.h"

namespace testbed::sysbench {
namespace {

constexpr uint64_t kGroup = 100'000'000'000;  // a group has 11 digits
constexpr size_t kGroupDigits = 11;
constexpr uint32_t kMostRows = 2'000'000'000;  // rows of a table; ids are INTEGER
// sysbench's defaults of --rand-spec-iter, -pct, -res, --rand-pareto-h and --rand-zipfian-exp.
constexpr int kSpecialIterations = 12;
constexpr double kSpecialPct = 1, kSpecialRes = 75, kParetoH = 0.2, kZipfianExponent = 0.8;

// Writes groups of digits with dashes between them, the first one `first`, then spaces.
void PutGroups(uint64_t first, size_t groups, size_t bytes, char* to) {
  std::memset(to, ' ', bytes);
  for (size_t g = 0; g < groups; ++g) {
    uint64_t digits = g == 0 ? first : Mix64(first + g * kGroup) % kGroup;
    char* const group = to + g * (kGroupDigits + 1);
    for (size_t i = kGroupDigits; i-- > 0; digits /= 10) {
      group[i] = static_cast<char>('0' + digits % 10);
    }
    if (g + 1 < groups) group[kGroupDigits] = '-';
  }
}

// Returns the number in the first group of digits; UINT64_MAX when it is no number.
uint64_t FirstGroup(std::string_view text) {
  uint64_t number = 0;
  for (const char c : text.substr(0, kGroupDigits)) {
    if (c < '0' || c > '9') return UINT64_MAX;
    number = number * 10 + static_cast<uint64_t>(c - '0');
  }
  return number;
}

constexpr std::string_view kWholeKey = "every id has a row";

std::string TableName(uint32_t table) { return fmt::format("sbtest{}", table + 1); }

}  // namespace

Settings Settings::From(const std::string& workload, const Dataset& dataset,
                        const WorkloadOptions& options) {
  const ExtraOptions given(workload, options.extra, "--workload-option");
  Settings settings;
  if (dataset.rows() > kMostRows) {
    throw Error(Error::kUsage, fmt::format("--rows {} is more than a table of sysbench has here, "
                                           "which is {}",
                                           dataset.rows(), kMostRows));
  }
  settings.table_size = static_cast<uint32_t>(dataset.rows());
  settings.tables = static_cast<uint32_t>(given.Integer("tables", 1, 1, 1000));
  const std::vector<std::string> types = {"special", "uniform", "gaussian", "pareto", "zipfian"};
  const std::string type = given.Choice("rand_type", "special", types);
  settings.rand_type =
      static_cast<RandType>(std::find(types.begin(), types.end(), type) - types.begin());
  settings.range_size = static_cast<uint32_t>(given.Integer("range_size", 100, 1, 1000000));
  settings.point_selects = static_cast<uint32_t>(given.Integer("point_selects", 10, 0, 10000));
  settings.skip_trx = given.Flag("skip_trx", false);
  settings.check = given.Flag("check", true);
  settings.seed = options.seed;
  return settings;
}

std::vector<std::pair<std::string, std::string>> ContentOptions() {
  return {{"tables", "tables, each of --rows rows (1)"}};
}

std::vector<std::pair<std::string, std::string>> RunOptions() {
  return {{"rand_type", "special, uniform, gaussian, pareto, zipfian: how ids are drawn (special)"},
          {"range_size", "ids of a range (100)"},
          {"point_selects", "point selects of a transaction of several statements (10)"},
          {"skip_trx", "on: each statement is a transaction of its own (off)"},
          {"check", "on: the run reads and compares rows and index after the phase (on)"}};
}

Ids::Ids(const Settings& settings, uint64_t seed)
    : type_(settings.rand_type),
      size_(settings.table_size),
      tables_(settings.tables),
      random_(seed),
      zipfian_(size_, kZipfianExponent) {}

// Returns a number from 0 to size_ - 1: a quarter of them by a bell curve over all, the others
// evenly over the upper three quarters of the middle hundredth.
double Ids::Special() {
  const double t = size_ - 1;
  const double unit = random_.Unit();
  if (unit * (100 / (100 - kSpecialRes)) < 1) {
    double sum = 0;
    for (int i = 0; i < kSpecialIterations; ++i) sum += random_.Unit();
    return sum * t / kSpecialIterations;
  }
  return unit * (t * kSpecialPct / 100 + 1) + t / 2 - t * kSpecialPct / 200;
}

uint32_t Ids::Next() {
  double at = 0;
  switch (type_) {
    case RandType::kSpecial:
      at = Special();
      break;
    case RandType::kUniform:
      return 1 + static_cast<uint32_t>(random_.Below(size_));
    case RandType::kGaussian:
      for (int i = 0; i < kSpecialIterations; ++i) at += random_.Unit() * size_;
      at /= kSpecialIterations;
      break;
    case RandType::kPareto:
      at = size_ * std::pow(random_.Unit(), std::log(kParetoH) / std::log(1 - kParetoH));
      break;
    case RandType::kZipfian:
      return 1 + static_cast<uint32_t>(zipfian_(random_));
  }
  return 1 + std::min(static_cast<uint32_t>(at), size_ - 1);
}

void PutBigEndian(uint32_t number, char* to) {
  for (int i = 3; i >= 0; --i, number >>= 8) to[i] = static_cast<char>(number);
}

uint32_t BigEndian(std::string_view bytes) {
  uint32_t number = 0;
  for (size_t i = 0; i < 4; ++i) number = number << 8 | static_cast<uint8_t>(bytes[i]);
  return number;
}

void PutC(uint32_t id, uint64_t random, char* to) {
  const uint64_t first = Mix64(random) % (kGroup / 1000) * 1000 + Mix64(id) % 1000;
  PutGroups(first, 10, kCBytes, to);
}

void PutPad(uint64_t random, char* to) { PutGroups(Mix64(random) % kGroup, 5, kPadBytes, to); }

void PutEntry(uint32_t k, uint32_t id, char* to) {
  PutBigEndian(k, to);
  PutBigEndian(id, to + kKBytes);
}

bool CheckRow(uint32_t id, std::string_view row) {
  if (row.size() != kRowBytes) return false;
  const std::string_view c = row.substr(kKBytes, kCBytes), pad = row.substr(kKBytes + kCBytes);
  const uint64_t first_c = FirstGroup(c), first_pad = FirstGroup(pad);
  if (first_c == UINT64_MAX || first_pad == UINT64_MAX || first_c % 1000 != Mix64(id) % 1000) {
    return false;
  }
  char expected[kCBytes + kPadBytes];
  PutGroups(first_c, 10, kCBytes, expected);
  PutGroups(first_pad, 5, kPadBytes, expected + kCBytes);
  return row.substr(kKBytes) == std::string_view(expected, sizeof expected);
}

void Tables::Open(Engine& engine, uint32_t tables) {
  engine_keeps_indexes = engine.KeepsIndexes();
  record = engine.OpenTable("sbtest");
  all.clear();
  for (uint32_t t = 0; t < tables; ++t) {
    const std::string name = TableName(t);
    Pair pair{engine.OpenTable(name), 0};
    pair.index = engine_keeps_indexes ? engine.OpenIndex(name + "_k", pair.rows, {{0, kKBytes}})
                                      : engine.OpenTable(name + "_k");
    all.push_back(pair);
  }
}

void Tables::RecordWhole(Session& session, bool whole) const {
  if (whole) {
    session.Put(record, kWholeKey, "yes");
  } else if (Whole(session)) {
    session.Erase(record, kWholeKey);
  }
}

bool Tables::Whole(Session& session) const {
  std::string_view value;
  return session.Get(record, kWholeKey, &value);
}

std::string Tables::Check(Engine& engine, uint32_t table_size, uint64_t* rows) const {
  const std::unique_ptr<Session> session = engine.NewSession();
  const bool whole = Whole(*session);
  for (uint32_t t = 0; t < all.size(); ++t) {
    // The sum over hashes of entries is equal for equal sets of them, in whatever order.
    uint64_t in_table = 0, in_index = 0, table_sum = 0, index_sum = 0;
    uint64_t of_load = 0;  // rows with an id of the load
    const std::unique_ptr<Cursor> row = session->NewCursor(all[t].rows);
    for (bool on = row->First(); on; on = row->Next(), ++in_table) {
      if (StopRequested()) return {};
      const uint32_t id = BigEndian(row->key());
      const std::string_view value = row->value();
      if (!CheckRow(id, value)) {
        return fmt::format("{}: the row of id {} is not one that it can have", TableName(t), id);
      }
      table_sum += Mix64(uint64_t{BigEndian(value)} << 32 | id);
      of_load += id <= table_size;
    }
    if (whole && of_load != table_size) {
      return fmt::format("{}: {} of its {} loaded ids have a row, and none was deleted",
                         TableName(t), of_load, table_size);
    }
    const std::unique_ptr<Cursor> entry = session->NewCursor(all[t].index);
    for (bool on = entry->First(); on; on = entry->Next(), ++in_index) {
      if (StopRequested()) return {};
      const std::string_view key = entry->key();
      index_sum += Mix64(uint64_t{BigEndian(key)} << 32 | BigEndian(key.substr(kKBytes)));
    }
    if (in_table != in_index || table_sum != index_sum) {
      return fmt::format("{}: its index has {} entries that are not those of its {} rows",
                         TableName(t), in_index, in_table);
    }
    *rows += in_table;
  }
  return {};
}

}  // namespace testbed::sysbench
