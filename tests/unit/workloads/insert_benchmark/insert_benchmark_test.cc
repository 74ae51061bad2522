// Tests the steps of the insert benchmark on a small b-tree: the contents of the tables after each
// step, and that the checks find wrong tables.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/error.h"
#include "engines/registry.h"
#include "workloads/insert_benchmark/insert.h"
#include "workloads/insert_benchmark/schema.h"
#include "workloads/insert_benchmark/sort.h"
#include "workloads/insert_benchmark/tables.h"
#include "workloads/measure/runner.h"
#include "workloads/registry.h"
#include "workloads/trace/trace_file.h"
#include "workloads/trace/trace_recorder.h"

namespace testbed {
namespace {

TEST(IbSchemaTest, RowsHaveTheColumnsOfTheSpecification) {
  IbSchema schema({});
  schema.PrepareData();
  std::string room(schema.max_value_size(), '\0');
  std::set<size_t> sizes;
  uint64_t registers = 0, customers = 0, products = 0, prices = 0, last_time = 0;
  for (uint64_t n = 0; n < 20000; ++n) {
    const size_t size = schema.Value(3, n, room.data());
    const char* v = room.data();
    sizes.insert(IbSchema::kKeySize + size);
    EXPECT_GE(IbGet(v, 5), last_time);
    last_time = IbGet(v, 5);
    registers = std::max(registers, IbGet(v + 5, 4));
    customers = std::max(customers, IbGet(v + 9, 4));
    products = std::max(products, IbGet(v + 13, 4));
    prices = std::max(prices, IbGet(v + 17, 4));
    // The last floor(L x 3/4 x 1/2) of L bytes of data are random, and the others are one letter.
    const size_t length = size - IbSchema::kFixedSize, letters = length - length * 3 / 8;
    EXPECT_EQ(std::string(v + IbSchema::kFixedSize, letters), std::string(letters, 'a'));
  }
  EXPECT_EQ(*sizes.begin(), 39u);
  EXPECT_EQ(*sizes.rbegin(), 49u);
  EXPECT_EQ(sizes.size(), 11u);
  EXPECT_EQ(registers, 999u);
  EXPECT_TRUE(customers > 99900 && customers < 100000) << customers;
  EXPECT_TRUE(products > 9990 && products < 10000) << products;
  EXPECT_EQ(prices, 499u);
}

TEST(IbSchemaTest, ARowIsMadeFromSeedClientAndNumberAlone) {
  auto value = [](uint64_t seed, uint32_t client, uint64_t n) {
    IbSchema schema({.seed = seed});
    schema.PrepareData();
    std::string v(schema.max_value_size(), '\0');
    v.resize(schema.Value(client, n, v.data()));
    return v;
  };
  EXPECT_EQ(value(1, 0, 7), value(1, 0, 7));
  EXPECT_NE(value(1, 0, 7), value(2, 0, 7));
  EXPECT_NE(value(1, 0, 7), value(1, 1, 7));
  EXPECT_NE(value(1, 0, 7), value(1, 0, 8));
}

TEST(IbSchemaTest, IndexKeysSortAsTheirColumnsAndEndWithTheId) {
  IbSchema schema({});
  schema.PrepareData();
  std::string room(schema.max_value_size(), '\0');
  const std::string_view row(room.data(), schema.Value(0, 41, room.data()));
  const auto column = [&](size_t at, size_t size) { return std::string(row.substr(at, size)); };
  const std::string cash_register = column(5, 4), customer = column(9, 4), product = column(13, 4),
                    price = column(17, 4), time = column(0, 5);
  char key[IbSchema::kMaxIndexKeySize];
  const auto index_key = [&](uint32_t k) {
    return std::string(key, IbSchema::IndexKey(k, 42, row, key));
  };
  const std::string id("\0\0\0\0\0\0\0\x2a", 8);
  EXPECT_EQ(index_key(0), product + customer + price + id);
  EXPECT_EQ(index_key(1), cash_register + customer + price + id);
  EXPECT_EQ(index_key(2), price + time + customer + id);
  EXPECT_EQ(index_key(0).size() + index_key(1).size() + index_key(2).size(), 61u);
  EXPECT_EQ(IbSchema::IdOfIndexKey(index_key(2)), 42u);
}

TEST(IbSchemaTest, ClientsTakeTurnsInASharedTable) {
  const IbSchema own({.clients = 3}), shared({.clients = 3, .shared = true});
  EXPECT_EQ(own.IdOf(2, 0), 1u);
  std::set<uint64_t> ids;
  for (uint32_t client = 0; client < 3; ++client) {
    for (uint64_t n = 0; n < 10; ++n) {
      const uint64_t id = shared.IdOf(client, n);
      EXPECT_EQ(shared.NumberOf(id), n);
      EXPECT_EQ(shared.ClientOf(id, 0), client);
      ids.insert(id);
    }
  }
  EXPECT_EQ(*ids.begin(), 1u);
  EXPECT_EQ(*ids.rbegin(), 30u);
  EXPECT_EQ(ids.size(), 30u);
}

class InsertBenchmarkTest : public testing::Test {
 protected:
  InsertBenchmarkTest() {
    std::string pattern = testing::TempDir() + "insert_benchmark_XXXXXX";
    dir_ = mkdtemp(pattern.data());
    options_["nr1"] = "4000";
    options_["nr2"] = "1000";
    options_["query_seconds"] = "0.5";
    Open();
  }
  ~InsertBenchmarkTest() override {
    engine_.reset();
    std::filesystem::remove_all(dir_);
  }
  void Open() {
    engine_.reset();
    EngineOptions options;
    options.durability = Durability::kNone;
    options.cache_bytes = 16 << 20;
    engine_ = OpenEngine("btree", dir_, options);
  }

