#include "tools/experiment/verdict/advise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "engines/registry.h"
#include "tools/experiment/report.h"
#include "tools/experiment/sweep/forecast.h"
#include "tools/experiment/verdict/advice_config.h"
#include "tools/experiment/verdict/advise_check.h"
#include "tools/statistics/normal.h"

namespace testbed {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

// Returns a directory that differs in each process, because ctest runs tests at the same time.
std::string AdviseDirectory() {
  return testing::TempDir() + "advise_results_" + std::to_string(::getpid());
}

// Tests the advice from the results of a mixed workload.
class AdviseTest : public testing::Test {
 protected:
  AdviseTest() : directory_(AdviseDirectory()), dir_(directory_) {
    std::filesystem::remove_all(directory_);
  }
  ~AdviseTest() override { std::filesystem::remove_all(directory_); }

  static bool HasEngine(const std::string& name) {
    return std::any_of(Engines().begin(), Engines().end(),
                       [&](const EngineInfo& info) { return info.name == name; });
  }
  // Plans two ways of direct reads, and `last`.
  void Plan(int rounds, const std::string& engine = "btree",
            const std::string& last = "buffered 20") {
    options_.scale = "tiny";
    options_.rounds = rounds;
    options_.set = {{"engine", engine}, {"workload", "insert,mixed"}};
    options_.only = {{"reading", {"direct 50", "direct most", last}}};
    dir_.Create(LoadExperiment("advise"), options_);
    cells_ = PlanCells(LoadExperiment("advise"), options_);
  }
  // Writes the results of a way, with one rate for each round, and the share of the memory that its
  // cache had.
  void Write(size_t way, std::vector<double> rates, const json& not_in_force = json::array(),
             double cache_pct = 0) {
    for (size_t round = 0; round < rates.size(); ++round) {
      const json phase = {{"name", "mixed"},
                          {"kind", "measure"},
                          {"rate", rates[round]},
                          {"count", 1000},
                          {"account",
                           {{"cpu_user_seconds", 0.01},
                            {"cpu_system_seconds", 0.01},
                            {"own", {{"reads", 500}, {"read_bytes", 4096000}}}}}};
      json run = {{"accounting", {{"grade", "A"}}}};
      if (!effective_.is_null()) run["engine"]["effective"] = effective_;
      run["phases"].push_back(phase);
      json document = {{"not_in_force", not_in_force}};
      document["runs"].push_back(run);
      const OptionMap& options = cells_[way].options;
      const auto share = options.find("cache-pct");
      document["options"]["cache_pct"] =
          cache_pct != 0 || share == options.end() || share->second == "most"
              ? cache_pct
              : std::stod(share->second);
      for (const Cell& cell : cells_) {  // the order of the cells differs between rounds
        if (cell.name == cells_[way].name && cell.round == static_cast<int>(round) + 1) {
          dir_.WriteCell(cell, document);
        }
      }
    }
  }
  ResultSet Results() const { return ResultSet(LoadExperiment("advise"), cells_, dir_); }
  std::string Advice() const { return AdviceText(Results()); }

