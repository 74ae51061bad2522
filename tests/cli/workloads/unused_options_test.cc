// Tests that an option which would change nothing in a run is refused with what it belongs to, and
// that it is accepted where it changes something.
#include "tools/unused_options.h"

#include <fstream>
#include <string>
#include <vector>

#include "tests/cli/command.h"
#include "tools/command/command_words.h"
#include "tools/options.h"

namespace testbed {
namespace {

class UnusedOptionsTest : public CommandTest {
 protected:
  static constexpr char kSmall[] = "--engine btree --ram 64M --rows 1000 --dir d ";

  void ExpectUnused(const std::string& arguments, const std::string& sentence) {
    SCOPED_TRACE(arguments);
    ExpectRefused(Run(kSmall + arguments), sentence);
    EXPECT_TRUE(DirectoryIsEmpty());
  }

  // Expects that a run with these words is not refused.
  static void ExpectUsed(std::vector<std::string> words) {
    words.insert(words.begin(), {"--engine", "btree", "--rows", "1000"});
    RunOptions options = ParseRunOptions(words);
    EXPECT_NO_THROW({
      options.Resolve();
      CheckUnusedOptions(options, words);
    }) << words.back();
  }
};

TEST_F(UnusedOptionsTest, ArrivalsAreOfAnOpenLoop) {
  for (const char* closed : {"", " --workload 'insert,point-read 5s'", " --operations 10"}) {
    ExpectUnused("--arrivals exponential" + std::string(closed),
                 "--arrivals exponential belongs to an open loop: give --rate, --find-rate or a "
                 "rate in --workload");
  }
  ExpectRefused(Run("ab --engine null --a '' --b '' --rows 1000 --arrivals exponential --workload "
                    "point-read"),
                "--arrivals exponential belongs to an open loop");
  ExpectUsed({"--arrivals", "exponential", "--rate", "100"});
  ExpectUsed({"--arrivals", "exponential", "--find-rate", "p99 < 5ms"});
  ExpectUsed({"--arrivals", "exponential", "--workload", "insert,point-read 5s @ 1k"});
  ExpectUsed({"--arrivals", "exponential", "--workload", "insert,point-read 5s @ 1k..2k"});
  ExpectUsed({"--arrivals", "even"});
}

TEST_F(UnusedOptionsTest, TheShapeOfADistributionIsOfThatOne) {
  ExpectUnused("--zipf-theta 1.2",
               "--zipf-theta belongs to --distribution zipfian, scrambled or latest, and that of "
               "this run is uniform");
  ExpectUnused("--zipf-theta=0.99 --distribution hot", "and that of this run is hot");
  ExpectUnused("--zipf-theta=0.99 --distribution exponential", "that of this run is exponential");
  ExpectUnused("--hot-fraction 0.1", "--hot-fraction belongs to --distribution hot");
  ExpectUnused("--hot-probability 0.9 --workload ycsb-load,ycsb-a",
               "--hot-probability belongs to --distribution hot, and that of this run is "
               "scrambled");
  for (const char* skewed : {"zipfian", "scrambled", "latest"}) {
    ExpectUsed({"--zipf-theta", "1.2", "--distribution", skewed});
  }
  ExpectUsed({"--hot-fraction", "0.1", "--hot-probability", "0.9", "--distribution", "hot"});
}

TEST_F(UnusedOptionsTest, RowsAreDrawnBySomeWorkloadsAlone) {
  const std::string none =
      " is for workloads that draw rows, such as point-read, mixed and ycsb-a, and --workload ";
  ExpectUnused("--distribution zipfian --workload fillrandom,mixgraph",
               "--distribution" + none + "fillrandom,mixgraph has none");
  ExpectUnused("--distribution latest --workload linkbench-load,linkbench",
               "--distribution" + none + "linkbench-load,linkbench has none");
  ExpectUnused("--distribution zipfian --workload insert,mixed --mix insert=2,erase=1",
               "--distribution" + none + "insert,mixed has none");
  for (const char* drawn :
       {"insert,point-read,settle", "insert,multi-get", "insert,mixed",
        "document-load,document-query", "fillrandom,readwhilewriting", "insert"}) {
    ExpectUsed({"--distribution", "zipfian", "--hit-ratio", "0.5", "--workload", drawn});
  }
  // What makes no difference is no mistake.
  ExpectUsed(
      {"--distribution", "uniform", "--hit-ratio", "1", "--workload", "fillrandom,mixgraph"});
}

// Once, --hit-ratio was accepted with workloads that draw rows, though each of these exists.
TEST_F(UnusedOptionsTest, RowsThatDoNotExistAreOfPointReads) {
  const std::string none =
      "--hit-ratio is for workloads with point reads, such as point-read, multi-get and ycsb-a, "
      "and --workload ";
  for (const std::string without : {"fillrandom,mixgraph", "fillrandom,overwrite",
                                    "fillrandom,seekrandom", "ycsb-load,ycsb-e"}) {
    ExpectUnused("--hit-ratio 0.5 --workload " + without, none + without + " has none");
  }
  ExpectUnused("--hit-ratio 0.5 --workload insert,mixed --mix update=1,scan=1",
               none + "insert,mixed has none");
  ExpectUnused("--hit-ratio 0.5 --distribution zipfian --workload 'insert,seekrandom 1s ~2'",
               none + "insert,seekrandom has none");
  for (const char* with : {"insert,point-read,settle", "fillrandom,overwrite,multireadrandom",
                           "fillrandom,readwhilewriting", "ycsb-load,ycsb-e,ycsb-b",
                           "document-load,document-query", "insert"}) {
    ExpectUsed({"--hit-ratio", "0.5", "--workload", with});
  }
}

// Once, these were accepted with workloads that never scan, or whose scans have a length of their
// own.
TEST_F(UnusedOptionsTest, TheLengthOfScansIsOfThoseThatTakeIt) {
  const std::string none =
      " is for workloads with scans, such as ycsb-e, seekrandom and mixed with a share of scan in "
      "--mix, and --workload ";
  for (const std::string without :
       {"insert,point-read,mixed", "ycsb-load,ycsb-a", "fillrandom,mixgraph"}) {
    ExpectUnused("--scan-rows 5 --workload " + without,
                 "--scan-rows" + none + without + " has none");
  }
  ExpectUnused("--workload-option scan_length=uniform --workload insert,mixed",
               "--workload-option scan_length" + none + "insert,mixed has none");
  for (const char* with : {"insert,point-read,ycsb-e", "fillseq,seekrandom", "insert"}) {
    ExpectUsed({"--scan-rows", "5", "--workload", with});
  }
  ExpectUsed({"--scan-rows", "5", "--workload-option", "scan_length=zipfian", "--mix", "scan=1",
              "--workload", "insert,mixed"});
  const std::vector<std::string> reads = {"--workload", "mixed", "--mix", "point-read=1"};
  std::vector<std::string> words = reads;
  words.insert(words.end(), {"--scan-rows=5", "--workload-option", "scan_length=uniform",
                             "--workload-option=scan_length=fixed"});
  EXPECT_EQ(WithoutUndrawn(words), reads);
  words[3] = "scan=1";
  EXPECT_EQ(WithoutUndrawn(words), words);
}

TEST_F(UnusedOptionsTest, AdviceForMappedFilesIsOfThese) {
  ExpectUnused("--mmap-advice random --io buffered",
               "--mmap-advice random is for mapped files, and this run has --io buffered");
  ExpectUnused("--mmap-advice sequential --io direct", "and this run has --io direct");
  ExpectUsed({"--mmap-advice", "random", "--io", "mmap"});
  ExpectUsed({"--mmap-advice", "normal", "--io", "direct"});
}

TEST_F(UnusedOptionsTest, AdviceForThePageCacheIsOfWhatItServes) {
  ExpectUnused("--file-advice random --io direct",
               "--file-advice random is for the kernel's page cache, and this run has --io direct");
  ExpectUsed({"--file-advice", "random", "--io", "buffered"});
  ExpectUsed({"--file-advice", "normal", "--io", "direct"});
}

// No read of an engine that does its IO itself is recorded. Once, the run said nothing of that.
TEST_F(UnusedOptionsTest, TheReadaheadModelIsOfReadsThatAreRecorded) {
  ExpectRefused(Run("--engine mmapv1 --ram 64M --rows 1000 --dir d --readahead-model"),
                "--readahead-model replays the reads of engines that read through testbed's file "
                "layer, and mmapv1 does its IO itself; leave --readahead-model out");
  EXPECT_TRUE(DirectoryIsEmpty());
  ExpectUsed({"--readahead-model"});
  EXPECT_EQ(RepeatCommand({{"options", {{"engine", "mmapv1"}}},
                           {"command", {"--engine", "mmapv1", "--readahead-model", "--quiet"}}}),
            "testbed --engine mmapv1 --quiet\n");
}

TEST_F(UnusedOptionsTest, AnIntervalIsOfLazyCommits) {
  ExpectUnused("--lazy-interval 50 --durability sync",
               "--lazy-interval is for --durability lazy, and this run has sync");
  ExpectUsed({"--lazy-interval", "50"});
  ExpectUsed({"--lazy-interval", "50", "--durability", "none"});
}

TEST_F(UnusedOptionsTest, FreshRemovesTheDatabaseOfADirectory) {
  ExpectRefused(Run("--engine btree --ram 64M --rows 1000 --fresh"),
                "--fresh removes the database in --dir, and without --dir the run makes a new "
                "directory; give --dir, or leave --fresh out");
  EXPECT_TRUE(DirectoryIsEmpty());
  ExpectUsed({"--fresh", "--dir", "d"});
}

TEST_F(UnusedOptionsTest, LengthsAndRatesAreOfPhasesWithoutTheirOwn) {
  const std::string none =
      " is for phases without a length of their own, and --workload has no such phase";
  const std::string all = " --workload 'insert,point-read 5s,ycsb-c 1s @ 100,settle'";
  ExpectUnused("--seconds 9" + all, "--seconds" + none + "; leave --seconds out");
  ExpectUnused("--operations=9" + all, "--operations" + none);
  ExpectUnused("--seconds 9 --workload 'linkbench-load,linkbench 5s,linkbench-check'",
               "--seconds" + none);
  ExpectUsed({"--operations", "9", "--workload", "linkbench-load,linkbench 5s,linkbench-check"});
  for (const char* option : {"--seconds", "--operations"}) {
    for (const char* some : {"insert,point-read 5s,ycsb-c", "insert,settle,point-read", "insert",
                             "insert,ycsb-c @ 9"}) {
      ExpectUsed({option, "9", "--workload", some});
    }
  }
  ExpectUsed({"--operations", "9", "--workload", "linkbench-load,linkbench-check"});
  ExpectUsed({"--cache-pct", "auto", "--seconds", "9", "--workload", "insert,point-read 5s"});
  ExpectUsed({"--rate", "9", "--workload", "insert,point-read 5s @ 5"});  // the load keeps to it
  ExpectRefused(
      Run(std::string(kSmall) + "--reuse --rate 9 --workload 'point-read @ 5,settle'"),
      "--rate is for phases without a rate of their own, and --workload has no such phase");
  EXPECT_TRUE(DirectoryIsEmpty());
}

// Once, a run whose workloads all end by themselves took --seconds and --warmup, which have no
// effect on it.
TEST_F(UnusedOptionsTest, ATimeIsOfPhasesThatDoNotEndByThemselves) {
  const std::string none = " of their own, and --workload has no such phase; leave ";
  const std::string ending = " --workload 'linkbench-load,linkbench-check,settle'";
  ExpectUnused("--seconds 9" + ending,
               "--seconds is for phases without a length" + none + "--seconds out");
  ExpectUnused("--warmup 3" + ending,
               "--warmup is for phases without an end" + none + "--warmup out");
  ExpectUsed({"--warmup", "0", "--workload", "linkbench-load,linkbench-check"});
  for (const char* option : {"--seconds", "--warmup"}) {
    for (const char* some : {"linkbench-load,linkbench,linkbench-check", "linkbench-load"}) {
      ExpectUsed({option, "9", "--workload", some});
    }
  }
  ExpectUsed({"--warmup", "1", "--workload", "insert,point-read 5s"});
  const std::vector<std::string> check = {"--workload", "linkbench-check"};
  std::vector<std::string> words = check;
  words.insert(words.end(), {"--seconds", "9", "--warmup", "3"});
  EXPECT_EQ(WithoutUndrawn(words), check);
  const std::vector<std::string> replay = {"--workload", "replay:missing.trace"};
  words = replay;
  words.insert(words.end(), {"--seconds", "9"});
  EXPECT_EQ(WithoutUndrawn(words), replay);
}

// Once, a sweep over an option that another one overrides compared cells that were one and the
// same.
TEST_F(UnusedOptionsTest, OfTwoOptionsThatDecideTheSameOneIsRefused) {
  ExpectUnused("--cache-size 16M --cache-pct 20",
               "--cache-size and --cache-pct both decide the size of the engine's cache; leave one "
               "of them out");
  ExpectUnused("--db-ratio 2", "--rows and --db-ratio both decide how many rows there are");
  ExpectUnused("--verify-every 5 --verify none",
               "--verify-every and --verify both decide how many answers are checked");
  const std::string swept = "--engine null --ram 64M --out o ";
  ExpectRefused(Run(swept + "--rows 1000 --cache-size=16M --cache-pct 20,80"),
                "--cache-size and --cache-pct both decide");
  ExpectRefused(Run(swept + "--rows 1000 --db-ratio 0.1,2"), "--rows and --db-ratio both decide");
  ExpectRefused(Run(swept + "--rows 9 --verify none,all --verify-every 64"),
                "--verify-every and --verify both decide");
  EXPECT_TRUE(DirectoryIsEmpty());
  std::ofstream(directory_ / "keys") << "a\nb\n";
  ExpectRefused(Run("--engine null --ram 64M --keys keys --key-size 32"),
                "--keys and --key-size both decide how long the keys are");
  ExpectRefused(Run("--engine null --ram 64M --keys keys --db-ratio 2"),
                "--keys and --db-ratio both decide how many rows there are");
}

TEST_F(UnusedOptionsTest, ACommandIsRidOfTheOptionsThatLose) {
  EXPECT_EQ(WithoutRivals({"--rows", "9", "--db-ratio=2", "--cache-pct", "20", "--verify", "all"}),
            (std::vector<std::string>{"--rows", "9", "--cache-pct", "20", "--verify", "all"}));
}

// `testbed report --command` prints a command that a run accepts (tests/cli/reuse_test.cc).
TEST_F(UnusedOptionsTest, ACommandIsRidOfWhatItsWorkloadsRefuse) {
  const std::vector<std::string> graph = {"--distribution", "zipfian", "--zipf-theta=0.7",
                                          "--hit-ratio",    "0.5",     "--arrivals",
                                          "exponential",    "--rows",  "9"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), graph.begin(), graph.end());
    return more;
  };
  const std::vector<std::string> linkbench = {"--workload", "linkbench"};
  EXPECT_EQ(WithoutUndrawn(with(linkbench)),
            (std::vector<std::string>{"--workload", "linkbench", "--rows", "9"}));
  const std::vector<std::string> scans = {"--workload",  "mixed", "--mix",          "scan=1",
                                          "--hit-ratio", "0.5",   "--distribution", "zipfian"};
  EXPECT_EQ(WithoutUndrawn(scans),
            (std::vector<std::string>{"--workload", "mixed", "--mix", "scan=1", "--distribution",
                                      "zipfian"}));
  const std::vector<std::string> paced = with({"--workload", "point-read", "--rate", "100"});
  EXPECT_EQ(WithoutUndrawn(paced), paced);
  const std::vector<std::string> own = with({"--workload", "insert,point-read 5s @ 100"});
  EXPECT_EQ(WithoutUndrawn(own), own);
  const auto timed = [](const char* share) -> std::vector<std::string> {
    return {"--workload", "insert,point-read 5s", "--cache-pct", share, "--seconds", "9"};
  };
  EXPECT_EQ(WithoutUndrawn(timed("20")).size(), 4u) << "--seconds and its value";
  EXPECT_EQ(WithoutUndrawn(timed("auto")), timed("auto")) << "the trials take it";
  const std::vector<std::string> newer = with({"--workload", "point-write @ 9"});
  EXPECT_EQ(WithoutUndrawn(newer), newer) << "of another version";
}

// The cells of a sweep share options, of which one may have no use for all.
TEST_F(UnusedOptionsTest, ASweepMayHaveOptionsThatNotAllCellsUse) {
  const CommandResult forecast =
      Run("--engine btree --rows 1000 --distribution uniform,zipfian --zipf-theta 1.2 --forecast");
  EXPECT_EQ(forecast.code, 0) << forecast.err;
}

}  // namespace
}  // namespace testbed