  // Runs a step and its check. Returns the details of the phase.
  nlohmann::json Step(const std::string& name, int clients = 2) {
    DatasetOptions rows;
    rows.rows = 1000;
    WorkloadOptions options;
    options.extra = options_;
    auto workload = FindWorkload(name).make(std::make_shared<const Dataset>(rows), options);
    PhaseOptions phase;
    phase.threads = clients;
    phase.verify_every = 1;
    result_ = RunPhase(*engine_, *workload, phase);
    EXPECT_EQ(result_.wrong, 0u) << result_.first_wrong;
    EXPECT_GT(result_.verified, 0u);
    wrong_ = workload->CheckDatabase(*engine_);
    return workload->Details();
  }
  // Runs a step, after which the check must find no error. Returns the details of the phase.
  nlohmann::json GoodStep(const std::string& name, int clients = 2) {
    nlohmann::json details = Step(name, clients);
    EXPECT_EQ(wrong_, "") << name;
    return details;
  }
  void Refused(const std::string& name, int clients = 2) {
    try {
      Step(name, clients);
      ADD_FAILURE() << name << " was not refused";
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::kUsage) << e.what();
    }
  }
  // Runs a step of one client, and returns the positions from which it read, in their order.
  std::vector<std::string> Sought(const std::string& name) {
    const std::string path = dir_ + ".trace";
    WorkloadOptions options;
    options.extra = options_;
    auto workload =
        FindWorkload(name).make(std::make_shared<const Dataset>(DatasetOptions()), options);
    {
      TraceRecorder recorder(path, *engine_, name, workload->ops());
      PhaseOptions phase;
      phase.recorder = &recorder;
      RunPhase(recorder.engine(), *workload, phase);
      recorder.Finish();
    }
    const TraceFile file(path);
    TraceStream stream(file, AllClients(file));
    std::vector<std::string> sought;
    for (TraceOperation operation; stream.Next(&operation);) {
      for (const TraceCall& call : operation.calls) {
        if (call.kind == TraceCallKind::kSeek) sought.emplace_back(call.key);
      }
    }
    std::filesystem::remove(path);
    return sought;
  }
  uint64_t Rows(const std::string& table) {
    std::unique_ptr<Session> session = engine_->NewSession();
    std::unique_ptr<Cursor> cursor = session->NewCursor(engine_->OpenTable(table));
    uint64_t rows = 0;
    for (bool on = cursor->First(); on; on = cursor->Next()) ++rows;
    return rows;
  }

