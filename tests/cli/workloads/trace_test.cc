// Tests traces by the real program: a recorded phase, replayed, asks for the same blocks and gets
// the same answers, on its own engine and on others; what cannot be replayed is refused before
// anything is created.
#include <fstream>
#include <string>
#include <vector>

#include "device/os/sys_file.h"
#include "tests/cli/command.h"
#include "tests/cli/results/explained_columns.h"

namespace testbed {
namespace {

using nlohmann::json;

class TraceCommandTest : public CommandTest {
 protected:
  // Runs the workloads and returns the record of the last one's phase.
  json Phase(const std::string& words, const std::string& workload) {
    const CommandResult result =
        Run("--ram 64M --warmup 0 --account file --quiet --json "
            "run.json " +
            words);
    EXPECT_EQ(result.code, 0) << words << result.err;
    const json document = Json("run.json");
    for (const json& phase : document["runs"].back()["phases"]) {
      if (phase["name"] == workload) return phase;
    }
    ADD_FAILURE() << "no phase " << workload;
    return {};
  }
  // Expects equality within a twentieth: the work of the page cleaner depends on the time that a
  // phase takes.
  static void ExpectNear(double value, double expected) {
    EXPECT_NEAR(value, expected, expected / 20);
  }
  static void ExpectSameOperations(const json& replayed, const json& recorded) {
    EXPECT_EQ(replayed["count"], recorded["count"]);
    EXPECT_EQ(replayed["rows_read"], recorded["rows_read"]);
    EXPECT_EQ(replayed["user_bytes_written"], recorded["user_bytes_written"]);
    ASSERT_EQ(replayed["operations"].size(), recorded["operations"].size());
    for (size_t i = 0; i < recorded["operations"].size(); ++i) {
      EXPECT_EQ(replayed["operations"][i]["name"], recorded["operations"][i]["name"]);
      EXPECT_EQ(replayed["operations"][i]["count"], recorded["operations"][i]["count"]);
    }
    ExpectAnswersAsRecorded(replayed);
  }
  static void ExpectAnswersAsRecorded(const json& phase) {
    EXPECT_EQ(phase["details"]["answers_other"], 0);
    EXPECT_EQ(phase["details"]["answers_unknown"], 0);
    EXPECT_GT(phase["details"]["answers_as_recorded"], 0);
    EXPECT_EQ(phase["wrong"], 0);
  }
};

TEST_F(TraceCommandTest, AReplayByOneClientAsksForExactlyTheSameBlocks) {
  const std::string words = "--threads 1 --verify none --cache-size 3M ";
  Phase(words + "--engine btree --rows 20000 --dir d --workload insert", "insert");
  const std::string reuse = words + "--dir d --reuse --workload ";  // begins with an empty cache
  const json recorded = Phase(reuse +
                                  "mixed --mix point-read=8,scan=2 --hit-ratio 0.9 --operations "
                                  "4000 --record a.trace",
                              "mixed");
  const json replayed = Phase(reuse + "replay:a.trace", "replay");
  const json &asked = recorded["account"]["engine"], &asks = replayed["account"]["engine"];
  EXPECT_EQ(asks["block_requests"], asked["block_requests"]);
  EXPECT_EQ(asks["block_reads"], asked["block_reads"]);
  EXPECT_GT(asked["block_reads"], 1000);
  ExpectSameOperations(replayed, recorded);
}

TEST_F(TraceCommandTest, AReplayThatWritesAsksForTheSameBlocks) {
  const std::string words =
      "--engine btree --rows 20000 --threads 1 --verify none --indexes 1 --workload insert,";
  const json recorded = Phase(words +
                                  "mixed --mix point-read=5,scan=1,update=2,read-modify-write=1,"
                                  "insert=1,erase=1 --operations 4000 --record a.trace",
                              "mixed");
  const json replayed = Phase(words + "replay:a.trace", "replay");
  // The page cleaner, which works by time, asks for blocks as well.
  ExpectNear(replayed["account"]["engine"]["block_requests"],
             recorded["account"]["engine"]["block_requests"]);
  ExpectSameOperations(replayed, recorded);
}

TEST_F(TraceCommandTest, EveryEngineGivesTheAnswersOfTheRecording) {
  std::vector<std::string> engines = {"rocksdb", "lmdb", "wiredtiger"};
  if (EveryWay()) {
    for (const char* other : {"sqlite", "mdbx", "fractal", "mmapv1", "pebble", "bf-tree"}) {
      engines.emplace_back(other);
    }
  }
  Phase(
      "--engine btree --rows 5000 --threads 1 --workload insert,ycsb-a --value-size 100 "
      "--operations 2000 "
      "--record a.trace",
      "ycsb-a");
  for (const std::string& engine : engines) {
    if (!HasEngine(engine)) continue;
    const std::string words = "--rows 5000 " + EngineWords(engine);
    ExpectAnswersAsRecorded(Phase(words + " --key-size 23 --value-size 100 --key-order random "
                                          "--workload insert,replay:a.trace",
                                  "replay"));
  }
  ExpectAnswersAsRecorded(
      Phase("--rows 5000 --engine btree --workload replay-load:a.trace,replay:a.trace", "replay"));
}

// Once, the recording of the help ran on a database that the replay's command did not load.
TEST_F(TraceCommandTest, TheExamplesOfTheHelpReplayWhatTheyRecord) {
  std::vector<std::string> commands;
  for (const std::string& line : SplitLines(Run("trace --help").out)) {
    const size_t words = line.find("testbed --engine");
    if (words != std::string::npos && line.find("a.trace") != std::string::npos) {
      commands.push_back(line.substr(words + 8) + " ");
    }
  }
  ASSERT_EQ(commands.size(), 2u);
  if (!HasEngine("lmdb")) GTEST_SKIP() << "lmdb is not in this build";
  Phase(commands[0] + "--rows 2000 --operations 2000", "ycsb-a");
  ExpectAnswersAsRecorded(Phase(commands[1] + "--rows 2000", "replay"));
}

TEST_F(TraceCommandTest, ATransactionOverSeveralTablesIsOneOperationOfTheReplay) {
  const std::string words =
      "--engine btree --rows 300 --threads 1 --verify none --workload linkbench-load,";
  const json recorded = Phase(words + "linkbench --operations 1500 --record l.trace", "linkbench");
  const json replayed = Phase(words + "replay:l.trace", "replay");
  EXPECT_EQ(replayed["operations"].size(), recorded["operations"].size());
  // The workload reads its settings before its first operation, too.
  ExpectNear(replayed["account"]["engine"]["block_requests"],
             recorded["account"]["engine"]["block_requests"]);
  ExpectAnswersAsRecorded(replayed);
}

TEST_F(TraceCommandTest, AReplayAtSpeedOneIsNoSoonerThanTheRecording) {
  Phase(
      "--engine btree --rows 5000 --threads 2 --workload insert,point-read --rate 2000 "
      "--operations 1000 "
      "--record a.trace",
      "point-read");
  const CommandResult info = Run("trace info a.trace --json info.json");
  EXPECT_EQ(info.code, 0) << info.err;
  EXPECT_NE(info.out.find("point-read"), std::string::npos);
  for (const std::string title :
       {"Operations of the trace", "Calls", "Sizes",
        "Working set: what a cache of the most recently used keys would answer"}) {
    EXPECT_EQ(PrintedColumns(info.out, title), ExplainedColumns(title)) << info.out;
  }
  const json facts = Json("info.json");
  EXPECT_EQ(facts["operations"], 1000);
  EXPECT_EQ(facts["clients"], 2);
  const json phase =
      Phase("--engine btree --rows 5000 --workload insert,replay:a.trace --speed 1", "replay");
  EXPECT_EQ(phase["threads"], 2) << "as many as the trace has clients";
  EXPECT_GE(phase["seconds"], facts["seconds"]);
  EXPECT_NE(Run("report run.json --wide").out.find("late p50 us"), std::string::npos);
  const json by_key = Phase(
      "--engine btree --threads 3 --workload insert,replay:a.trace "
      "--workload-option order=key",
      "replay");
  EXPECT_EQ(by_key["count"], 1000);
  ExpectAnswersAsRecorded(by_key);
}

TEST_F(TraceCommandTest, ASweepReplaysWithAThreadForEachClientOfTheTrace) {
  Phase(
      "--engine btree --rows 500 --threads 3 --workload insert,point-read --operations 300 "
      "--record a.trace",
      "point-read");
  const CommandResult sweep =
      Run("--engine btree --rows 500 --ram 64M --account file --quiet --page-size 4k,8k "
          "--workload insert,replay:a.trace --out s");
  ASSERT_EQ(sweep.code, 0) << sweep.err;
  int cells = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory_ / "s/cells")) {
    EXPECT_EQ(json::parse(Read(entry.path()))["runs"].back()["threads"], 3);
    ++cells;
  }
  EXPECT_EQ(cells, 2);
}

