// Tests LinkBench's loader, operations and check on an engine.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "device/error.h"
#include "engines/registry.h"
#include "workloads/linkbench/access.h"
#include "workloads/linkbench/check.h"
#include "workloads/linkbench/schema.h"
#include "workloads/measure/runner.h"
#include "workloads/registry.h"
#include "workloads/trace/trace_file.h"
#include "workloads/trace/trace_recorder.h"

namespace testbed::linkbench {
namespace {

class LinkbenchRunTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::current_path() / "linkbench_test_XXXXXX";
    dir_ = mkdtemp(pattern.data());
    UseRows(3000);
  }
  void TearDown() override {
    engine_.reset();
    std::filesystem::remove_all(dir_);
  }

  void UseRows(uint64_t rows) {
    DatasetOptions data;
    data.rows = rows;
    dataset_ = std::make_shared<const Dataset>(data);
  }
  void Open(const std::string& name = "btree") {
    engine_.reset();
    std::filesystem::remove_all(dir_);
    std::filesystem::create_directory(dir_);
    EngineOptions options;
    options.durability = Durability::kNone;
    engine_ = OpenEngine(name, dir_, options);
  }
  PhaseResult Run(const std::string& workload, int threads, uint64_t operations = 0) {
    workload_ = FindWorkload(workload).make(dataset_, options_);
    PhaseOptions phase;
    phase.threads = threads;
    phase.operations = operations;
    phase.verify_every = 1;
    return RunPhase(*engine_, *workload_, phase);
  }
  std::string Check() { return workload_->CheckDatabase(*engine_); }

  std::string dir_;
  std::shared_ptr<const Dataset> dataset_;
  WorkloadOptions options_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Workload> workload_;
};

TEST_F(LinkbenchRunTest, RowsAreReadAsTheyWereWritten) {
  const Settings settings(*dataset_, options_);
  const Content content(settings);
  const LinkId id{7, kFirstLinkType + 1, 9};
  char key[64], value[512], entry[512];
  for (bool id1_first : {false, true}) {
    EXPECT_EQ(ReadLinkKey(LinkKey(id, id1_first, key), id1_first), id);
  }
  const size_t size = content.LinkData(id, 1234567890123, value + kLinkHead);
  LinkRow row;
  ASSERT_TRUE(ReadLink(LinkValue(kVisible, 1234567890123, 5, size, value), &row));
  EXPECT_EQ(row.visibility, kVisible);
  EXPECT_EQ(row.time, 1234567890123u);
  EXPECT_EQ(row.version, 5u);
  EXPECT_TRUE(content.CheckLink(id, row.time, row.data));
  EXPECT_FALSE(content.CheckLink(id, row.time + 1, row.data));
  uint8_t visibility;
  uint64_t time;
  EXPECT_EQ(ReadIndexKey(IndexKey(id, kVisible, row.time, key), &visibility, &time), id);
  EXPECT_EQ(visibility, kVisible);
  EXPECT_EQ(time, row.time);
  EXPECT_EQ(IndexValue(5, row.data, entry).substr(kIndexHead), row.data);
  CountRow count;
  ASSERT_TRUE(ReadCount(CountValue({77, 5, 6}, value), &count));
  EXPECT_EQ(count.count, 77u);
  EXPECT_EQ(count.version, 6u);
}

TEST_F(LinkbenchRunTest, TheIndexGivesNewerLinksFirst) {
  char a[64], b[64];
  const std::string newer(IndexKey({7, kFirstLinkType, 9}, kVisible, 2000, a));
  const std::string older(IndexKey({7, kFirstLinkType, 1}, kVisible, 1000, b));
  EXPECT_LT(newer, older);
}

TEST_F(LinkbenchRunTest, TheLoadIsWhatTheDegreesSay) {
  for (const char* distribution : {"2017", "2011"}) {
    options_.extra["distribution"] = distribution;
    const Settings settings(*dataset_, options_);
    const LinkDegrees degrees(settings.Degrees());
    uint64_t links = 0, counts = 0;
    for (uint64_t id = 0; id < settings.nodes; ++id) {
      for (uint32_t type = 0; type < settings.link_types; ++type) {
        links += degrees.Links(id, type);
        counts += degrees.Links(id, type) > 0;
      }
    }
    for (int threads : {1, 3}) {
      Open();
      const PhaseResult result = Run("linkbench-load", threads);
      EXPECT_EQ(result.wrong, 0u) << result.first_wrong;
      EXPECT_EQ(result.operations(), workload_->operations());
      EXPECT_EQ(result.totals.rows_written, 3000 + links + counts);
      EXPECT_EQ(result.totals.rows_inserted, 3000 + links + counts);
      EXPECT_EQ(Check(), "");
      const nlohmann::json details = workload_->Details();
      EXPECT_EQ(details["nodes"], 3000);
      EXPECT_NEAR(static_cast<double>(workload_->AddedBytes()),
                  static_cast<double>(result.totals.user_bytes_written),
                  0.05 * static_cast<double>(result.totals.user_bytes_written));
      EXPECT_EQ(details["links"], links);
      EXPECT_EQ(details["counts"], counts);
      EXPECT_EQ(details["distribution"], distribution);
      EXPECT_EQ(details["check"]["visible_links"], links);
      EXPECT_EQ(details["check"]["index_entries"], links);
      EXPECT_GT(details["links_per_second"], 0);
    }
  }
}