  std::string dir_, wrong_;
  std::map<std::string, std::string> options_;
  std::unique_ptr<Engine> engine_;
  PhaseResult result_;
};

TEST_F(InsertBenchmarkTest, TheStepsLeaveTheRowsAndIndexEntriesThatTheySay) {
  nlohmann::json d = GoodStep("ib.i0");
  EXPECT_EQ(d["rows_inserted"], 4000);
  EXPECT_EQ(result_.operations(), 40u);
  EXPECT_EQ(Rows("pi1"), 2000u);
  EXPECT_EQ(Rows("pi2"), 2000u);
  EXPECT_EQ(Rows("pi1_pdc"), 0u);

  d = GoodStep("ib.x");
  EXPECT_EQ(d["rows_inserted"], 200);
  EXPECT_EQ(d["rows_indexed"], 4200);
  for (const char* index : {"pi1_market", "pi2_register", "pi2_pdc"}) {
    EXPECT_EQ(Rows(index), 2100u) << index;
  }

  d = GoodStep("ib.i1");
  EXPECT_EQ(d["rows_inserted"], 800);
  EXPECT_EQ(result_.operations(), 16u);
  d = GoodStep("ib.i2");
  EXPECT_EQ(d["rows_inserted"], 200);
  EXPECT_EQ(result_.operations(), 40u);
  EXPECT_EQ(d["table_rows"], 5200);
  EXPECT_EQ(Rows("pi1_market"), 2600u);
  GoodStep("ib.vac");

  for (const char* step : {"ib.qr1000", "ib.qp1000"}) {
    d = GoodStep(step);
    EXPECT_EQ(d["rows_inserted"], 1000) << step;
    EXPECT_GT(d["queries"], 0) << step;
    EXPECT_EQ(d["target_rows_per_second"], 2000) << step;
  }
  EXPECT_EQ(d["query_rows"], 10 * d["queries"].get<uint64_t>());
  EXPECT_EQ(d["table_rows"], 7200);
}

TEST_F(InsertBenchmarkTest, ARepeatedStepAsksForOtherPositions) {
  GoodStep("ib.i0", 1);
  GoodStep("ib.x", 1);
  const std::vector<std::string> first = Sought("ib.qr1000"), second = Sought("ib.qr1000");
  EXPECT_GT(first.size(), 10u);
  EXPECT_NE(first[0] + first[1] + first[2], second[0] + second[1] + second[2]);
}

TEST_F(InsertBenchmarkTest, RowsIndexedAreThoseThatTheStepIndexed) {
  options_["indexes"] = "0";
  GoodStep("ib.i0");
  EXPECT_FALSE(GoodStep("ib.x").contains("rows_indexed"));
}

TEST_F(InsertBenchmarkTest, DeletesKeepTheTableAtItsSizeByTakingTheOldest) {
  options_["deletes"] = "1";
  GoodStep("ib.i0");
  GoodStep("ib.x");
  for (const char* step : {"ib.i1", "ib.i2", "ib.qr500", "ib.qp500"}) {
    const nlohmann::json d = GoodStep(step);
    EXPECT_EQ(d["rows_deleted"], d["rows_inserted"]) << step;
    EXPECT_EQ(d["table_rows"], 4200) << step;
  }
  EXPECT_EQ(Rows("pi1"), 2100u);
  EXPECT_EQ(Rows("pi1_register"), 2100u);
  // i1 and i2 have deleted 400 and 100 rows of each client, and each read step 250.
  std::unique_ptr<Session> session = engine_->NewSession();
  std::unique_ptr<Cursor> cursor = session->NewCursor(engine_->OpenTable("pi1"));
  ASSERT_TRUE(cursor->First());
  EXPECT_EQ(IbGet(cursor->key().data(), 8), 1001u);
  ASSERT_TRUE(cursor->Last());
  EXPECT_EQ(IbGet(cursor->key().data(), 8), 3100u);
}

TEST_F(InsertBenchmarkTest, ASharedTableHoldsTheRowsOfAllClients) {
  options_["shared"] = "1";
  options_["deletes"] = "1";
  for (const char* step : {"ib.i0", "ib.x", "ib.i1", "ib.i2", "ib.qr1000", "ib.qp1000"}) {
    GoodStep(step, 3);
  }
  EXPECT_EQ(Rows("pi"), Rows("pi_pdc"));
  EXPECT_EQ(Rows("pi"), 4200u + 300u);  // 1400 rows per client, and 100 per client of ib.x
}

TEST_F(InsertBenchmarkTest, AnIndexLargerThanTheSortsMemoryIsBuiltInOrder) {
  options_["nr1"] = "60000";
  options_["sort_rows"] = "700";
  GoodStep("ib.i0");
  const LedgerCounts before = Ledger::Get().Counts();
  GoodStep("ib.x");
  const LedgerCounts spent = Ledger::Get().Counts() - before;
  const OpKind scan = DefineOp("index-scan", Ground::kForeground);
  // Every entry was written to the temporary file once.
  EXPECT_EQ(spent.ops[scan.id].file[static_cast<size_t>(FileKind::kTemp)].write_bytes,
            3u * 60200 * sizeof(IbSorter::Entry));
  // Each of the 3 indexes of each client took 30 operations of 1000 entries, and one with the rest.
  EXPECT_EQ(result_.ops[2].count, 2u * 3 * 31);
  EXPECT_EQ(result_.ops[1].count, 2u * 4);
}

TEST_F(InsertBenchmarkTest, LaterProcessesGoOnWhereTheDatabaseEnds) {
  options_["deletes"] = "1";
  GoodStep("ib.i0");
  GoodStep("ib.x");
  GoodStep("ib.i1");
  Open();
  const nlohmann::json d = GoodStep("ib.i2");
  EXPECT_EQ(d["table_rows"], 4200);
  Open();
  GoodStep("ib.qp1000");
}

// The size of the database is that of all tables, so the rows by which it is divided are, too.
TEST_F(InsertBenchmarkTest, AStepOfFewerClientsTellsTheRowsOfAllTables) {
  for (const char* indexes : {"3", "0"}) {
    options_["indexes"] = indexes;
    GoodStep("ib.i0", 3);  // 1400 rows a client, in whole transactions of 100
    GoodStep("ib.x", 3);
    Open();
    EXPECT_EQ(GoodStep("ib.i1", 1)["table_rows"], 4500 + 800) << indexes;
    EXPECT_EQ(GoodStep("ib.vac", 2)["table_rows"], 5300) << indexes;
    // The check of such a step is of all tables.
    std::string key(8, '\0');
    IbSchema::Key(77, key.data());
    engine_->NewSession()->Erase(engine_->OpenTable("pi3"), key);
    Step("ib.i2", 1);
    EXPECT_NE(wrong_.find("pi3"), std::string::npos) << wrong_;
    engine_.reset();
    std::filesystem::remove_all(dir_);
    std::filesystem::create_directory(dir_);
    Open();
  }
}

// A database of a version that did not record how many clients have tables.
TEST_F(InsertBenchmarkTest, ClientsWhoseIndexesAreBuiltAreKnownWithoutARecordOfTheirNumber) {
  GoodStep("ib.i0", 3);
  GoodStep("ib.x", 3);
  engine_->NewSession()->Erase(engine_->OpenTable("ib"), "clients");
  EXPECT_EQ(GoodStep("ib.i1", 1)["table_rows"], 4500 + 800);
  Open();
  EXPECT_EQ(GoodStep("ib.vac", 1)["table_rows"], 5300);
}

// When all rows are deleted, the tables cannot tell the numbers that the rows had. New rows must
// still get new numbers.
TEST_F(InsertBenchmarkTest, NumbersGoOnWhenAllRowsWereDeleted) {
  const IbInserter::Work work{150, 50, 3, true};
  for (uint64_t round = 0; round < 3; ++round) {
    IbTables tables({.seed = 42});
    tables.Open(*engine_, 2, IbTables::kNewIndexed, "inserts");
    for (uint32_t client = 0; client < 2; ++client) {
      EXPECT_EQ(tables.client(client).inserter.next, round * 150);
      std::unique_ptr<Session> session = engine_->NewSession();
      IbInserter inserter(tables, client, *session, work);
      while (const size_t n = inserter.Generate(64)) {
        for (size_t i = 0; i < n; ++i) inserter.Execute(i);
      }
      EXPECT_EQ(inserter.totals().rows_inserted, 150u);
      EXPECT_EQ(inserter.totals().rows_erased, 150u);
    }
    EXPECT_EQ(Rows("pi1") + Rows("pi2") + Rows("pi1_market"), 0u);
    Open();
  }
}

// A session that calls `erased` after each Erase, whose row is gone for other sessions then where
// the engine has no transactions.
class ErasingSession : public Session {
 public:
  ErasingSession(Engine& engine, std::function<void(TableId, std::string_view)> erased)
      : session_(engine.NewSession()), erased_(std::move(erased)) {}
  void Begin() override { session_->Begin(); }
  void Commit() override { session_->Commit(); }
  void Rollback() override { session_->Rollback(); }
  bool Get(TableId table, std::string_view key, std::string_view* value) override {
    return session_->Get(table, key, value);
  }
  void Put(TableId table, std::string_view key, std::string_view value) override {
    session_->Put(table, key, value);
  }
  void Erase(TableId table, std::string_view key) override {
    session_->Erase(table, key);
    erased_(table, key);
  }
  std::unique_ptr<Cursor> NewCursor(TableId table) override { return session_->NewCursor(table); }