// Once, such a run ended with 0, and a script went on to replay an older trace or none.
TEST_F(TraceCommandTest, ARecordingOfNoOperationFailsAndSaysThatThereIsNoTrace) {
  const CommandResult result =
      Run("--engine btree --ram 64M --rows 50 --threads 1 --warmup 0 --account file --quiet "
          "--workload insert,mixed,point-read --mix erase=1 --operations 100 --record a.trace");
  EXPECT_EQ(result.code, 1) << result.err;
  EXPECT_NE(result.err.find("the trace a.trace was not written, because the phase that it records "
                            "had no operation\n"),
            std::string::npos)
      << result.err;
  EXPECT_FALSE(std::filesystem::exists(directory_ / "a.trace"));
}

// The phase that is reported is recorded, and not the warm-up before it.
TEST_F(TraceCommandTest, ASearchForARateRecordsThePhaseThatItReports) {
  const CommandResult result =
      Run("--engine null --ram 64M --rows 1000 --threads 1 --seconds 0.1 --warmup 0.1 --account "
          "file --quiet --json run.json --workload insert,point-read --find-rate 'p50 < 2ms' "
          "--record a.trace");
  ASSERT_EQ(result.code, 0) << result.err;
  const json document = Json("run.json");
  const json& measured = document["runs"].back()["phases"].back();
  EXPECT_EQ(measured["kind"], "measure");
  const CommandResult info = Run("trace info a.trace --json info.json");
  ASSERT_EQ(info.code, 0) << info.err;
  EXPECT_EQ(Json("info.json")["operations"], measured["count"]);
}