TEST_F(LinkbenchRunTest, TheIndexBuiltAfterTheLoadIsTheOneBuiltWithIt) {
  for (const char* key : {"type-first", "id1-first"}) {
    options_.extra = {{"link_key", key}, {"link_type_count", "3"}};
    Open();
    Run("linkbench-load", 2);
    const auto entries = [&] {
      std::map<std::string, std::string> all;
      const Tables tables = OpenTables(*engine_);
      auto session = engine_->NewSession();
      auto cursor = session->NewCursor(tables.index);
      for (bool on = cursor->First(); on; on = cursor->Next())
        all.emplace(cursor->key(), cursor->value());
      return all;
    };
    const uint64_t bytes = workload_->AddedBytes();
    const std::map<std::string, std::string> with_links = entries();
    EXPECT_GT(with_links.size(), 3000u);

    Open();
    options_.extra["covering_index"] = "after";
    Run("linkbench-load", 2);
    const uint64_t bytes_without = workload_->AddedBytes();
    EXPECT_TRUE(entries().empty());
    for (const char* refused : {"linkbench", "linkbench-check"}) {
      EXPECT_THROW(Run(refused, 1, 1), Error) << refused;
    }
    const PhaseResult built = Run("linkbench-index", 2);
    EXPECT_EQ(built.operations(), workload_->operations());
    EXPECT_EQ(bytes_without + workload_->AddedBytes(), bytes);
    EXPECT_EQ(built.totals.rows_written, with_links.size());
    EXPECT_EQ(built.wrong, 0u);
    EXPECT_EQ(Check(), "");
    EXPECT_EQ(entries(), with_links) << key;
    EXPECT_THROW(Run("linkbench-index", 1), Error) << "a second time";
    Run("linkbench", 2, 500);
    EXPECT_EQ(Check(), "");
  }
}

// The check must find each kind of damage, and its message must name the row.
TEST_F(LinkbenchRunTest, TheCheckFindsWhatIsBroken) {
  Open();
  Run("linkbench-load", 2);
  const Tables tables = OpenTables(*engine_);
  auto session = engine_->NewSession();
  char key[64];
  auto damage = [&](TableId table, std::string_view at, auto&& change) {
    std::string_view found;
    ASSERT_TRUE(session->Get(table, at, &found));
    const std::string value(found);
    std::string broken = value;
    change(&broken);
    session->Put(table, at, broken);
    EXPECT_NE(Check(), "");
    session->Put(table, at, value);
    ASSERT_EQ(Check(), "");
  };
  const std::string count(CountKey(5, kFirstLinkType, key));
  damage(tables.count, count, [](std::string* v) { v->at(3) = static_cast<char>(v->at(3) + 1); });
  session->Put(tables.count, count, std::string(CountValue({9999, 0, 0}, key)));
  EXPECT_NE(Check().find("the count of id 5 and type 123456789 is 9999"), std::string::npos);
  Run("linkbench-load", 1);  // writes the same rows again
  ASSERT_EQ(Check(), "");

  const std::string link(LinkKey({5, kFirstLinkType, 5}, false, key));
  damage(tables.link, link, [](std::string* v) { v->at(0) = kHidden; });
  damage(tables.link, link, [](std::string* v) { v->at(12) = 1; });
  damage(tables.link, link, [](std::string* v) { v->append("x"); });
  damage(tables.node, NodeKey(8, key), [](std::string* v) { v->at(6) = 3; });

  LinkRow row;
  std::string_view value;
  ASSERT_TRUE(session->Get(tables.link, link, &value) && ReadLink(value, &row));
  const std::string entry(IndexKey({5, kFirstLinkType, 5}, kVisible, row.time, key));
  const std::string stale(IndexKey({5, kFirstLinkType, 5}, kVisible, row.time + 1, key));
  damage(tables.index, entry, [](std::string* v) { v->at(0) = 1; });
  ASSERT_TRUE(session->Get(tables.index, entry, &value));
  session->Put(tables.index, stale, std::string(value));
  EXPECT_NE(Check().find("that no link has"), std::string::npos);
  session->Erase(tables.index, entry);
  EXPECT_NE(Check().find("has no entry in the index"), std::string::npos);
}