 private:
  const std::unique_ptr<Session> session_;
  const std::function<void(TableId, std::string_view)> erased_;
};

// A query takes an absent row for deleted when its number is below the bound.
TEST_F(InsertBenchmarkTest, TheBoundMovesBeforeTheFirstRowIsGone) {
  IbTables tables({.seed = 42});
  tables.Open(*engine_, 1, IbTables::kNewIndexed, "inserts");
  uint64_t erased = 0;
  ErasingSession session(*engine_, [&](TableId table, std::string_view key) {
    if (table != tables.set(0).rows) return;
    ++erased;
    const uint64_t number = tables.schema().NumberOf(IbGet(key.data(), IbSchema::kKeySize));
    EXPECT_LT(number, tables.client(0).inserter.first.load());
  });
  IbInserter inserter(tables, 0, session, {150, 50, 3, true});
  while (const size_t n = inserter.Generate(64)) {
    for (size_t i = 0; i < n; ++i) inserter.Execute(i);
  }
  EXPECT_EQ(erased, 150u);
}

// The build of the indexes is interrupted between two clients. The finished indexes must stay, and
// must not be built again.
TEST_F(InsertBenchmarkTest, AnInterruptedBuildOfIndexesGoesOn) {
  GoodStep("ib.i0");
  GoodStep("ib.x", 1);
  EXPECT_EQ(Rows("pi1_market"), 2100u);
  EXPECT_EQ(Rows("pi2_market"), 0u);
  const nlohmann::json d = GoodStep("ib.x");
  EXPECT_EQ(d["rows_inserted"], 100);  // only the second client inserts rows now
  EXPECT_EQ(Rows("pi1_market"), 2100u);
  EXPECT_EQ(Rows("pi2_market"), 2100u);
  Refused("ib.x");
  EXPECT_EQ(Rows("pi1") + Rows("pi2"), 4200u);
}

TEST_F(InsertBenchmarkTest, StoppedInTheMiddleAStepReportsWhatItInserted) {
  options_["nr1"] = "100000000";
  options_["rows_per_commit_load"] = "10";
  DatasetOptions rows;
  WorkloadOptions options;
  options.extra = options_;
  PhaseOptions phase;
  phase.operations = 7;
  for (const char* step : {"ib.i0", "ib.x"}) {
    const uint64_t before = Rows("pi1");
    auto workload = FindWorkload(step).make(std::make_shared<const Dataset>(rows), options);
    const PhaseResult result = RunPhase(*engine_, *workload, phase);
    EXPECT_EQ(result.totals.rows_inserted, 70u) << step;
    EXPECT_EQ(Rows("pi1") - before, 70u) << step;
  }
}

TEST_F(InsertBenchmarkTest, TheSameSeedGivesTheSameDatabase) {
  const auto content = [&] {
    GoodStep("ib.i0");
    GoodStep("ib.x");
    GoodStep("ib.i1");
    std::string all;
    std::unique_ptr<Session> session = engine_->NewSession();
    std::unique_ptr<Cursor> cursor = session->NewCursor(engine_->OpenTable("pi2"));
    for (bool on = cursor->First(); on; on = cursor->Next()) {
      all.append(cursor->key()).append(cursor->value());
    }
    return all;
  };
  const std::string first = content();
  engine_.reset();
  std::filesystem::remove_all(dir_);
  std::filesystem::create_directory(dir_);
  Open();
  EXPECT_EQ(content(), first);
}

TEST_F(InsertBenchmarkTest, StepsOutOfOrderAndOtherSettingsAreRefused) {
  Refused("ib.i1");
  Refused("ib.x");
  GoodStep("ib.i0");
  Refused("ib.i0");  // the tables are loaded already
  EXPECT_EQ(Rows("pi1"), 2000u);
  Refused("ib.i1");
  Refused("ib.qr100");
  GoodStep("ib.x");
  Refused("ib.i0");
  Refused("ib.i1", 3);  // the third client has no table
  options_["data_max"] = "30";
  Refused("ib.i1");
  options_["data_max"] = "5";
  Refused("ib.i1");
}

// The check at the end of a step must find each kind of damage.
TEST_F(InsertBenchmarkTest, WrongTablesAreFound) {
  const auto damaged = [&](const std::string& name, auto damage) {
    engine_.reset();
    std::filesystem::remove_all(dir_);
    std::filesystem::create_directory(dir_);
    Open();
    GoodStep("ib.i0");
    GoodStep("ib.x");
    GoodStep("ib.i1");
    std::unique_ptr<Session> session = engine_->NewSession();
    const TableId rows = engine_->OpenTable("pi2"), index = engine_->OpenTable("pi2_market");
    std::string key(8, '\0');
    IbSchema::Key(77, key.data());
    std::string_view found;
    ASSERT_TRUE(session->Get(rows, key, &found));
    const std::string value(found);
    char room[IbSchema::kMaxIndexKeySize];
    const std::string entry(room, IbSchema::IndexKey(0, 77, value, room));
    damage(*session, rows, index, key, value, entry);
    Step("ib.vac");
    EXPECT_NE(wrong_, "") << name;
    EXPECT_NE(wrong_.find("pi2"), std::string::npos) << wrong_;
  };
  damaged("a row is gone",
          [](Session& s, TableId rows, TableId, auto& key, auto&, auto&) { s.Erase(rows, key); });
  damaged("a row has another value",
          [](Session& s, TableId rows, TableId, auto& key, std::string value, auto&) {
            value.back() = static_cast<char>(value.back() ^ 1);
            s.Put(rows, key, value);
          });
  damaged("a row that was never inserted", [](Session& s, TableId rows, TableId, auto&, auto& value,
                                              auto&) { s.Put(rows, std::string(8, '\0'), value); });
  damaged("an entry is gone", [](Session& s, TableId, TableId index, auto&, auto&, auto& entry) {
    s.Erase(index, entry);
  });
  damaged("an entry is another row's",
          [](Session& s, TableId, TableId index, auto&, auto&, std::string entry) {
            s.Erase(index, entry);
            entry[0] = static_cast<char>(entry[0] ^ 1);
            s.Put(index, entry, "");
          });
  damaged("a row has two entries",
          [](Session& s, TableId, TableId index, auto&, auto&, std::string entry) {
            entry[0] = static_cast<char>(entry[0] ^ 1);
            s.Put(index, entry, "");
          });
}

TEST_F(InsertBenchmarkTest, ALargeTableIsCountedExactlyAndItsContentsSampled) {
  options_["check_rows"] = "100";
  GoodStep("ib.i0");
  GoodStep("ib.x");
  std::unique_ptr<Session> session = engine_->NewSession();
  std::string key(8, '\0');
  IbSchema::Key(2100, key.data());
  session->Erase(engine_->OpenTable("pi1"), key);
  // The check takes its bounds from the table, so a row erased at the end shows in the indexes.
  Step("ib.vac");
  EXPECT_NE(wrong_.find("pi1_market"), std::string::npos) << wrong_;
}

TEST_F(InsertBenchmarkTest, ReadStepsKeepTheirRateAndEndWithTheirInserts) {
  GoodStep("ib.i0");
  GoodStep("ib.x");
  options_["query_seconds"] = "1";
  options_["rate"] = "400";
  GoodStep("ib.qr100");
  // Each client commits 8 transactions of 50 rows, the last 7/8 of a second after the first.
  EXPECT_EQ(result_.ops[0].count, 16u);
  EXPECT_EQ(result_.ops[0].intended.count(), 16u);
  EXPECT_EQ(result_.ops[1].intended.count(), 0u);
  EXPECT_GE(result_.seconds, 0.87);
  ASSERT_EQ(result_.thread_seconds.size(), 4u);
}

TEST_F(InsertBenchmarkTest, ConcurrentInsertsContinueRoundByRound) {
  options_ = {{"rows_per_round", "10000"}};
  for (int round = 1; round <= 3; ++round) {
    const nlohmann::json d = GoodStep("concurrent-inserts", 5);
    EXPECT_EQ(d["rows_inserted"], 10000);
    EXPECT_EQ(d["table_rows"], 10000 * round);
    EXPECT_EQ(result_.operations(), 10u);
    EXPECT_EQ(result_.thread_operations, std::vector<uint64_t>(5, 2));
    EXPECT_EQ(result_.totals.user_bytes_written, 10000u * (100 + 61));
    EXPECT_EQ(Rows("pi5_pdc"), 2000u * static_cast<uint64_t>(round));
  }
}

TEST_F(InsertBenchmarkTest, TheSeriesAddsUpToThePhase) {
  options_["nr1"] = "40000";
  GoodStep("ib.i0");
  GoodStep("ib.x");
  options_["query_seconds"] = "1.3";
  GoodStep("ib.qp1000");
  ASSERT_GE(result_.series.size(), 2u);
  for (size_t k = 0; k < result_.ops.size(); ++k) {
    uint64_t sum = 0;
    for (const Interval& i : result_.series) sum += i.counts[k];
    EXPECT_EQ(sum, result_.ops[k].count) << k;
  }
  EXPECT_GE(result_.series.back().end_seconds, result_.seconds);
}

}  // namespace
}  // namespace testbed
