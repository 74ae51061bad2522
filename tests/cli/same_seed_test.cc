// Tests that equal seeds give equal operations, and with one client on btree also equal blocks.
#include <map>
#include <string>
#include <vector>

#include "tests/cli/command.h"

namespace testbed {
namespace {

using nlohmann::json;

class SameSeedTest : public CommandTest {
 protected:
  json Phases(const std::string& arguments) {
    const CommandResult result = Run(
        arguments + " --fresh --dir d --ram 128M --quiet --json run.json --account " + account_);
    EXPECT_EQ(result.code, 0) << result.err;
    json phases = json::array();
    const json document = Json("run.json");
    for (const json& run : document["runs"]) {
      for (const json& phase : run["phases"]) phases.push_back(phase);
    }
    return phases;
  }

  // Returns the counts of the clients' operations, without their costs.
  json LogicalCounts(const json& phase) const {
    json counts = {{"name", phase["name"]}};
    for (const char* figure : {"count", "rows_written", "user_bytes_written", "wrong"}) {
      if (phase.contains(figure)) counts[figure] = phase[figure];
    }
    for (const char* figure : {"rows_read", "not_found", "verified"}) {
      if (found_ && phase.contains(figure)) counts[figure] = phase[figure];
    }
    if (!phase.contains("operations")) return counts;
    for (const json& op : phase["operations"]) {
      counts["operations"][op["name"].get<std::string>()] = op["count"];
    }
    return counts;
  }

  void ExpectTheSameTwice(const std::string& arguments) {
    const json first = Phases(arguments), second = Phases(arguments);
    ASSERT_EQ(first.size(), second.size()) << arguments;
    uint64_t operations = 0;
    for (size_t i = 0; i < first.size(); ++i) {
      EXPECT_EQ(LogicalCounts(first[i]), LogicalCounts(second[i])) << arguments;
      operations += first[i].value("count", uint64_t{0});
    }
    EXPECT_GT(operations, 1000u) << arguments;
  }

  bool found_ = true;  // whether the results of reads are compared, too
  // The readings of a deeper account would wait for the writes of other programs to the disk.
  std::string account_ = "off";
};

TEST_F(SameSeedTest, GivesTheSameOperations) {
  // Operations are drawn before an engine sees them, so that one engine is enough.
  std::vector<std::string> engines = {"btree"};
  if (EveryWay()) engines = {"btree", "rocksdb", "wiredtiger", "lmdb", "sqlite"};
  for (const std::string& engine : engines) {
    if (!HasEngine(engine)) continue;
    const std::string base = "--engine " + engine + " ";
    ExpectTheSameTwice(base +
                       "--rows 5000 --operations 4000 --threads 4 --hit-ratio 0.8 "
                       "--key-order random --indexes 2 --distribution zipfian");
    const std::string mixed = base +
                              "--rows 5000 --operations 4000 --workload insert,mixed "
                              "--mix point-read=60,update=20,insert=10,erase=5,scan=5 --threads ";
    ExpectTheSameTwice(mixed + "1");
    found_ = false;  // a client may or may not find a row that another client erases
    ExpectTheSameTwice(mixed + "3");
    found_ = true;
    ExpectTheSameTwice(base +
                       "--rows 300 --operations 2000 --threads 2 "
                       "--workload document-load,document-query");
  }
}

// The database is loaded in random order, so that pages split anywhere. It is read with about a
// quarter of it in the pool.
TEST_F(SameSeedTest, GivesOneClientOfBtreeTheSameBlocks) {
  account_ = "file";
  std::vector<std::string> modes = {"direct"};
  if (EveryWay()) modes.emplace_back("buffered");
  for (const std::string& io : modes) {
    const std::string arguments =
        std::string(
            "--engine btree --threads 1 --key-order permuted --rows 40000 --value-size 400 "
            "--rows-per-transaction 100 --operations 20000 --cache-size 6M --drop-caches --io ") +
        io;
    std::map<std::string, json> first;
    for (int time = 0; time < 2; ++time) {
      const json phases = Phases(arguments);
      const json& read = phases.back();
      ASSERT_EQ(read["name"], "point-read");
      json blocks = {{"engine", read["account"]["engine"]["block_requests"]},
                     {"misses", read["account"]["engine"]["block_reads"]}};
      for (const json& cause : read["account"]["causes"]) {
        if (cause["name"] != "point-read") continue;
        blocks["file"] = cause["file"];
        blocks["histogram"] = cause["file_reads_histogram"];
      }
      EXPECT_GT(blocks["file"]["reads"], 5000);
      const auto [at, is_new] = first.try_emplace(io, blocks);
      EXPECT_EQ(at->second, blocks) << io;
    }
  }
}

// The second phase must not ask for the rows that the first one has just cached.
TEST_F(SameSeedTest, EachPhaseOfARunDrawsRowsOfItsOwn) {
  const std::string common =
      "--engine btree --dir d --rows 20000 --ram 128M --io direct --threads 1 --quiet --json "
      "run.json --warmup 0 --operations 300 --account file ";
  ASSERT_EQ(Run(common + "--workload insert").code, 0);
  for (const char* then : {"point-read", "multi-get --workload-option keys=1"}) {
    SCOPED_TRACE(then);
    const CommandResult result = Run(common + "--reuse --workload point-read," + then);
    ASSERT_EQ(result.code, 0) << result.err;
    const json document = Json("run.json");
    const json& phases = document["runs"][0]["phases"];
    const auto misses = [&](size_t phase) {
      return phases[phase]["account"]["engine"]["block_reads"].get<int>();
    };
    EXPECT_GT(misses(0), 200);
    EXPECT_GT(misses(1), misses(0) / 2);
  }
}

}  // namespace
}  // namespace testbed