// No operation tells a node that the load lost from one that another operation has deleted.
TEST_F(LinkbenchRunTest, RowsThatTheLoadLostAreMissedThoughTheTablesAgree) {
  Open();
  Run("linkbench-load", 2);
  const Tables tables = OpenTables(*engine_);
  char key[64];
  engine_->NewSession()->Erase(tables.node, NodeKey(8, key));
  EXPECT_NE(Check().find("3000 nodes, "), std::string::npos);
  EXPECT_NE(Check().find("the database holds 2999, "), std::string::npos);
  Run("linkbench", 1, 1);
  EXPECT_EQ(Check(), "") << "a node may be deleted";
}

TEST_F(LinkbenchRunTest, ARunLeavesCountsLinksAndIndexInAgreement) {
  for (const char* bugs : {"kept", "mended"}) {
    options_.extra = {{"bugs", bugs}};
    Open();
    Run("linkbench-load", 2);
    const auto phase = [&](uint64_t number) {
      const PhaseResult result = Run("linkbench", 3, 20000);
      EXPECT_EQ(result.wrong, 0u) << result.first_wrong;
      EXPECT_EQ(result.verified, 20000u);
      EXPECT_EQ(Check(), "");
      const nlohmann::json details = workload_->Details();
      EXPECT_EQ(details["phase"], number);
      EXPECT_EQ(details["mix"], "2017");
      for (size_t op = 0; op < kOps; ++op) {
        EXPECT_EQ(OpName(result.ops[op].op), kOpNames[op]);
        EXPECT_NEAR(static_cast<double>(result.ops[op].count) / 200, MixOf("2017")[op], 2);
      }
      const nlohmann::json& found = details["found"];
      EXPECT_EQ(found["getlink_ids"].get<uint64_t>(),
                found["getlink_found"].get<uint64_t>() + found["getlink_missing"].get<uint64_t>());
      EXPECT_NEAR(
          found["getlink_ids"].get<double>() / static_cast<double>(result.ops[kGetLink].count),
          options_.extra["bugs"] == "kept" ? 3.6 : 2.6, 0.2);
      // Every node was loaded with links, so lists are rarely empty, and some additions find their
      // link in the database.
      EXPECT_GT(found["list_links"], result.ops[kGetLinkList].count);
      EXPECT_GT(found["addlink_existing"], 0);
      return details["check"]["nodes"].get<uint64_t>() - result.ops[kAddNode].count +
             result.ops[kDeleteNode].count - found["deletenode_missing"].get<uint64_t>();
    };
    EXPECT_EQ(phase(1), 3000u);
    const uint64_t nodes = workload_->Details()["check"]["nodes"];
    EXPECT_EQ(phase(2), nodes);  // the second phase must not add nodes that exist already
  }
}

// The test has few ids, of which the hottest get nearly all accesses, so that clients write the
// same rows at the same time.
TEST_F(LinkbenchRunTest, CountsStayRightUnderContention) {
  UseRows(16);
  options_.extra = {{"distribution", "2011"}, {"write_shape", "0.99"}, {"read_shape", "0.99"}};
  Open();
  Run("linkbench-load", 1);
  const PhaseResult result = Run("linkbench", 6, 60000);
  EXPECT_EQ(result.wrong, 0u) << result.first_wrong;
  EXPECT_EQ(Check(), "");
  const nlohmann::json found = workload_->Details()["found"];
  EXPECT_GT(found["deletelink_hidden"], 0);
  EXPECT_GT(found["updatelink_missing"], 0);
}

TEST_F(LinkbenchRunTest, EveryOperationDoesItsWork) {
  UseRows(40);
  options_.extra = {{"mix", "2011"}};
  Open();
  Run("linkbench-load", 1);
  // The operations change the numbers of rows in the tables as their counts tell.
  const Tables tables = OpenTables(*engine_);
  auto session = engine_->NewSession();
  auto rows = [&](TableId table) {
    uint64_t n = 0;
    auto cursor = session->NewCursor(table);
    for (bool on = cursor->First(); on; on = cursor->Next()) ++n;
    return n;
  };
  const uint64_t links = rows(tables.link), nodes = rows(tables.node);
  const PhaseResult result = Run("linkbench", 1, 4000);
  const nlohmann::json found = workload_->Details()["found"];
  auto count = [&](Op op) { return result.ops[op].count; };
  auto of = [&](const char* name) { return found[name].get<uint64_t>(); };
  EXPECT_EQ(rows(tables.link),
            links + count(kAddLink) - of("addlink_existing") + of("updatelink_missing"));
  EXPECT_EQ(rows(tables.index), rows(tables.link));
  EXPECT_EQ(rows(tables.node),
            nodes + count(kAddNode) - (count(kDeleteNode) - of("deletenode_missing")));
  // Deleted links are hidden, and stay in the table.
  ASSERT_EQ(Check(), "");
  const nlohmann::json check = workload_->Details()["check"];
  EXPECT_LT(check["visible_links"], check["links"]);
  EXPECT_EQ(check["links"].get<uint64_t>(), rows(tables.link));
  EXPECT_EQ(result.totals.rows_read, count(kGetNode) - of("getnode_missing") + count(kCountLink) -
                                         of("countlink_missing") + of("getlink_found") +
                                         of("list_links"));
}

