// Tests the document workloads as a run executes them.
#include "workloads/documents/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "device/error.h"
#include "engines/registry.h"
#include "workloads/documents/format.h"
#include "workloads/measure/runner.h"

namespace testbed {
namespace {

class DocumentTest : public testing::Test {
 protected:
  DocumentTest() {
    std::string pattern = std::filesystem::current_path() / "document_test_XXXXXX";
    directory_ = mkdtemp(pattern.data());
    EngineOptions options;
    options.durability = Durability::kNone;
    engine_ = OpenEngine("btree", directory_, options);
    DatasetOptions rows;
    rows.rows = kRows;
    dataset_ = std::make_shared<const Dataset>(rows);
    options_.rows_per_transaction = 7;
  }
  ~DocumentTest() override {
    engine_.reset();
    std::filesystem::remove_all(directory_);
  }

  PhaseResult Load() {
    PhaseOptions phase;
    phase.threads = 2;
    phase.verify_every = 1;
    return RunPhase(*engine_, *DocumentLoadInfo().make(dataset_, options_), phase);
  }
  PhaseResult Query(uint64_t operations) {
    query_ = DocumentQueryInfo().make(dataset_, options_);
    PhaseOptions phase;
    phase.threads = 2;
    phase.operations = operations;
    phase.verify_every = 1;
    return RunPhase(*engine_, *query_, phase);
  }
  nlohmann::json Details() const { return query_->Details(); }

  static constexpr uint64_t kRows = 500;
  std::string directory_;
  std::unique_ptr<Engine> engine_;
  std::shared_ptr<const Dataset> dataset_;
  WorkloadOptions options_;
  std::unique_ptr<Workload> query_;
};

TEST_F(DocumentTest, LoadsEachDocumentOnceAndFindsItInEveryFormat) {
  for (const std::string& format : DocumentFormats()) {
    options_.extra = {{"format", format}, {"attributes", "50"}, {"y", "first"}};
    const PhaseResult load = Load();
    EXPECT_EQ(load.wrong, 0u) << load.first_wrong;
    EXPECT_EQ(load.totals.rows_written, kRows);
    EXPECT_EQ(load.totals.rows_inserted, kRows);
    EXPECT_EQ(load.operations(), (kRows + 6) / 7);
    const auto codec = MakeDocumentCodec(format, {50, true}, DocumentAccess::kWhole);
    const std::unique_ptr<Session> session = engine_->NewSession();
    const TableId table = engine_->OpenTable(kMainTable);
    for (uint64_t row = 0; row < kRows; ++row) {
      char room[64];
      std::string_view document;
      ASSERT_TRUE(session->Get(table, dataset_->Key(row, room), &document));
      ASSERT_TRUE(codec->Match(document, static_cast<int64_t>(row), static_cast<int64_t>(row)));
    }
    const PhaseResult query = Query(640);
    EXPECT_EQ(query.wrong, 0u) << query.first_wrong;
    EXPECT_EQ(query.verified, 640u);
    EXPECT_EQ(query.totals.rows_read, 640u);
    EXPECT_EQ(query.totals.not_found, 0u);
  }
}

// --scratch auto makes a device for these bytes.
TEST_F(DocumentTest, TheLoadTellsHowManyBytesItsDocumentsTake) {
  for (const std::string& format : DocumentFormats()) {
    options_.extra = {{"format", format}, {"attributes", "300"}};
    const std::unique_ptr<Workload> load = DocumentLoadInfo().make(dataset_, options_);
    const PhaseResult result = RunPhase(*engine_, *load, PhaseOptions());
    const auto written = static_cast<double>(result.totals.user_bytes_written);
    EXPECT_NEAR(static_cast<double>(load->AddedBytes()), written, written / 20) << format;
  }
}

TEST_F(DocumentTest, AYThatNoDocumentHasMatchesNothing) {
  Load();
  options_.hit_ratio = 0.25;
  const PhaseResult query = Query(2000);
  EXPECT_EQ(query.wrong, 0u) << query.first_wrong;
  EXPECT_NEAR(static_cast<double>(query.totals.not_found), 1500, 100);
}

TEST_F(DocumentTest, ADocumentOfAnotherShapeIsFoundWrong) {
  Load();
  options_.extra = {{"attributes", "11"}};
  const PhaseResult query = Query(100);
  EXPECT_EQ(query.wrong, 100u);  // y is found, but the stored document is not the expected one
}

TEST_F(DocumentTest, DetailsSplitTheTimeAndCountAllocations) {
  options_.extra = {{"format", "cbor"}, {"attributes", "300"}};
  Load();
  Query(3200);
  const nlohmann::json d = Details();
  EXPECT_EQ(d["format"], "cbor");
  EXPECT_EQ(d["access"], "whole");
  EXPECT_EQ(d["attributes"], 300);
  EXPECT_EQ(d["y"], "last");
  EXPECT_EQ(d["sampled"], 100);
  EXPECT_NEAR(d["engine_share"].get<double>() + d["parse_share"].get<double>() +
                  d["project_share"].get<double>(),
              1, 1e-9);
  EXPECT_GT(d["allocation_ns"], 0);
  EXPECT_GE(d["allocations"], 302);  // allocations of a query, without its verification
  EXPECT_LT(d["allocations"], 640);  // two per attribute, because the library copies its tree once
  EXPECT_GT(d["document_bytes"], 300 * 4);
  // A query that reads only the needed attributes from FlatBuffers allocates nothing.
  options_.extra["access"] = "needed";
  options_.extra["format"] = "flatbuffers";
  Load();
  Query(3200);
  EXPECT_EQ(Details()["allocations"], 0);
}

// A query without a match has nothing to project. Once project_ns was then the time that two
// readings of the clock take.
TEST_F(DocumentTest, ThePartsOfAQueryAreNetOfTheClock) {
  options_.extra = {{"format", "flatbuffers"}, {"access", "needed"}};
  Load();
  options_.hit_ratio = 0;
  Query(32000);
  const nlohmann::json d = Details();
  EXPECT_GE(d["sampled"], 900);
  EXPECT_GT(d["clock_p95_ns"], 0);
  EXPECT_LE(d["clock_ns"], d["clock_p95_ns"]);
  EXPECT_LT(d["project_ns"], d["clock_ns"]);
  EXPECT_GT(d["engine_ns"], d["project_ns"]);
}

TEST_F(DocumentTest, OptionsThatCannotBeAreUsageErrors) {
  for (const auto& [name, value] : std::map<std::string, std::string>{
           {"format", "xml"}, {"attributes", "0"}, {"y", "middle"}, {"access", "none"}}) {
    options_.extra = {{name, value}};
    try {
      DocumentQueryInfo().make(dataset_, options_);
      ADD_FAILURE() << name;
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::kUsage);
      EXPECT_THAT(e.what(), testing::HasSubstr("--workload-option " + name + "=" + value));
    }
  }
}

}  // namespace
}  // namespace testbed