// Operations that are far apart and cost nothing begin when they are due. A busy machine may delay
// one replay, but not each of several.
TEST_F(TraceCommandTest, AReplayAtSpeedOneKeepsItsScheduleWithinAMillisecondAtTheMedian) {
  const std::string words = "--engine null --rows 1000 --threads 1 --workload insert,";
  Phase(words + "point-read --rate 200 --operations 200 --record a.trace", "point-read");
  double lateness_us = 0;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const json phase = Phase(words + "replay:a.trace --speed 1", "replay");
    EXPECT_EQ(phase["count"], 200);
    EXPECT_GE(phase["seconds"], 0.9) << "paced";
    lateness_us = phase["lateness_us"]["p50"];
    if (lateness_us <= 1000) return;
  }
  ADD_FAILURE() << lateness_us << " us";
}

// Reads that find no row are fast, so such a replay does not measure the recorded workload.
TEST_F(TraceCommandTest, AReplayOnAnotherDatabaseSaysSo) {
  const std::string words =
      "--engine btree --ram 64M --account file --threads 1 --warmup 0 --quiet ";
  ASSERT_EQ(
      Run(words + "--rows 5000 --workload insert,point-read --operations 1000 --record a.trace")
          .code,
      0);
  const std::string replay = words + "--wide --workload insert,replay:a.trace --rows ";
  EXPECT_NE(Run(replay + "1000").out.find("answers are not those of the recording"),
            std::string::npos);
  EXPECT_EQ(Run(replay + "5000").out.find("answers are not those of the recording"),
            std::string::npos);
}