  const std::string directory_;
  ResultsDir dir_;
  PlanOptions options_;
  std::vector<Cell> cells_;
  json effective_;  // `engine.effective` of each run; null without it
};

TEST_F(AdviseTest, TheRateIsThatOfTheWorkload) {
  Plan(3);
  Write(0, {1000, 1010, 1020});
  Write(1, {500, 505, 510});
  Write(2, {2000, 2010, 2020});
  const std::string advice = Advice();
  EXPECT_THAT(advice,
              HasSubstr("Advice: --io buffered --page-size 8k --readahead 16k --cache-pct 20"));
  EXPECT_THAT(advice, HasSubstr("2010 ±24.8 operations/s, 0.500 device reads and 4096 B"));
  EXPECT_THAT(advice,
              HasSubstr("then --io direct --page-size 8k --cache-pct 50 (50 % of the best rate)"));
  EXPECT_THAT(advice, Not(HasSubstr("cannot be told")));
  EXPECT_THAT(advice, HasSubstr("commits were measured with --durability lazy"));
}

// Once, their databases were to be loaded by buffered writes, which they cannot do, so that no way
// was left.
TEST_F(AdviseTest, AnEngineOfMappingsAloneHasTheWaysThatReadThroughMappings) {
  PlanOptions options;
  options.any_machine = true;
  for (const EngineInfo& info : Engines()) {
    const std::vector<IoMode>& modes = info.capabilities.io_modes;
    if (modes.size() != 1 || modes[0] != IoMode::kMmap) continue;
    options.set = {{"engine", info.name}};
    std::vector<Cell> cells;
    EXPECT_NO_THROW(cells = PlanCells(LoadExperiment("advise"), options)) << info.name;
    for (const Cell& cell : cells) {
      EXPECT_EQ(cell.runs() ? cell.labels.at("reading") : "mmap 10", "mmap 10") << cell.name;
    }
  }
}

// Once, `testbed report` of these results had the tables alone.
TEST_F(AdviseTest, AReportOfItsResultsHasTheAdvice) {
  Plan(3);
  Write(0, {1000, 1010, 1020});
  Write(1, {500, 505, 510}, json::array(), 80);
  Write(2, {2000, 2010, 2020});
  EXPECT_THAT(ExperimentText(Results(), {}), testing::EndsWith(Advice()));
  EXPECT_THAT(ExperimentText(Results(), {.markdown = true}), HasSubstr("\nAdvice: --io buffered "));
  Experiment other = LoadExperiment("advise");
  std::erase_if(other.metrics, [](const ExperimentMetric& metric) { return metric.name == "qps"; });
  EXPECT_FALSE(Advises(ResultSet(other, cells_, dir_))) << "an experiment of the same name";
}

TEST_F(AdviseTest, TheEngineMayBeOfAnotherMachine) {
  Plan(3);
  Write(0, {1000, 1010, 1020});
  Write(1, {500, 505, 510}, json::array(), 80);
  Write(2, {2000, 2010, 2020});
  for (Cell& cell : cells_) cell.options["engine"] = "absent";
  EXPECT_THAT(Advice(), HasSubstr("Advice: --io buffered --page-size 8k --readahead 16k "));
}

// Once, the lines were for InnoDB, which such a server does not even start.
TEST_F(AdviseTest, OfMyRocksItsOwnSettingsAreAdvised) {
  const std::vector<std::pair<const char*, OptionMap>> ways = {
      {"by the engine's variant", {{"engine", "mysql:rocksdb"}}},
      {"by --server", {{"engine", "mysql"}, {"server", "rocksdb"}}},
      {"by --engine-option", {{"engine", "mysql"}, {"engine-option.server", "rocksdb"}}}};
  Plan(3);
  Write(0, {1000, 1010, 1020});
  Write(1, {500, 505, 510}, json::array(), 80);
  Write(2, {2000, 2010, 2020});
  for (const auto& [how, options] : ways) {
    for (Cell& cell : cells_) {
      for (const auto& [name, value] : options) cell.options[name] = value;
    }
    EXPECT_THAT(Advice(), HasSubstr("  rocksdb_use_direct_reads = OFF\n")) << how;
    EXPECT_THAT(Advice(), Not(HasSubstr("innodb_"))) << how;
    for (Cell& cell : cells_) {
      for (const auto& [name, value] : options) cell.options.erase(name);
    }
  }
}

// The advice is for a server, which knows no "most".
TEST_F(AdviseTest, TheShareThatMostChoseIsAdvised) {
  Plan(3);
  ASSERT_EQ(cells_[1].options.at("cache-pct"), "most");
  Write(0, {1000, 1010, 1020});
  Write(1, {2000, 2010, 2020}, json::array(), 83.4);
  Write(2, {500, 505, 510});
  const std::string advice = Advice();
  EXPECT_THAT(advice, HasSubstr("Advice: --io direct --page-size 8k --cache-pct 83\n"));
  EXPECT_THAT(advice, Not(HasSubstr("most")));
}

// A way that reads through the page cache is another one on a device with another readahead.
TEST_F(AdviseTest, TheReadaheadOfTheMeasurementIsPartOfTheAdvice) {
  Plan(3, "btree", "mmap 10");
  ASSERT_EQ(cells_[2].labels.at("reading"), "mmap 10");
  Write(0, {1000, 1010, 1020});
  Write(1, {500, 505, 510}, json::array(), 80);
  Write(2, {2000, 2010, 2020});
  EXPECT_THAT(Advice(),
              HasSubstr("Advice: --io mmap --page-size 8k --readahead 4k --cache-pct 10"));
  EXPECT_THAT(Advice(), HasSubstr("then --io direct --page-size 8k --cache-pct 50"));
  EXPECT_THAT(Advice(), testing::EndsWith(
                            "  # measured with read_ahead_kb = 4: blockdev --setra 8 DEVICE\n"));
  Write(0, {3000, 3010, 3020});
  EXPECT_THAT(Advice(), Not(HasSubstr("read_ahead_kb"))) << "direct reads have none";
}

TEST_F(AdviseTest, WaysThatDifferByLessThanTheirRoundsAreSaidToBeAlike) {
  Plan(3);
  Write(0, {1000, 1100, 900});
  Write(1, {200, 202, 204});
  Write(2, {1040, 900, 1110});
  EXPECT_THAT(Advice(), HasSubstr("(98 % of the best rate, which cannot be told from it)"));
  EXPECT_THAT(Advice(), HasSubstr("1 way cannot be told from the best by 3 rounds"));
  EXPECT_THAT(AdviceDoubts(Results()),
              testing::ElementsAre(HasSubstr("1 way cannot be told from the best")));
  Write(0, {1000, 1001, 1002});
  Write(2, {2040, 2041, 2042});
  EXPECT_THAT(AdviceDoubts(Results()), testing::IsEmpty());
}

TEST_F(AdviseTest, FinalistsAreWaysThatCannotBeToldFromTheBest) {
  Plan(3);
  Write(0, {1000, 1100, 900});
  Write(1, {200, 202, 204});
  Write(2, {1040, 900, 1110});
  const std::vector<std::string> two = Finalists(Results(), 3);
  ASSERT_EQ(two.size(), 2u);
  EXPECT_THAT(two, testing::Not(testing::Contains(cells_[1].name)));
  Write(0, {1000, 1001, 1002});
  Write(2, {2040, 2041, 2042});
  EXPECT_TRUE(Finalists(Results(), 3).empty()) << "it is decided";
}

// Runs a whole session as `testbed advise` does: all ways for three rounds, then the ways that
// cannot be told from the best, until one way is left or `most` rounds are done. Returns the ways
// that are left. `noise` has a standard deviation for each way, and the first way is faster by the
// share `faster`.
std::vector<size_t> Session(const std::vector<double>& noise, double faster, size_t most,
                            Normal* normal) {
  std::vector<std::vector<double>> values(noise.size());
  std::vector<size_t> alive(noise.size());
  for (size_t i = 0; i < alive.size(); ++i) alive[i] = i;
  for (size_t round = 1; round <= most && alive.size() > 1; ++round) {
    const double weather = 0.2 * (*normal)();
    for (size_t way : alive) {
      values[way].push_back(weather + (way == 0 ? faster : 0) + noise[way] * (*normal)());
    }
    if (round < kAdviseRounds) continue;
    alive = NotToldFromBest(values);
  }
  return alive;
}

// In some cases, some ways vary more than the others.
TEST(AdviseSessionTest, EqualWaysAreSeldomToldApartAtAnyLook) {
  struct Case {
    size_t ways, most, noisy;
    double quiet;  // the noise of the others, in place of 10 %
  };
  Normal normal(5);
  constexpr int kSessions = 600;
  for (const Case& c : {Case{2, 9, 2, 0.1}, Case{12, 9, 12, 0.1}, Case{3, 20, 3, 0.1},
                        Case{12, 9, 2, 0.01}, Case{12, 9, 3, 0.03}}) {
    std::vector<double> noise(c.ways, c.quiet);
    for (size_t i = 0; i < c.noisy; ++i) noise[i] = 0.1;
    int apart = 0;
    for (int n = 0; n < kSessions; ++n) {
      apart += Session(noise, 0, c.most, &normal).size() != c.ways;
    }
    printf("%zu ways, %zu noisy, %zu rounds: told apart in %.3f\n", c.ways, c.noisy, c.most,
           apart / double(kSessions));
    EXPECT_LE(apart, 30 + 16) << c.ways << " ways, " << c.noisy  // 5 % and 3 standard errors
                              << " noisy, " << c.most << " rounds";
  }
}

TEST(AdviseSessionTest, AWayThatIsTenPercentFasterIsFound) {
  Normal normal(6);
  constexpr int kSessions = 200;
  const auto found = [&](size_t ways, double noise) {
    int sessions = 0;
    for (int n = 0; n < kSessions; ++n) {
      sessions += Session(std::vector<double>(ways, noise), std::log(1.1), 9, &normal) ==
                  std::vector<size_t>{0};
    }
    printf("%zu ways, noise %.2f: found in %.3f\n", ways, noise, sessions / double(kSessions));
    return sessions / double(kSessions);
  };
  EXPECT_GE(found(2, 0.03), 0.9);
  EXPECT_GE(found(12, 0.02), 0.75);
  EXPECT_GE(found(12, 0.03), 0.05) << "what it costs that ways may vary unequally";
}

TEST(AdviseSessionTest, TheLevelsOfAllLooksAreFivePercentTogether) {
  EXPECT_EQ(LookLevel(2), 0) << "two rounds tell nothing";
  double sum = 0;
  for (size_t rounds = 1; rounds <= 9; ++rounds) sum += LookLevel(rounds);
  EXPECT_NEAR(sum, 0.05 * 7 / 8, 1e-12);
  for (size_t rounds = 10; rounds <= 100000; ++rounds) sum += LookLevel(rounds);
  EXPECT_NEAR(sum, 0.05, 1e-5);
  EXPECT_LE(sum, 0.05);
}

// Once, the forecast was that of three rounds, and nine took three times as long.
TEST_F(AdviseTest, TheRoundsThatMayFollowAreForecastToo) {
  Plan(3);
  EXPECT_THAT(FinalsText(cells_, 9), testing::StartsWith("advise: then up to 6 rounds more of "));
  EXPECT_THAT(FinalsText(cells_, 9), testing::EndsWith(" each if those are all\n"));
  // The rehearsals of --cache-pct most are those of the rounds before.
  std::vector<Cell> last = cells_;
  std::erase_if(last, [](const Cell& cell) { return cell.round != 3; });
  EXPECT_THAT(RoundOfFinalsText(2, last, 9, ""),
              testing::StartsWith("advise: 2 ways cannot be told apart; round 3 of at most 9, "));
  Forecast each = ForecastOf(last, [](const Cell&) { return false; });
  each.rehearse_seconds = 0;
  EXPECT_THAT(FinalsText(cells_, 9), HasSubstr(", " + AboutText(each) + " each if "));
  EXPECT_EQ(FinalsText(cells_, 3), "") << "no round follows";
  EXPECT_EQ(FinalsText(cells_, 0), "") << "it is another experiment";
  const std::string first = cells_[0].name;
  std::erase_if(cells_, [&](const Cell& cell) { return cell.name != first; });
  EXPECT_EQ(FinalsText(cells_, 9), "") << "there is nothing to tell apart";
}

// After three rounds only the finalists went on; the loser's fewer rounds are no gap.
TEST_F(AdviseTest, AWayThatLostEarlyIsNoGapAndAnInterruptedRoundDropsNone) {
  Plan(4);
  Write(0, {1990, 2015, 2010, 2000});
  Write(1, {500, 505, 510}, json::array(), 80);
  Write(2, {2000, 2010, 2020, 2010});
  EXPECT_THAT(Advice(), HasSubstr("Advice: --io buffered"));
  EXPECT_THAT(Advice(), Not(HasSubstr("incomplete")));
  EXPECT_THAT(Advice(), Not(HasSubstr("--cache-pct 80")));
  Plan(5);
  Write(0, {1990, 2015, 2010, 2000, 9000});
  EXPECT_THAT(Advice(), HasSubstr("--io buffered --page-size 8k --readahead 16k --cache-pct 20"))
      << "the other finalist has not had its fifth round";
}

// Once, the ways that had had a round of finals before it was interrupted were the only ones from
// then on, and the slower of them was recommended.
TEST_F(AdviseTest, AnInterruptedRoundOfFinalsTellsNothing) {
  Plan(4);
  Write(0, {1000, 1100, 900, 400});
  Write(1, {980, 1090, 905, 300}, json::array(), 80);
  Write(2, {1040, 900, 1110});
  const std::vector<std::string> three = {cells_[2].name, cells_[0].name, cells_[1].name};
  EXPECT_EQ(Finalists(Results(), 3), three);
  EXPECT_EQ(Finalists(Results(), 4).size(), 2u) << "of those with four rounds";
  const std::string advice = Advice();
  EXPECT_THAT(advice,
              HasSubstr("Advice: --io buffered --page-size 8k --readahead 16k --cache-pct 20"));
  EXPECT_THAT(advice, HasSubstr("2 ways cannot be told from the best by 3 rounds"));
  EXPECT_THAT(advice, HasSubstr("(98 % of the best rate, which")) << "of three rounds";
  EXPECT_THAT(advice, HasSubstr("This advice is from an incomplete comparison:\nnot measured in "
                                "round 4 yet: " +
                                cells_[2].name + "\n"));
  EXPECT_THAT(AdviceDoubts(Results()),
              testing::ElementsAre(HasSubstr("cannot be told from the best by 3 rounds"),
                                   "This advice is from an incomplete comparison: not measured in "
                                   "round 4 yet: " +
                                       cells_[2].name));
  Write(2, {1040, 900, 1110, 1000});
  EXPECT_THAT(Advice(), HasSubstr("by 4 rounds"));
  EXPECT_THAT(Advice(), Not(HasSubstr("incomplete")));
}

// A round of all ways that was interrupted is left out; a way that fails in it is named.
TEST_F(AdviseTest, TheRoundsOfAllWaysAreWholeButForWaysThatFail) {
  Plan(3);
  Write(0, {1000, 1010, 1020});
  Write(1, {500, 505, 510}, json::array(), 80);
  Write(2, {2000, 2010});
  EXPECT_THAT(Advice(), HasSubstr("Advice: --io buffered")) << "its third round is to come";
  EXPECT_THAT(Advice(), HasSubstr("by 2 rounds"));
  for (const Cell& cell : cells_) {
    if (cell.name != cells_[2].name || cell.round != 3) continue;
    json run;
    run["error"] = {{"sentence", "killed"}, {"exit_code", 1}};
    dir_.WriteFailure(cell, {{"runs", {run}}});
  }
  EXPECT_THAT(Advice(), HasSubstr("Advice: --io direct --page-size 8k --cache-pct 50"));
  EXPECT_THAT(Advice(), HasSubstr("not measured in each round: " + cells_[2].name));
}

// Once, all cells were measured and then no advice was given.
TEST_F(AdviseTest, AVariantOfAnEngineGetsItsAdvice) {
  for (const auto& [engine, variant] :
       {std::pair{"sqlite", "sqlite:delete"}, std::pair{"innodb", "innodb:sql"}}) {
    const auto is_it = [name = engine](const EngineInfo& info) { return info.name == name; };
    if (std::none_of(Engines().begin(), Engines().end(), is_it)) continue;
    std::filesystem::remove_all(directory_);
    Plan(2, variant);
    if (cells_.empty() || !cells_[0].runs()) continue;
    Write(0, {1000, 1010});
    EXPECT_THAT(Advice(), HasSubstr("Advice: --io direct")) << variant;
  }
}

TEST_F(AdviseTest, ServersGetTheirOwnConfiguration) {
  EXPECT_THAT(ConfigurationText({"postgres", "buffered", 8192, 64 << 20, 256 << 20}),
              HasSubstr("shared_buffers = 64MB"));
  EXPECT_THAT(ConfigurationText({"mysql", "direct", 16384, 64 << 20, 256 << 20}),
              HasSubstr("innodb_buffer_pool_size = 64M"));
}

// Once, the advice left out the memtables and the filter that were measured.
TEST_F(AdviseTest, RocksdbGetsWhatWasInForce) {
  if (!HasEngine("rocksdb")) GTEST_SKIP() << "this build has no RocksDB";
  effective_ = {{"write_buffer_size", "3145728"},
                {"max_write_buffer_number", "2"},
                {"max_bytes_for_level_base", "12582912"},
                {"target_file_size_base", "4194304"}};
  Plan(2, "rocksdb");
  Write(0, {1000, 1010});
  EXPECT_THAT(Advice(), HasSubstr("    write_buffer_size=3145728\n"
                                  "    max_write_buffer_number=2\n"
                                  "    max_bytes_for_level_base=12582912\n"
                                  "    target_file_size_base=4194304\n"));
  EXPECT_THAT(Advice(), HasSubstr("    filter_policy=bloomfilter:10:false\n"));
  const auto with = [this](const std::string& option, const std::string& value) {
    for (Cell& cell : cells_) cell.options["engine-option." + option] = value;
    return Advice();
  };
  EXPECT_THAT(with("options", "max_open_files=100"), Not(HasSubstr("filter_policy")))
      << "RocksDB's own syntax may set it";
  EXPECT_THAT(with("bloom_bits", "14"), HasSubstr("filter_policy=bloomfilter:14:false\n"));
  EXPECT_THAT(with("filter", "ribbon"), HasSubstr("filter_policy=ribbonfilter:14\n"));
  EXPECT_THAT(with("bloom_bits", "0"), HasSubstr("filter_policy=nullptr\n"));
}

// Once, a mix was measured with a log as large as the memory, and the server kept its own log.
TEST_F(AdviseTest, OfAMixTheLogThatWasInForceIsAdvised) {
  effective_ = {{"innodb_log_file_size", "67108864"},
                {"innodb_io_capacity", "1000"},
                {"innodb_flush_neighbors", "0"},
                {"checkpoint_log_bytes", "67108864"}};
  Plan(2);
  Write(0, {1000, 1010});
  for (Cell& cell : cells_) cell.options["engine"] = "innodb";
  EXPECT_THAT(Advice(), HasSubstr("  innodb_log_file_size = 64M "));
  EXPECT_THAT(Advice(), HasSubstr("  innodb_io_capacity = 1000\n  innodb_flush_neighbors = 0\n"));
  for (Cell& cell : cells_) cell.options["engine"] = "postgres";
  EXPECT_THAT(Advice(), HasSubstr("  max_wal_size = 121MB "));
  for (Cell& cell : cells_) cell.options["workload"] = "insert,point-read";
  EXPECT_THAT(Advice(), Not(HasSubstr("max_wal_size"))) << "nothing was written after the load";
}

TEST_F(AdviseTest, OneRoundTellsNothingApart) {
  Plan(1);
  Write(0, {1000});
  Write(1, {500});
  EXPECT_THAT(Advice(), HasSubstr("One round cannot tell ways apart"));
}

TEST_F(AdviseTest, WaysOnUnequalTermsGetNoAdvice) {
  Plan(3);
  Write(0, {100, 101, 99});
  Write(1, {80, 79, 81}, {{{"option", "ram"}, {"why", "no memory cgroup can be made"}}});
  EXPECT_THAT(Advice(), HasSubstr("No advice: "));
  EXPECT_THAT(Advice(), HasSubstr("--ram: no memory cgroup can be made. "));
  EXPECT_THAT(Advice(), Not(HasSubstr("Advice: ")));
}

TEST_F(AdviseTest, WhatWasNotMeasuredIsNamed) {
  Plan(3);
  Write(0, {100, 101, 99});
  Write(1, {80, 79, 81});
  EXPECT_THAT(Advice(), HasSubstr("This advice is from an incomplete comparison:\nnot measured in "
                                  "each round: "));
  Write(2, {70, 71, 69});
  EXPECT_THAT(Advice(), testing::Not(HasSubstr("incomplete")));
}

}  // namespace
}  // namespace testbed
