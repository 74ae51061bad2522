#include "workloads/insert_benchmark/read.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "device/error.h"
#include "workloads/insert_benchmark/insert.h"
#include "workloads/insert_benchmark/options.h"
#include "workloads/random.h"

namespace testbed {
namespace {

// The common part of both kinds of query: batches, and their end when the inserter is done.
class IbQuerier : public Client {
 public:
  IbQuerier(IbTables& tables, uint32_t client, Session& session, uint32_t rows, uint32_t query_op,
            uint64_t seed)
      : tables_(tables),
        schema_(tables.schema()),
        set_(tables.set(client)),
        client_(client),
        session_(session),
        state_(tables.client(client)),
        rows_(rows),
        // A step that is repeated, in this run or a later one, finds other rows in the table and
        // asks for other positions, since those of the step before it are cached.
        random_(Mix64(seed ^ Mix64(0x71756572 + client) ^ Mix64(state_.inserter.next))),
        room_(schema_.max_value_size()),
        query_op_(query_op) {}

  size_t OpOf(size_t) const override { return query_op_; }
  size_t Generate(size_t max) override {
    if (state_.inserter.done.load(std::memory_order_acquire)) return 0;
    // The inserter is checked once per kBatch queries, as in the original.
    max = std::min(max, kBatch);
    Prepare(max);
    return max;
  }

 protected:
  static constexpr size_t kBatch = 16;
  virtual void Prepare(size_t queries) = 0;
  void Count(size_t rows) {
    totals_.rows_read += rows;
    ++state_.querier.queries;
    state_.querier.rows += rows;
  }

  const IbTables& tables_;
  const IbSchema& schema_;
  const IbTables::Set& set_;
  const uint32_t client_;
  Session& session_;
  IbClientState& state_;
  const uint32_t rows_;  // rows or ids per query
  Random random_;
  std::vector<char> room_;  // memory for expected values

 private:
  const uint32_t query_op_;
};

// Reads entries of an index from a random position on. The index covers the query: no row is read.
class IbRangeQuerier : public IbQuerier {
 public:
  IbRangeQuerier(IbTables& tables, uint32_t client, Session& session, uint32_t rows,
                 uint32_t query_op, uint64_t seed)
      : IbQuerier(tables, client, session, rows, query_op, seed),
        indexes_(schema_.options().indexes),
        found_(rows),
        sample_(Mix64(seed) + client) {}

  void Execute(size_t i) override {
    const Query& query = queries_[i];
    std::unique_ptr<Cursor> cursor = session_.NewCursor(set_.indexes[query.index]);
    size_t count = 0;
    cursor->Expect(rows_);
    for (bool on = cursor->Seek({query.from, sizeof query.from}); on; on = cursor->Next()) {
      const std::string_view key = cursor->key();
      consume_(key);
      consume_(cursor->value());
      if (to_verify_) found_[count].Keep(key);
      if (++count == rows_) break;
    }
    if (to_verify_) count_ = count;
    Count(count);
  }

  bool Kept() const override { return count_ != 0; }

  // Checks that the entries are in order, each once, start at the requested position, and belong to
  // their rows, and that they are as many as the query asked for unless the index ends with them.
  bool Verify(size_t i) override {
    const Query& query = queries_[i];
    std::string_view last(query.from, sizeof query.from);
    for (size_t e = 0; e < count_; ++e) {
      const std::string_view found = found_[e].key();
      if (found.size() < IbSchema::kKeySize || found <= last) return false;
      const uint64_t id = IbSchema::IdOfIndexKey(found);
      if (id == 0) return false;
      char key[IbSchema::kMaxIndexKeySize];
      const size_t size =
          schema_.Value(schema_.ClientOf(id, client_), schema_.NumberOf(id), room_.data());
      if (found !=
          std::string_view(key, IbSchema::IndexKey(query.index, id, {room_.data(), size}, key))) {
        return false;
      }
      last = found;
    }
    return count_ == rows_ || MayEndAt(query.index, last);
  }

 private:
  struct Query {
    uint32_t index;
    char from[4];
  };
  struct Entry {
    char bytes[IbSchema::kMaxIndexKeySize + 1];  // a key that is too long is seen to be so
    uint8_t size;
    std::string_view key() const { return {bytes, size}; }
    void Keep(std::string_view found) {
      size = static_cast<uint8_t>(std::min(found.size(), sizeof bytes));
      std::memcpy(bytes, found.data(), size);
    }
  };