TEST_F(TraceCommandTest, ALoadFromATraceInsertsEachRowOnceAndCountsNoLookUp) {
  Phase(
      "--engine btree --rows 100 --threads 1 --workload insert,ycsb-a --value-size 100 "
      "--operations 3000 --record a.trace",
      "ycsb-a");
  const json load = Phase(
      "--engine btree --rows 100 --value-size 100 --threads 3 --verify all --workload "
      "replay-load:a.trace",
      "replay-load");
  EXPECT_EQ(load["count"], load["rows_inserted"]);
  EXPECT_EQ(load["count"], load["verified"]);
  EXPECT_LE(load["count"], 100);
  EXPECT_GT(load["count"], 50);
  EXPECT_FALSE(Json("run.json")["runs"][0]["database"].contains("rows")) << "nobody counted them";
}

TEST_F(TraceCommandTest, ADatabaseOfATraceIsReusedByWhateverNameOrTrace) {
  const std::string words = "--engine btree --rows 100 --threads 1 --workload ";
  Phase(words + "insert,point-read --operations 50 --record a.trace", "point-read");
  Phase(words + "insert,point-read --operations 90 --record other.trace", "point-read");
  Phase(words + "replay-load:a.trace --dir d", "replay-load");
  std::filesystem::rename(directory_ / "a.trace", directory_ / "b.trace");
  ExpectAnswersAsRecorded(Phase("--dir d --reuse --workload replay:b.trace", "replay"));
  EXPECT_EQ(Phase("--dir d --reuse --workload replay:other.trace", "replay")["count"], 90);
}

// The values of another seed stand for wrong ones.
TEST_F(TraceCommandTest, AReplayOnALoadOfATraceChecksWhatItReads) {
  const std::string words = "--engine btree --rows 100 --threads 1 --workload ";
  Phase(words + "insert,point-read --operations 50 --record a.trace", "point-read");
  Phase(words + "replay-load:a.trace --dir d --seed 1", "replay-load");
  Phase(words + "replay-load:a.trace --dir other --seed 2", "replay-load");
  const json right = Phase("--dir d --reuse --verify all --workload replay:a.trace", "replay");
  EXPECT_EQ(right["verified"], 50);
  std::filesystem::remove_all(directory_ / "d/db");
  std::filesystem::rename(directory_ / "other/db", directory_ / "d/db");
  const CommandResult wrong =
      Run("--dir d --reuse --verify all --workload replay:a.trace --account file --quiet");
  EXPECT_NE(wrong.code, 0);
  EXPECT_NE((wrong.out + wrong.err).find("wrongly"), std::string::npos) << wrong.err;
}

// After such a replay only a count tells which rows exist. The phase that follows must not read
// rows that do not.
TEST_F(TraceCommandTest, WhatFollowsAReplayOnAReusedDatabaseKnowsItsRows) {
  const std::string words = "--engine btree --rows 2000 --threads 1 --verify all --workload ";
  Phase(words + "insert,mixed --mix erase=1 --operations 1500 --record a.trace", "mixed");
  const json replayed = Phase(words + "insert,replay:a.trace --dir d", "replay");
  EXPECT_EQ(replayed["rows_erased"], 1500);
  const json read =
      Phase("--dir d --reuse --verify all --workload replay:a.trace,point-read --operations 1000",
            "point-read");
  EXPECT_EQ(read["not_found"], 0);
  EXPECT_EQ(Json("run.json")["runs"][0]["database"]["rows"], 500);
}

// The record of the database does not tell its rows after a replay. Once, a second replay took them
// for those of another loader: it checked no value, and did not tell what it inserted and erased.
TEST_F(TraceCommandTest, AReplayAfterAReplayKnowsTheRowsAndChecksThem) {
  const std::string words = "--engine btree --rows 2000 --threads 1 --verify all --workload ";
  Phase(words + "insert,mixed --mix erase=1,update=1 --operations 1000 --record a.trace", "mixed");
  const json first = Phase(words + "insert,replay:a.trace --dir d", "replay");
  const json second = Phase("--dir d --reuse --verify all --workload replay:a.trace", "replay");
  ASSERT_TRUE(second.contains("rows_inserted"));
  // The updates put rows again that the first replay had erased, and the erases of the second
  // replay find them.
  EXPECT_EQ(second["rows_inserted"].get<int>() - second["rows_erased"].get<int>(), 0);
  const json counted = Json("run.json")["runs"][0]["phases"][0];
  ASSERT_EQ(counted["name"], "count-rows");
  EXPECT_EQ(counted["rows"], 2000 - first["rows_erased"].get<int>());
}

