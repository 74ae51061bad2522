// Tests the releases of PostgreSQL that were fetched (tools/setup/fetch_postgres.sh): what differs
// from the conformance suite, which runs on them nightly.
#ifdef TESTBED_HAVE_POSTGRES
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engines/postgres/versions.h"
#include "tests/engine/engine_test.h"
#include "tests/engine/setting_in_force.h"

namespace testbed {
namespace {

std::vector<EngineCase> ReleaseCases() {
  std::vector<EngineCase> cases;
  for (const ServerChoice& server : FindEngine("postgres").servers()) {
    cases.push_back({"postgres", IoMode::kBuffered, "none", "server=" + server.name});
  }
  return cases;
}

// Each is skipped where its release was not fetched, with the sentence that says how to fetch it.
class PostgresReleaseTest : public EngineTest {
 protected:
  std::string Release() const {
    const std::string& variant = GetParam().variant;
    return variant.substr(variant.find('@') + 1);
  }
  postgres::Version Version() const { return postgres::ParseVersion(Release()); }
  std::string Effective(const std::string& wanted) const {
    return SettingInForce(*engine_, wanted);
  }
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PostgresReleaseTest);
INSTANTIATE_TEST_SUITE_P(Servers, PostgresReleaseTest, testing::ValuesIn(ReleaseCases()),
                         EngineCaseName);

TEST_P(PostgresReleaseTest, IsTheVersionThatWasAskedFor) {
  Open();
  EXPECT_EQ(Effective("version").substr(0, Release().size()), Release());
  EXPECT_EQ(Effective("io_method"), Version() >= postgres::kIoMethods ? "sync" : "(none)");
  EXPECT_EQ(Effective("plan_cache_mode"),
            Version() >= postgres::kGeneratedColumns ? "force_generic_plan" : "(none)");
  EXPECT_EQ(engine_->KeepsIndexes(), Version() >= postgres::kGeneratedColumns);
}

// The statistics and the files of the log are in other places in other versions.
TEST_P(PostgresReleaseTest, CountsItsBlocksAndItsLog) {
  options_.durability = Durability::kSync;
  Open();
  const EngineCounters before = engine_->Counters();
  Load(2000, 400);
  engine_->Settle();
  const EngineCounters after = engine_->Counters();
  EXPECT_GT(after.block_requests.value_or(0), before.block_requests.value_or(0));
  EXPECT_GT(after.blocks_written.value_or(0), before.blocks_written.value_or(0));
  EXPECT_EQ(after.log_payload_bytes.has_value(), Version() >= postgres::kWalStatistics);
  EXPECT_GT(engine_->SizeOnDisk().log_bytes, 0u);
}

TEST_P(PostgresReleaseTest, ADatabaseOfAnotherVersionIsRefusedByOneSentence) {
  Open();
  Put("k", "v");
  Close();
  for (const ServerChoice& other : FindEngine("postgres").servers()) {
    if (other.program.empty() || other.name == "postgres@" + Release()) continue;
    options_.extra["server"] = other.name;
    options_.extra.erase("wal_segment_size");
    const std::string sentence = ErrorOf(Error::kUsage, [&] { Open(); });
    EXPECT_THAT(sentence,
                testing::HasSubstr("give --server postgres@" + postgres::MajorName(Version()) +
                                   ", or load it anew with --fresh"));
  }
  options_.extra["server"] = "postgres@" + Release();
  Open();
  EXPECT_EQ(Get("k"), "v");
}

}  // namespace
}  // namespace testbed
#endif