TEST_F(LinkbenchRunTest, FullListsGoOnWhereTheyEnded) {
  UseRows(12000);
  options_.extra = {{"link_type_count", "1"},
                    {"read_uncorrelated", "0"},
                    {"mix", "read-list"},
                    {"history", "50"}};
  Open();
  Run("linkbench-load", 2);
  const PhaseResult result = Run("linkbench", 1, 300);
  EXPECT_EQ(result.wrong, 0u) << result.first_wrong;
  const nlohmann::json found = workload_->Details()["found"];
  // One node has 12000 links. A later query reads the links that a full list left out.
  const double lists = found["history_lists"];
  ASSERT_GT(lists, 3);
  EXPECT_NEAR(found["history_links"].get<double>() / lists, 2000, 60);
}

TEST_F(LinkbenchRunTest, TheSameSeedGivesTheSameOperations) {
  auto once = [&] {
    Open();
    Run("linkbench-load", 1);
    const PhaseResult result = Run("linkbench", 1, 5000);
    EXPECT_EQ(Check(), "");
    nlohmann::json all = workload_->Details();
    all["written"] = result.totals.user_bytes_written;
    all["read"] = result.totals.rows_read;
    all["blocks"] = engine_->Counters().block_requests.value_or(0);
    return all.dump();
  };
  const std::string first = once();
  EXPECT_EQ(once(), first);
  options_.seed = 43;
  EXPECT_NE(once(), first);
}

// A trace has the calls that write, and a replay of it tells the same bytes as the user's.
TEST_F(LinkbenchRunTest, TheUsersBytesAreThoseOfAllPutsAndErases) {
  Open();
  Run("linkbench-load", 1);
  workload_ = FindWorkload("linkbench").make(dataset_, options_);
  const std::string path = dir_ + ".trace";
  PhaseResult result;
  {
    TraceRecorder recorder(path, *engine_, "linkbench", workload_->ops());
    PhaseOptions phase;
    phase.operations = 3000;
    phase.recorder = &recorder;
    result = RunPhase(recorder.engine(), *workload_, phase);
    recorder.Finish();
  }
  const TraceFile file(path);
  TraceStream stream(file, AllClients(file));
  uint64_t bytes = 0, erases = 0;
  for (TraceOperation operation; stream.Next(&operation);) {
    for (const TraceCall& call : operation.calls) {
      if (!TraceCallWrites(call.kind)) continue;
      bytes += call.key.size() + (call.kind == TraceCallKind::kPut ? call.number : 0);
      erases += call.kind == TraceCallKind::kErase;
    }
  }
  std::filesystem::remove(path);
  EXPECT_GT(erases, 0u);
  EXPECT_EQ(result.totals.user_bytes_written, bytes);
}

TEST_F(LinkbenchRunTest, TheCheckIsAPhaseToo) {
  options_.extra = {{"check", "off"}, {"settle", "off"}};
  Open();
  Run("linkbench-load", 2);
  EXPECT_EQ(Check(), "");
  EXPECT_FALSE(workload_->Details().contains("check"));
  Run("linkbench", 2, 3000);
  EXPECT_FALSE(workload_->settles());
  options_.extra = {};
  const PhaseResult result = Run("linkbench-check", 3);
  EXPECT_EQ(result.operations(), 1u);
  const nlohmann::json check = workload_->Details()["check"];
  EXPECT_EQ(check["links"], check["index_entries"]);
  EXPECT_GT(check["links"], 3000 * 2);

  const Tables tables = OpenTables(*engine_);
  char key[64];
  engine_->NewSession()->Put(tables.count, CountKey(5, kFirstLinkType, key),
                             std::string(CountValue({9999, 0, 0}, key + 32)));
  EXPECT_THROW(Run("linkbench-check", 1), Error);
}

TEST_F(LinkbenchRunTest, SettingsThatCannotBeAreRefused) {
  for (auto [name, value] : std::map<std::string, std::string>{{"distribution", "2013"},
                                                               {"degree_cap", "7"},
                                                               {"bugs", "some"},
                                                               {"link_type_count", "0"}}) {
    WorkloadOptions options;
    options.extra[name] = value;
    EXPECT_THROW(Settings(*dataset_, options), Error) << name;
  }
}

}  // namespace
}  // namespace testbed::linkbench