// A replay needs no row of the data set. Once, a replay that had written keys of its own was
// refused when it was repeated, because the count of the rows before it found these keys.
TEST_F(TraceCommandTest, AReplayOfOtherKeysIsRepeated) {
  std::ofstream(directory_ / "log.csv")
      << "key,operation,value_size\nsome,set,40\nother,set,50\nsome,get,40\n";
  ASSERT_EQ(Run("trace import --format csv log.csv -o log.trace").code, 0);
  Phase("--engine btree --rows 500 --workload insert,replay:log.trace --dir d", "replay");
  const json again = Phase("--dir d --reuse --workload replay:log.trace", "replay");
  EXPECT_EQ(again["count"], 3);
  const json counted = Json("run.json")["runs"][0]["phases"][0];
  EXPECT_EQ(counted["name"], "count-rows");
  EXPECT_FALSE(counted.contains("rows"));
  EXPECT_FALSE(counted.contains("partial"));
  const CommandResult reads =
      Run("--ram 64M --account file --dir d --reuse --workload point-read --operations 10");
  EXPECT_EQ(reads.code, 1);
  EXPECT_NE(reads.err.find("a key that belongs to no row of it"), std::string::npos) << reads.err;
}

TEST_F(TraceCommandTest, RowsAreCountedAfterAReplayThatWrites) {
  Phase(
      "--engine btree --rows 5000 --threads 1 --workload insert,mixed --mix "
      "insert=3,erase=1,update=1 "
      "--operations 1000 --record a.trace --dir d",
      "mixed");
  std::filesystem::remove_all(directory_ / "d");
  Phase("--engine btree --rows 5000 --threads 1 --workload insert,replay:a.trace --dir d",
        "replay");
  const json phase = Phase("--dir d --reuse --workload point-read --operations 10", "count-rows");
  EXPECT_GT(phase["rows"], 5000);
}

TEST_F(TraceCommandTest, AReplayTellsWhichRowsItInsertedAndErased) {
  for (const int threads : {1, 3}) {
    const std::string trace = "clients" + std::to_string(threads) + ".trace";
    const std::string words = "--engine btree --rows 5000 --indexes 1 --threads " +
                              std::to_string(threads) + " --workload insert,";
    const json recorded = Phase(words +
                                    "mixed --mix insert=4,erase=3,update=2,point-read=1 "
                                    "--operations 3000 --record " +
                                    trace,
                                "mixed");
    const json replayed = Phase(words + "replay:" + trace + ",point-read --seconds 0.1", "replay");
    // Clients race, so an erase may come before the insert of its row. The counts must be those of
    // the rows that exist. A single client does exactly what was recorded.
    EXPECT_GT(replayed["rows_inserted"], 300);
    EXPECT_GT(replayed["rows_erased"], 200);
    if (threads == 1) {
      EXPECT_EQ(replayed["rows_inserted"], recorded["rows_inserted"]);
      EXPECT_EQ(replayed["rows_erased"], recorded["rows_erased"]);
    }
    int counted = 0;
    const json document = Json("run.json");
    for (const json& phase : document["runs"].back()["phases"]) {
      if (phase["name"] != "count-rows") continue;
      ++counted;
      EXPECT_EQ(phase["rows"], 5000 + replayed["rows_inserted"].get<int64_t>() -
                                   replayed["rows_erased"].get<int64_t>());
    }
    EXPECT_EQ(counted, 1) << "the rows were not counted";
  }
}

