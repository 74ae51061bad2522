// Tests the workloads that have db_bench's names, and ycsb-load: the operations that they perform,
// and the options that they set.
#include <map>
#include <string>
#include <vector>

#include "device/error.h"
#include "tests/cli/command.h"
#include "tools/workload_defaults.h"

namespace testbed {
namespace {

using nlohmann::json;

class DbBenchTest : public CommandTest {
 protected:
  json Measured(const std::string& words) {
    const CommandResult result =
        Run("--engine btree --ram 64M --rows 3000 --warmup 0 --verify all --account off --quiet "
            "--json run.json " +
            words);
    EXPECT_EQ(result.code, 0) << words << result.err;
    return Json("run.json");
  }
  static json Last(const json& document) {
    json last;
    for (const json& phase : document["runs"].back()["phases"]) {
      if (phase["kind"] != "settle") last = phase;
    }
    EXPECT_EQ(last["wrong"], 0);
    EXPECT_EQ(last["not_found"], 0);
    return last;
  }
};

TEST_F(DbBenchTest, EachDoesWhatItsNameSays) {
  const std::pair<const char*, const char*> named[] = {{"overwrite", "update"},
                                                       {"readrandom", "point-read"},
                                                       {"seekrandom", "scan"},
                                                       {"multireadrandom", "multi-get"}};
  for (const auto& [name, operation] : named) {
    const json document = Measured(std::string("--workload fillseq,") + name + " --operations 500");
    EXPECT_EQ(document["options"]["value_size"], 100);
    EXPECT_EQ(document["options"]["key_size"], 16);
    EXPECT_EQ(document["options"]["key_order"], "sequential");
    const json phase = Last(document);
    EXPECT_EQ(phase["name"], name);
    EXPECT_EQ(phase["threads"], 1);
    ASSERT_EQ(phase["operations"].size(), 1u) << name;
    EXPECT_EQ(phase["operations"][0]["name"], operation);
    EXPECT_EQ(phase["operations"][0]["count"], 500);
    const double rows = name == std::string("multireadrandom") ? 8000 : 500;
    const char* figure = name == std::string("overwrite") ? "rows_written" : "rows_read";
    EXPECT_EQ(phase[figure], rows) << name;
  }
}

// Once, a run with seekrandom scanned one row in its other workloads as well, without a word.
TEST_F(DbBenchTest, TheSeekAloneIsNotTheScanOfOthers) {
  const auto defaults = [](const char* other, const char* action, const std::string& given) {
    const std::vector<std::string> workloads = {"insert", "seekrandom", other};
    return WorkloadDefaults(
        workloads, [&](const std::string& name) { return name == given; },
        std::map<std::string, double>{{action, 1.0}});
  };
  ExpectRefused(Run("--engine btree --ram 64M --rows 1000 --dir d --workload "
                    "fillseq,seekrandom,mixed --mix point-read=1,scan=1"),
                "--workload seekrandom stands for --scan-rows 1, and mixed would scan as few rows; "
                "run them one by one with --reuse, or give --scan-rows");
  EXPECT_TRUE(DirectoryIsEmpty());
  EXPECT_THROW(defaults("mixed", "scan", ""), Error);
  EXPECT_EQ(defaults("mixed", "point-read", "").at("scan-rows"), "1");
  EXPECT_EQ(defaults("overwrite", "scan", "").at("scan-rows"), "1");
  EXPECT_FALSE(defaults("mixed", "scan", "scan-rows").contains("scan-rows"));
}

TEST_F(DbBenchTest, FillRandomAndYcsbLoadLoadEachRowOnce) {
  json document = Measured("--workload fillrandom");
  EXPECT_EQ(document["options"]["key_order"], "permuted");
  EXPECT_EQ(Last(document)["rows_inserted"], 3000);
  document = Measured("--workload ycsb-load,ycsb-c --operations 100");
  EXPECT_EQ(document["options"]["value_size"], 1000);
  const json& load = document["runs"].front()["phases"][0];  // reads have a run of their own
  EXPECT_EQ(load["name"], "ycsb-load");
  EXPECT_EQ(load["operations"][0]["count"], 3000);
}

TEST_F(DbBenchTest, OneThreadMoreWritesWhileTheOthersRead) {
  json phase;
  for (const char* seconds : {"1", "4", "16"}) {
    phase = Last(Measured(
        std::string("--workload fillseq,readwhilewriting --threads 3 --seconds ") + seconds));
    if (phase["operations"].size() == 2u) break;  // otherwise a thread has not run yet
  }
  EXPECT_EQ(phase["threads"], 3);
  EXPECT_EQ(phase["thread_operations"].size(), 4u);
  ASSERT_EQ(phase["operations"].size(), 2u);
  EXPECT_EQ(phase["operations"][0]["name"], "point-read");
  EXPECT_EQ(phase["operations"][1]["name"], "update");
}

// The clients share --rate; the writer has its own.
TEST_F(DbBenchTest, TheThreadThatWritesTakesNoShareOfTheRate) {
  const json phase =
      Last(Measured("--workload fillseq,readwhilewriting --threads 1 --seconds 2 --rate 300 "
                    "--workload-option write_rate=20"));
  EXPECT_LE(phase["clients_rate"].get<double>(), 303) << "without the writer's";
  EXPECT_GT(phase["rate"].get<double>(), phase["clients_rate"].get<double>());
  for (const json& op : phase["operations"]) {
    const double done = op["count"], rate = op["name"] == "point-read" ? 300 : 20;
    EXPECT_GT(done, rate * 1.4) << op;
    EXPECT_LE(done, rate * phase["seconds"].get<double>() + 5) << op;
  }
}

// Otherwise the reads, which take a moment, would be divided by the time of the slower writer.
TEST_F(DbBenchTest, AWriterWithARateEndsWithTheReaders) {
  const json phase =
      Last(Measured("--workload fillseq,readwhilewriting --operations 3000 "
                    "--workload-option write_rate=10"));
  EXPECT_EQ(phase["operations"][0]["count"], 3000);
  EXPECT_LT(phase["seconds"], 60);
}

TEST_F(DbBenchTest, ADatabaseOfOnePresetServesTheOthers) {
  Measured("--workload fillseq --dir d");
  const CommandResult result =
      Run("--dir d --reuse --workload readrandom --operations 100 --warmup 0 --ram 64M --quiet");
  EXPECT_EQ(result.code, 0) << result.err;
  ExpectRefused(Run("--dir d --reuse --workload fillseq --ram 64M"), "loads an empty database");
}

}  // namespace
}  // namespace testbed