  // Returns whether the index may have ended with the entry `last` when it was read. It looks at
  // some rows that were there from the preparation of the query until now.
  bool MayEndAt(uint32_t index, std::string_view last) {
    constexpr int kLooks = 32;
    const uint64_t first = state_.inserter.first.load(std::memory_order_acquire);
    for (int i = 0; i < kLooks && first < next_; ++i) {
      const uint64_t n = first + sample_.Below(next_ - first);
      char key[IbSchema::kMaxIndexKeySize];
      const size_t size = schema_.Value(client_, n, room_.data());
      const size_t key_size =
          IbSchema::IndexKey(index, schema_.IdOf(client_, n), {room_.data(), size}, key);
      if (std::string_view(key, key_size) > last) return false;
    }
    return true;
  }

  void Prepare(size_t queries) override {
    next_ = state_.inserter.next.load(std::memory_order_acquire);
    for (size_t i = 0; i < queries; ++i) {
      Query& query = queries_[i];
      query.index = static_cast<uint32_t>(random_.Below(indexes_));
      uint64_t from = 0;
      switch (query.index) {
        case 0:
          from = random_.Below(IbSchema::kProducts);
          break;
        case 1:
          from = random_.Below(IbSchema::kCashRegisters) + 1;  // the query is "greater than"
          break;
        default:
          from = random_.Below(IbSchema::kPrices);
      }
      IbPut(from, sizeof query.from, query.from);
    }
  }

  const uint32_t indexes_;
  uint64_t next_ = 0;  // the client's rows below it were there when the queries were prepared
  Query queries_[kBatch];
  std::vector<Entry> found_;  // those of the last query that is to be checked
  Random sample_;             // rows of which a check looks for the entries
  size_t count_ = 0;          // entries in found_
};

// Gets rows by ids drawn from the client's existing rows.
class IbPointQuerier : public IbQuerier {
 public:
  IbPointQuerier(IbTables& tables, uint32_t client, Session& session, uint32_t rows,
                 uint32_t query_op, uint64_t seed)
      : IbQuerier(tables, client, session, rows, query_op, seed),
        numbers_(kBatch * rows),
        keys_(kBatch * rows * IbSchema::kKeySize),
        found_(rows * Room()),
        sizes_(rows) {}

  void Execute(size_t i) override {
    size_t found = 0;
    for (size_t r = 0; r < rows_; ++r) {
      const char* key = &keys_[(i * rows_ + r) * IbSchema::kKeySize];
      std::string_view value;
      const bool there = session_.Get(set_.rows, {key, IbSchema::kKeySize}, &value);
      if (there) consume_(value);
      found += there;
      if (to_verify_) Keep(r, there ? value : std::string_view());
    }
    if (to_verify_) kept_ = found != 0;
    totals_.not_found += rows_ - found;
    Count(found);
  }

  bool Kept() const override { return kept_; }

  // Checks that each row is as inserted, and that each missing row was deleted meanwhile.
  bool Verify(size_t i) override {
    for (size_t r = 0; r < rows_; ++r) {
      const uint64_t n = numbers_[i * rows_ + r];
      const std::string_view value(&found_[r * Room()], sizes_[r]);
      if (sizes_[r] != 0 ? !schema_.Check(client_, n, value, room_.data())
                         : n >= state_.inserter.first.load(std::memory_order_acquire) &&
                               n < state_.inserter.next.load(std::memory_order_acquire)) {
        return false;
      }
    }
    return true;
  }

 private:
  void Prepare(size_t queries) override {
    const uint64_t first = state_.inserter.first.load(std::memory_order_acquire);
    const uint64_t next = state_.inserter.next.load(std::memory_order_acquire);
    for (size_t i = 0; i < queries * rows_; ++i) {
      numbers_[i] = first + random_.Below(std::max<uint64_t>(next - first, 1));
      IbSchema::Key(schema_.IdOf(client_, numbers_[i]), &keys_[i * IbSchema::kKeySize]);
    }
  }

  // Returns the bytes that are kept of a value: one more than a value has, so that one that is too
  // long is seen to be so.
  size_t Room() const { return schema_.max_value_size() + 1; }

  // Keeps a value for the check; an empty one says that the row was not found.
  void Keep(size_t r, std::string_view value) {
    sizes_[r] = std::min(value.size(), Room());
    value.copy(&found_[r * Room()], sizes_[r]);
  }