TEST_F(TraceCommandTest, AReplayOnRowsOfAnotherKindDoesNotTellTheirNumber) {
  const std::string words = "--engine btree --rows 300 --threads 1 --workload sysbench-load,";
  Phase(words + "oltp-insert --operations 50 --record s.trace", "oltp-insert");
  const json replayed = Phase(words + "replay:s.trace", "replay");
  EXPECT_EQ(replayed["count"], 50);
  EXPECT_FALSE(replayed.contains("rows_inserted"));
  EXPECT_FALSE(replayed.contains("rows_erased"));
  EXPECT_EQ(Run("report run.json").code, 0);
}

TEST_F(TraceCommandTest, AnImportTellsWhatItLeftOut) {
  std::ofstream(directory_ / "log.csv") << "time,key,op\n1000,a,set\n3500,b,get\n";
  const CommandResult result = Run("trace import --format csv --time-unit ms log.csv -o log.trace");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("columns that are not used: op;"), std::string::npos) << result.out;
  EXPECT_EQ(Run("trace info log.trace --json info.json").code, 0);
  EXPECT_EQ(Json("info.json")["seconds"], 2.5);
}

TEST_F(TraceCommandTest, WhatCannotBeRecordedOrReplayedIsRefused) {
  const std::string run = "--engine btree --rows 1000 --workload insert,";
  ExpectRefused(Run(run + "replay:none.trace"), "trace none.trace: cannot be opened");
  ExpectRefused(Run(run + "replay"),
                "--workload replay needs a trace; give --workload replay:FILE");
  ExpectRefused(Run(run + "replay:"), "replay:FILE");
  ExpectRefused(Run(run + "replay:a,replay:b"), "names two traces, a and b");
  ExpectRefused(Run(run + "point-read --speed 1"), "--speed is the pace of --workload replay:FILE");
  ExpectRefused(Run(run + "replay:a --speed fast"), "--speed");
  ExpectRefused(Run(run + "replay:a --speed 0"), "max, or a number from 0.001 to 1000");
  ExpectRefused(Run(run + "point-read --record -"), "--record");
  ExpectRefused(Run(run + "point-read --record no/such/directory/a.trace"), "--record");
  ExpectRefused(Run(run + "point-read --threads 1,2 --record a.trace"), "the trace of one run");
  ExpectRefused(Run("--engine btree --rows 100 --workload linkbench-load,linkbench-check --record "
                    "a.trace"),
                "and linkbench-check has none for a trace");
  ExpectRefused(Run(run + "point-read,settle --record a.trace"), "and settle has none for a trace");
  ExpectRefused(Run(run + "point-read --queue-depth 4 --io direct --record a.trace"),
                "leave out --queue-depth");
  ExpectRefused(Run("--engine null --rows 1000000 --key-size 4096 --workload insert "
                    "--rows-per-transaction 100000 --record a.trace"),
                "a smaller --rows-per-transaction");
  ExpectRefused(Run("trace info none.trace"), "trace none.trace: cannot be opened");
  EXPECT_TRUE(DirectoryIsEmpty());
  std::ofstream(directory_ / "text")
      << "not a trace, but a text of some length, as it happens to be";
  ExpectRefused(Run(run + "replay:text"), "trace text: is no trace");
  ExpectRefused(Run("--engine btree --scratch auto --workload replay-load:text"),
                "give --scratch a size");
  ExpectRefused(Run("trace import --format csv text -o out"), "no header with a column key");
  ExpectRefused(Run("trace import --format rocksdb --clients 8 text -o out"), "RocksDB notes none");
  ExpectRefused(Run("trace import --format twitter --time-unit ms text -o out"),
                "--time-unit is of the column time of --format csv");
  ExpectRefused(Run("trace import --format csv --time-unit min text -o out"),
                "--time-unit min is not accepted; it takes s, ms, us, ns");
  // Once, the empty name made the command read all, write nothing and report success; "-" made it
  // write a file of that name.
  for (const std::string command : {"trace import --format csv text -o ", "trace scale text -o "}) {
    const std::string more = command.find("scale") == std::string::npos ? "" : " --share 0.5";
    ExpectRefused(Run(command + "''" + more), "--out '' is not accepted; it takes the name of a");
    ExpectRefused(Run(command + "-" + more), "--out - is not accepted; it takes the name of a");
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_), {}), 1);
}

}  // namespace
}  // namespace testbed