  std::vector<uint64_t> numbers_;
  std::vector<char> keys_;
  // The values that the last query found that is to be checked, and their sizes.
  std::vector<char> found_;
  std::vector<size_t> sizes_;
  bool kept_ = false;  // it found a row
};

class IbRead : public Workload {
 public:
  IbRead(std::string name, IbQuery query, double rate, const IbOptions& options, uint64_t seed)
      : name_(std::move(name)),
        query_(query),
        rate_(options.rate > 0 ? options.rate : rate),
        options_(options),
        seed_(seed ^ Mix64(static_cast<uint64_t>(rate) * 2 + (query == IbQuery::kPoint))),
        tables_(options.schema) {
    if (options_.deletes) ops_.push_back(DefineOp("delete", Ground::kForeground));
    ops_.push_back(
        DefineOp(query == IbQuery::kRange ? "range-query" : "point-query", Ground::kForeground));
    if (query == IbQuery::kRange && options.schema.indexes == 0) {
      throw Error(Error::kUsage, name_ +
                                     " queries by index; give --workload-option indexes=1 or "
                                     "more, or leave the step out");
    }
  }
  const std::string& name() const override { return name_; }
  const std::vector<OpKind>& ops() const override { return ops_; }
  // Returns a lower bound: the number of queries is not known in advance.
  uint64_t operations() const override {
    return Work().rows / Work().rows_per_commit * tables_.clients() * (ops_.size() - 1);
  }
  bool writes() const override { return true; }
  bool settles() const override { return options_.settle; }
  uint64_t AddedBytes() const override {  // an estimate for ten clients
    return static_cast<uint64_t>(options_.BytesOfRow() * static_cast<double>(10 * Work().rows));
  }
  double planned_seconds() const override { return static_cast<double>(Work().rows) / rate_; }
  int threads_per_client() const override { return 2; }
  double ThreadRate(int thread, int) const override {
    if (!Inserts(thread)) return 0;
    return rate_ / Work().rows_per_commit * (options_.deletes ? 2 : 1);
  }
  void OpenTables(Engine& engine) override { OpenClientTables(engine, 1); }
  void OpenClientTables(Engine& engine, int clients) override {
    tables_.Open(engine, clients, IbTables::kIndexed, name_);
  }
  std::unique_ptr<Client> NewClient(Session& session, int thread, int) override {
    const auto client = static_cast<uint32_t>(thread / 2);
    if (Inserts(thread)) return std::make_unique<IbInserter>(tables_, client, session, Work());
    const auto op = static_cast<uint32_t>(ops_.size() - 1);
    if (query_ == IbQuery::kRange) {
      return std::make_unique<IbRangeQuerier>(tables_, client, session, options_.query_rows, op,
                                              seed_);
    }
    return std::make_unique<IbPointQuerier>(tables_, client, session, options_.query_rows, op,
                                            seed_);
  }
  bool checks() const override { return options_.check_rows > 0; }
  std::string CheckDatabase(Engine& engine) override {
    return tables_.Check(engine, options_.check_rows);
  }
  nlohmann::json Details() const override {
    uint64_t queries = 0, rows = 0;
    for (uint32_t c = 0; c < tables_.clients(); ++c) {
      queries += tables_.client(c).querier.queries;
      rows += tables_.client(c).querier.rows;
    }
    nlohmann::json details = IbDetails(tables_, Work());
    details["queries"] = queries;
    details["query_rows"] = rows;
    details["target_rows_per_second"] = rate_ * tables_.clients();
    return details;
  }

 private:
  static bool Inserts(int thread) { return thread % 2 == 0; }
  IbInserter::Work Work() const {
    // No transaction holds more than one second's rows.
    const auto each = static_cast<uint32_t>(
        std::min<double>(options_.rows_per_commit_read, std::max(1.0, std::floor(rate_))));
    const auto rows = static_cast<uint64_t>(std::ceil(options_.query_seconds * rate_));
    return {IbOptions::RowsOfClient(rows, 1, each), each, options_.schema.indexes,
            options_.deletes};
  }

  const std::string name_;
  const IbQuery query_;
  const double rate_;  // rows per second and client
  const IbOptions options_;
  const uint64_t seed_;
  std::vector<OpKind> ops_ = {DefineOp("insert", Ground::kForeground)};
  IbTables tables_;
};

}  // namespace

template <IbQuery kQuery, int kRate>
std::unique_ptr<Workload> MakeIbRead(std::shared_ptr<const Dataset> dataset,
                                     const WorkloadOptions& options) {
  const char* kind = kQuery == IbQuery::kRange ? "qr" : "qp";
  return std::make_unique<IbRead>(fmt::format("ib.{}{}", kind, kRate), kQuery, kRate,
                                  IbOptions::Parse(*dataset, options), options.seed);
}

#define TESTBED_IB_READ(query, rate)                                                         \
  template std::unique_ptr<Workload> MakeIbRead<query, rate>(std::shared_ptr<const Dataset>, \
                                                             const WorkloadOptions&)
TESTBED_IB_READ(IbQuery::kRange, 100);
TESTBED_IB_READ(IbQuery::kRange, 500);
TESTBED_IB_READ(IbQuery::kRange, 1000);
TESTBED_IB_READ(IbQuery::kPoint, 100);
TESTBED_IB_READ(IbQuery::kPoint, 500);
TESTBED_IB_READ(IbQuery::kPoint, 1000);
#undef TESTBED_IB_READ

}  // namespace testbed
