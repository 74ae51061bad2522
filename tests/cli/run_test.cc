// Tests whole runs of the real program on small databases, with the output that a user gets.
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "engines/registry.h"
#include "tests/cli/command.h"
#include "tests/paths.h"

namespace testbed {
namespace {

constexpr char kLoaded[] = " --ram 128M --rows 20000 --seconds 0.5 --warmup 0 --threads 2 --quiet ";
// Runs whose account is not tested leave out the device level. Each reading of it would wait until
// the disk is at rest, which it seldom is while other tests run.
constexpr char kQuickRun[] =
    " --ram 128M --rows 2000 --seconds 0.3 --warmup 0 --threads 2 --account file --quiet ";

class EngineRunTest : public CommandTest, public testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    if (!HasEngine(GetParam())) GTEST_SKIP() << "there is no " << GetParam() << " here";
  }
};

TEST_P(EngineRunTest, LoadsReadsPrintsAndLeavesNothing) {
  const CommandResult result =
      Run(EngineWords(GetParam()) + " --json run.json --csv run.csv --rows-per-transaction 100" +
          kLoaded);
  ASSERT_EQ(result.code, 0) << result.err;
  // A user who may not bound the memory gets no table of it.
  const bool bounded = result.out.find("--ram is not in force") == std::string::npos;
  for (const char* text :
       {"Operations", "Reads per operation", bounded ? "Memory" : "--ram", "Database", "grade"}) {
    EXPECT_NE(result.out.find(text), std::string::npos) << text << "\n" << result.out;
  }
  const nlohmann::json document = Json("run.json");
  EXPECT_EQ(document["schema"], "testbed-results/1");
  ASSERT_EQ(document["runs"].size(), 2u);  // the load and the reads, each in a process of its own
  const nlohmann::json& read = document["runs"][1]["phases"].back();
  EXPECT_EQ(read["name"], "point-read");
  EXPECT_GT(read["count"], 0);
  EXPECT_EQ(read["wrong"], 0);
  EXPECT_EQ(Run("report run.json").out, result.out);
  EXPECT_EQ(Run("report --csv run.json").out, Read(directory_ / "run.csv"));
  EXPECT_EQ(Run("compare run.json run.json").code, 0);
  std::filesystem::remove(directory_ / "run.json");
  std::filesystem::remove(directory_ / "run.csv");
  EXPECT_TRUE(DirectoryIsEmpty());
}

std::vector<std::string> PersistentEngines() {
  std::vector<std::string> names;
  for (const EngineInfo& info : Engines()) {
    if (info.capabilities.persistent && info.capabilities.reads) names.push_back(info.name);
  }
  return names;
}
INSTANTIATE_TEST_SUITE_P(Engines, EngineRunTest, testing::ValuesIn(PersistentEngines()),
                         [](const auto& info) { return EngineTestName(info.param); });

using RunTest = CommandTest;

// Collects the names of all fields of a document. It does not descend into maps, whose keys are no
// names of fields.
void CollectFields(const nlohmann::json& j, std::set<std::string>* fields) {
  static const std::set<std::string> kMaps = {"effective",      "queue", "machine", "mix",
                                              "engine_options", "more",  "now"};
  if (j.is_array()) {
    for (const nlohmann::json& element : j) CollectFields(element, fields);
  }
  if (!j.is_object()) return;
  for (const auto& [name, value] : j.items()) {
    fields->insert(name);
    if (!kMaps.contains(name)) CollectFields(value, fields);
  }
}

TEST_F(RunTest, EveryFieldOfAResultsDocumentIsDocumented) {
  const CommandResult result =
      Run("--engine btree --json run.json --workload insert,mixed --mix point-read=1,update=1 "
          "--rate 1000 --ram 64M --rows 2000 --seconds 1.5 --warmup 0.2 --quiet");
  ASSERT_EQ(result.code, 0) << result.err;
  std::set<std::string> fields;
  CollectFields(Json("run.json"), &fields);
  EXPECT_GT(fields.size(), 100u);
  const std::string page = Read(SourceDir() + "/docs/results.md");
  for (const std::string& field : fields) {
    EXPECT_NE(page.find("`" + field + "`"), std::string::npos)
        << field << " is not in docs/results.md";
  }
}

// Another program uses a processor during the run. The results must report that.
TEST_F(RunTest, WhatOtherProgramsTakeOfTheProcessorsIsSaid) {
  const pid_t busy = fork();
  if (busy == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(60);  // the process ends even when the test hangs
    volatile uint64_t n = 0;
    for (;;) n = n + 1;
  }
  const CommandResult result = Run("--engine btree --workload insert,point-read --seconds 1.5" +
                                   std::string(" --ram 128M --rows 2000 --warmup 0 --quiet "
                                               "--json run.json --csv run.csv"));
  kill(busy, SIGKILL);
  waitpid(busy, nullptr, 0);
  ASSERT_EQ(result.code, 0) << result.err;
  const nlohmann::json document = Json("run.json");
  const nlohmann::json& read = document["runs"].back()["phases"].back();
  ASSERT_EQ(read["name"], "point-read");
  EXPECT_GT(read["foreign_cpu_share"].get<double>(), 0.05);
  EXPECT_LE(read["foreign_cpu_share"].get<double>(), 1.0);
  EXPECT_EQ(result.out.rfind("! other programs used up to ", 0), 0u) << result.out;
  const std::string line = result.out.substr(0, result.out.find('\n') + 1);
  EXPECT_NE(line.find("point-read"), std::string::npos) << line;
  const std::string compared = Run("compare run.json run.json").out;
  EXPECT_EQ(compared.rfind("first: ! other programs used up to ", 0), 0u) << compared;
  EXPECT_NE(compared.find("\nsecond: ! other programs used up to "), std::string::npos) << compared;
  EXPECT_NE(Read(directory_ / "run.csv").find("foreign_cpu_share"), std::string::npos);
}

TEST_F(RunTest, AnEngineThatDoesItsIoItselfLeavesOutTheFileLevel) {
  if (Run("list").out.find("lmdb") == std::string::npos) GTEST_SKIP() << "no lmdb in this build";
  const std::string lmdb =
      "--engine lmdb --json run.json --rows-per-transaction 100" + std::string(kLoaded);
  for (const char* account : {"device", "file"}) {
    const CommandResult result = Run(lmdb + " --account " + account);
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_NE(result.out.find("lmdb does its IO itself"), std::string::npos) << result.out;
    EXPECT_NE(result.out.find("no cache of its own"), std::string::npos) << result.out;
    EXPECT_EQ(result.out.find("file calls"), std::string::npos) << result.out;
    const nlohmann::json document = Json("run.json");
    EXPECT_EQ(document["options"]["io"], "mmap");
    EXPECT_EQ(document["options"]["page_size"], sysconf(_SC_PAGESIZE));
    EXPECT_EQ(document["options"]["cache_size"], 0);
    for (const nlohmann::json& run : document["runs"]) {
      for (const nlohmann::json& phase : run["phases"]) {
        EXPECT_FALSE(phase["account"]["engine"].contains("block_requests"));
        for (const nlohmann::json& cause : phase["account"]["causes"]) {
          EXPECT_FALSE(cause.contains("file")) << cause;
        }
      }
    }
  }
}

TEST_F(RunTest, AnEngineThatCannotBeReadLoadsAndSaysWhatItsLogCost) {
  const std::string log =
      "--engine log --ram 64M --rows 500 --rows-per-transaction 1 --value-size 228 --threads 1 "
      "--durability sync --engine-option log_pad=off --quiet ";
  const CommandResult result = Run(log + "--workload insert --json run.json");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("Log writes, bytes per operation"), std::string::npos) << result.out;
  const nlohmann::json phase = Json("run.json")["runs"][0]["phases"][0];
  EXPECT_EQ(phase["verified"], 0);
  const nlohmann::json& cost = phase["account"]["log"];
  EXPECT_EQ(cost["bytes"], 500 * 300);
  EXPECT_EQ(cost["syncs"], 500);
  EXPECT_EQ(cost["estimate_least_bytes"], 500 * 4096);
  std::filesystem::remove(directory_ / "run.json");
  const CommandResult refused = Run(log + "--workload insert,point-read");
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("nothing can be read from"), std::string::npos);
  EXPECT_TRUE(DirectoryIsEmpty());
}

// The test prefers InnoDB, which can be opened only once for each copy of its library, so that
// opening it again needs another copy.
TEST_F(RunTest, AutoOpensTheEngineAnewWithTheShareThatItChose) {
  const std::string engine = HasEngine("innodb") ? "innodb" : "btree";
  const CommandResult result = Run("--engine " + engine +
                                   " --ram 256M --cache-pct auto:60 --rows 20000 --io direct "
                                   "--page-size 8k --seconds 0.2 --warmup 0 --threads 1 --quiet "
                                   "--account file --json run.json");
  if (result.err.find("O_DIRECT") != std::string::npos) GTEST_SKIP() << result.err;
  ASSERT_EQ(result.code, 0) << result.err;
  const nlohmann::json run = Json("run.json")["runs"].back();
  const nlohmann::json& tuning = run["cache_tuning"];
  EXPECT_NE(result.out.find("(chosen)"), std::string::npos) << result.out;
  EXPECT_EQ(result.out.find("settling"), std::string::npos) << "trials are not the run's phases";
  EXPECT_EQ(tuning["start_pct"], 60);
  EXPECT_GT(tuning["trials"].size(), 4u);
  EXPECT_EQ(run["phases"][0]["kind"], "tune") << "what was measured before is still there";
  EXPECT_EQ(run["phases"].back()["kind"], "measure");
  const double pct = tuning["chosen_pct"];
  EXPECT_NEAR(run["phases"].back()["cache_pct"], pct, 0.001);
  EXPECT_FALSE(run["phases"][0].contains("cache_pct")) << "a trial has its share in the trials";
  const nlohmann::json& effective = run["engine"]["effective"];
  const std::string set = engine == "innodb"
                              ? effective["innodb_buffer_pool_size"].get<std::string>()
                              : effective["cache_bytes"].get<std::string>();
  EXPECT_NEAR(std::stod(set), pct / 100 * (256 << 20), 0.1 * (256 << 20));
}

// With pages of 64 kB and a twentieth of the cache for its pool, btree needs 8 % of this memory.
TEST_F(RunTest, AutoTriesNoShareWithWhichTheEngineCannotBeOpened) {
  const CommandResult result =
      Run("--engine btree --ram 256M --cache-pct auto:60 --rows 20000 --page-size 64k "
          "--compression lz4 --engine-option compressed_cache_pct=95 --seconds 0.2 --warmup 0 "
          "--threads 1 --quiet --account file --json run.json");
  ASSERT_EQ(result.code, 0) << result.err;
  const nlohmann::json run = Json("run.json")["runs"].back();
  for (const nlohmann::json& trial : run["cache_tuning"]["trials"]) {
    EXPECT_GE(trial["cache_pct"], 8);
  }
}

TEST_F(RunTest, AutoEndsWhenTheEngineRefusesASize) {
  if (!HasEngine("wiredtiger")) GTEST_SKIP() << "no wiredtiger here";
  const CommandResult result =
      Run("--engine wiredtiger --ram 256M --cache-pct auto:60 --rows 20000 --seconds 0.2 "
          "--warmup 0 --quiet --account file --engine-option "
          "connection_config=eviction_target=16MB,eviction_trigger=20MB");
  EXPECT_EQ(result.code, 1) << result.err;
  EXPECT_NE(result.err.find("wiredtiger refuses a cache of 5 % of --ram"), std::string::npos)
      << result.err;
}

// When the workload fills the cache, the engine must hold nearly all of its memory and no more. The
// page tables show what a process holds, charged to its budget or not. Memory that a run held
// without being charged for it would be an advantage over other engines.
TEST_F(RunTest, MemoryFromBeforeTheBudgetServesNoRun) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's own memory is not charged";
#endif
  if (!HasEngine("wiredtiger")) GTEST_SKIP() << "no wiredtiger here";
  const CommandResult result =
      Run("--engine wiredtiger --ram 128M --db-ratio 1 --threads 8 --workload insert,point-read "
          "--seconds 1 --warmup 0 --quiet --json run.json");
  ASSERT_EQ(result.code, 0) << result.err;
  const nlohmann::json memory = Json("run.json")["runs"].back()["phases"].back()["memory"];
  if (!memory.contains("process_check")) GTEST_SKIP() << "--ram is not in force here";
  EXPECT_LT(memory["process_check"], 8e6) << "4 MB of the program itself; 17 where free pages stay";
}

TEST_F(RunTest, MostIsTheLargestCacheThatFits) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's own memory is not the engine's";
#endif
  std::vector<std::string> engines = {"btree"};
  if (EveryWay()) engines.emplace_back("rocksdb");
  for (const std::string& engine : engines) {
    const CommandResult result = Run(
        "--engine " + engine +
        " --ram 64M --cache-pct most --db-ratio 1.3 --io direct --threads 2 --workload "
        "insert,point-read --operations 20000 --warmup 0 --rows-per-transaction 100 --durability "
        "none --account off --quiet --fresh --dir d --json run.json");
    if (result.err.find("O_DIRECT") != std::string::npos) GTEST_SKIP() << result.err;
    if (result.err.find("which --ram cannot tell") != std::string::npos) {
      GTEST_SKIP() << result.err;
    }
    ASSERT_EQ(result.code, 0) << result.err;
    const nlohmann::json document = Json("run.json");
    const nlohmann::json& rehearsal = document["cache_rehearsal"];
    ASSERT_GE(rehearsal["rehearsals"].size(), 2u);
    const double ram = 64 << 20, chosen = rehearsal["chosen_pct"];
    // A run that held more than its rehearsals is repeated with a smaller share, which was not
    // rehearsed.
    bool rehearsed = false;
    for (const auto& trial : rehearsal["rehearsals"]) rehearsed |= trial["cache_pct"] == chosen;
    EXPECT_EQ(result.out.find("(chosen)") != std::string::npos, rehearsed) << result.out;
    EXPECT_EQ(document["options"]["cache_most"], true);
    EXPECT_NEAR(document["options"]["cache_pct"], chosen, 0.1);
    const nlohmann::json& read = document["runs"].back()["phases"].back();
    ASSERT_EQ(read["kind"], "measure");
    EXPECT_GT(read["memory"]["held_most"], 0.85 * ram) << engine << rehearsal;
    EXPECT_LT(read["memory"]["held_most"], ram) << engine;
    EXPECT_EQ(read["memory"]["held_mean"], read["memory"]["own_mean"]) << "direct IO";

    // With --reuse the rehearsals use the existing database, which must stay.
    const CommandResult again =
        Run("--engine " + engine +
            " --ram 64M --cache-pct most --db-ratio 1.3 --io direct --threads 2 --workload "
            "point-read --operations 20000 --warmup 0 --account off --quiet --reuse --dir d --json "
            "run.json");
    ASSERT_EQ(again.code, 0) << again.err;
    EXPECT_GT(Json("run.json")["runs"].back()["phases"].back()["memory"]["held_most"], 0.85 * ram);
  }
}

TEST_F(RunTest, MostLeavesAnEngineWithoutACacheThePageCache) {
  const CommandResult result =
      Run("--engine mmapv1 --ram 64M --cache-pct most --rows 1000 --operations 100 --account file "
          "--quiet --json run.json");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_FALSE(Json("run.json").contains("cache_rehearsal"));
}

TEST_F(RunTest, RepeatsAreLoadsAndRunsOnThem) {
  const CommandResult result =
      Run("--engine rocksdb --json run.json --threads 1,2 --repeat 2 --repeat-runs 2 --ram 128M "
          "--rows 5000 --operations 3000 --seed 7 --account off --quiet");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("confidence"), std::string::npos);
  const nlohmann::json document = Json("run.json");
  ASSERT_EQ(document["runs"].size(), 10u);  // 2 loads, each with 2 numbers of threads x 2 runs
  for (size_t i = 0; i < 10; ++i) {
    const nlohmann::json& run = document["runs"][i];
    EXPECT_EQ(run["load"], i / 5);
    EXPECT_EQ(run["seed"], 7 + i / 5);
    EXPECT_EQ(run["phases"][0]["kind"], i % 5 == 0 ? "load" : "measure");
    if (i % 5 == 0) continue;
    EXPECT_EQ(run["threads"], i % 5 < 3 ? 1 : 2);
    EXPECT_EQ(run["repeat"], (i % 5 - 1) % 2);
  }
  EXPECT_EQ(document["options"]["seed"], 7);
}

TEST_F(RunTest, RepeatsOfWhatWritesLoadAnew) {
  const CommandResult result =
      Run("--engine btree --json run.json --workload insert,mixed --mix update=100 --threads 1 "
          "--repeat 2 --repeat-runs 2 --dir d --rows 2000 --operations 500 --account off --quiet");
  ASSERT_EQ(result.code, 0) << result.err;
  const nlohmann::json document = Json("run.json");
  ASSERT_EQ(document["runs"].size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(document["runs"][i]["load"], i / 2);
    EXPECT_EQ(document["runs"][i]["seed"], 42 + i / 2);
    EXPECT_EQ(document["runs"][i]["repeat"], i % 2);
    EXPECT_EQ(document["runs"][i]["phases"][0]["kind"], "load");
  }
  // The database that stays is the last load's, and --reuse knows it by its seed.
  const CommandResult other =
      Run("--engine btree --workload point-read --dir d --reuse --rows 2000 --seed 42");
  EXPECT_EQ(other.code, 2);
  EXPECT_NE(other.err.find("seed"), std::string::npos) << other.err;
  const std::string again =
      "--engine btree --workload point-read --dir d --reuse --rows 2000 "
      "--seed 43 --operations 100 --account file --quiet ";
  EXPECT_EQ(Run(again + "--repeat-runs 2").code, 0);
  const CommandResult refused = Run(again + "--repeat 2");
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("--repeat-runs"), std::string::npos) << refused.err;
}

TEST_F(RunTest, InterruptedRunsReportWhatTheyHaveAndSaySo) {
  const std::string script =
      "( cd " + directory_.string() + "; " + TestbedBinary() +
      " --engine rocksdb --rows 5000 --ram 128M --seconds 60 --warmup 0 --account file --quiet"
      " --json run.json >out 2>err & pid=$!; for i in {1..600}; do"
      " grep -q loaded.*true testbed-*/testbed.json && break; sleep 0.1; done 2>/dev/null;"
      " sleep 3; kill -TERM $pid; wait $pid; echo $? >code )";
  ASSERT_EQ(std::system(("bash -c '" + script + "'").c_str()), 0);
  EXPECT_EQ(Read(directory_ / "code"), "130\n");
  EXPECT_NE(Read(directory_ / "out").find("PARTIAL"), std::string::npos);
  const nlohmann::json document = Json("run.json");
  EXPECT_EQ(document["partial"], true);
  EXPECT_GT(document["runs"].back()["phases"].back()["count"], 0);
}

// The child is killed in its second phase. The length of the first phase depends on the machine, so
// the test is repeated with a later kill when the kill came in the first phase.
TEST_F(RunTest, AKilledRunKeepsThePhasesThatItFinished) {
  const std::string script =
      "cd " + directory_.string() + "; " + TestbedBinary() +
      " --engine btree --workload insert,mixed --mix point-read=1,update=1 --rows 2000 --ram 64M "
      "--seconds 60 --warmup 0 --account file --quiet --json run.json >out 2>err & pid=$!; "
      "sleep $0; "
      "kill -9 $(cat /proc/$pid/task/$pid/children); wait $pid; echo $? >code";
  nlohmann::json run;
  for (const char* seconds : {"3", "6", "12", "24"}) {
    ASSERT_EQ(std::system(("bash -c '" + script + "' " + seconds).c_str()), 0);
    ASSERT_TRUE(std::filesystem::exists(directory_ / "run.json")) << Read(directory_ / "err");
    run = Json("run.json")["runs"].back();
    if (run["error"]["sentence"].get<std::string>().find("mixed") != std::string::npos) break;
  }
  EXPECT_EQ(Read(directory_ / "code"), "1\n");
  EXPECT_EQ(Json("run.json")["partial"], true);
  EXPECT_EQ(run["partial"], true);
  const std::string sentence = run["error"]["sentence"];
  EXPECT_NE(sentence.find("signal 9 (Killed) in phase mixed"), std::string::npos) << sentence;
  EXPECT_NE(Read(directory_ / "err").find(sentence), std::string::npos);
  ASSERT_GE(run["phases"].size(), 1u);
  EXPECT_EQ(run["phases"][0]["name"], "insert");
  EXPECT_EQ(run["phases"][0]["count"], 2000);
  EXPECT_EQ(run["engine"]["name"], "btree");
  EXPECT_NE(Read(directory_ / "out").find("insert, 8 thr"), std::string::npos);
  EXPECT_NE(Read(directory_ / "out").find("PARTIAL"), std::string::npos);
}

// Returns the cells of a phase's row in the report's table "Database", without the phase's name.
std::vector<std::string> DatabaseLine(const std::string& report, const std::string& phase) {
  const size_t table = report.find("\nDatabase\n"), at = report.find("\n  " + phase, table);
  if (table == std::string::npos || at == std::string::npos) return {};
  std::istringstream words(
      report.substr(at + 3 + phase.size(), report.find('\n', at + 1) - at - 3 - phase.size()));
  return {std::istream_iterator<std::string>(words), {}};
}

// The reported sizes must be those of the keys in the file, and not of --key-size.
TEST_F(RunTest, SizesOfAFileOfKeysAreItsOwn) {
  {
    std::ofstream out(directory_ / "keys");
    for (int i = 0; i < 3000; ++i) out << fmt::format("{}{:06}\n", std::string(194, 'k'), i);
  }
  const std::string common = "--engine btree --dir d --quiet --value-size 100 --keys keys ";
  const CommandResult loaded = Run(common + "--ram 64M --workload insert --json run.json");
  ASSERT_EQ(loaded.code, 0) << loaded.err;
  const nlohmann::json document = Json("run.json");
  EXPECT_EQ(document["data"],
            nlohmann::json({{"rows", 3000}, {"key_bytes", 600000}, {"value_bytes", 300000}}));
  EXPECT_EQ(document["options"]["rows"], 3000);
  EXPECT_NE(loaded.out.find("3,000 rows of 200.0 (mean, keys of a file) + 100 bytes"),
            std::string::npos)
      << loaded.out;
  const nlohmann::json& phase = document["runs"][0]["phases"][0];
  const double data = phase["database_bytes"].get<double>() - phase["log_file_bytes"].get<double>();
  const std::vector<std::string> line = DatabaseLine(loaded.out, "insert, 8 thr");
  ASSERT_EQ(line.size(), 6u) << loaded.out;
  EXPECT_EQ(line[3], "3,000");
  EXPECT_NEAR(std::stod(line[4]), data / 3000, data / 3000 / 100);
  EXPECT_NEAR(std::stod(line[5]), data / 900000, data / 900000 / 100);
  // The number of rows follows from the keys, and not from --ram.
  const CommandResult again =
      Run(common + "--ram 128M --reuse --workload point-read --operations 100");
  EXPECT_EQ(again.code, 0) << again.err;
}

TEST_F(RunTest, BytesPerRowAreOfTheRowsThatAreThere) {
  const CommandResult result =
      Run("--engine btree --ram 64M --quiet --rows 20000 --threads 1 --json run.json "
          "--workload ib.i0,ib.x,ib.i1 --workload-option nr1=20000 --workload-option nr2=50000");
  ASSERT_EQ(result.code, 0) << result.err;
  const nlohmann::json phases = Json("run.json")["runs"][0]["phases"];
  ASSERT_EQ(phases.size(), 3u);
  const std::vector<std::string> rows = {"20,000", "20,100", "60,100"};
  for (size_t i = 0; i < rows.size(); ++i) {
    const double there = phases[i]["details"]["table_rows"], log = phases[i]["log_file_bytes"];
    const std::vector<std::string> line =
        DatabaseLine(result.out, phases[i]["name"].get<std::string>() + ", 1 thr");
    ASSERT_EQ(line.size(), 6u) << result.out;
    EXPECT_EQ(line[3], rows[i]);
    const double a_row = (phases[i]["database_bytes"].get<double>() - log) / there;
    EXPECT_NEAR(std::stod(line[4]), a_row, a_row / 100);
    EXPECT_EQ(line[5], "-");  // the user bytes of the benchmark's own rows are not known
  }
}

TEST_F(RunTest, ReuseKnowsTheFileOfKeysByItsContents) {
  const auto write = [&](const std::string& name, int first) {
    std::ofstream out(directory_ / name);
    for (int i = first; i < first + 500; ++i) out << fmt::format("path/{:06}\n", i);
  };
  write("a", 0);
  write("b", 1);  // a file with as many keys of the same lengths
  const std::string engine =
      "--engine btree --dir d --ram 64M --account file --quiet --operations 500 ";
  const CommandResult loaded = Run(engine + "--workload insert --keys a");
  ASSERT_EQ(loaded.code, 0) << loaded.err;
  const std::string reuse = engine + "--reuse --workload point-read --verify all ";
  ExpectRefused(Run(reuse + "--keys b"), "was loaded with --keys a (6000 bytes");
  EXPECT_EQ(Run(reuse + "--rows 500").code, 0) << "what is not told comes from the record";
  std::filesystem::copy(directory_ / "a", directory_ / "c");
  const CommandResult same = Run(reuse + "--keys c");
  EXPECT_EQ(same.code, 0) << same.err;
}

TEST_F(RunTest, ANameOfAnyBytesCostsNoResultAndComesBack) {
  const std::string named = " --engine btree --dir \"$(printf 'nu\\377x')\" ";
  const CommandResult result = Run(named + "--json run.json" + kQuickRun);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(Json("run.json")["runs"].size(), 2u);
  EXPECT_EQ(Json("run.json")["command"][3], "nu\\xffx");
  EXPECT_NE(Run("report run.json").out.find("point-read"), std::string::npos);
  const CommandResult again = Run(named + "--fresh" + kQuickRun);
  EXPECT_EQ(again.code, 0) << again.err;
}

TEST_F(RunTest, TheNullEngineShowsTheHarnessAlone) {
  const CommandResult result =
      Run("--engine null --json run.json --workload insert,point-read --rows 1000 --seconds 0.3 "
          "--warmup 0 --account file --quiet");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_GT(Json("run.json")["runs"][1]["accounting"]["harness_ns_per_operation"].get<double>(), 0);
}

TEST_F(RunTest, ListDoctorCompletionAndManAnswer) {
  EXPECT_NE(Run("list").out.find("rocksdb"), std::string::npos);
  const CommandResult doctor = Run("doctor");
  EXPECT_EQ(doctor.code, 0);
  EXPECT_NE(doctor.out.find("scratch"), std::string::npos);
  EXPECT_NE(Run("completion bash").out.find("--cache-pct"), std::string::npos);
  EXPECT_NE(Run("man").out.find(".SH OPTIONS"), std::string::npos);
  EXPECT_NE(Run("--help").out.find("Examples:"), std::string::npos);
  EXPECT_EQ(Run("--version").code, 0);
  EXPECT_EQ(Run("scratch clean").code, 0);
}

TEST_F(RunTest, ResultsOfAnotherSchemaAreRefused) {
  std::ofstream(directory_ / "x.json") << "{\"schema\": \"testbed-results/99\"}";
  ExpectRefused(Run("report x.json"), "x.json");
  ExpectRefused(Run("report nosuch.json"), "nosuch.json");
}

TEST_F(RunTest, CrashtestCutsThePower) {
  if (geteuid() != 0) GTEST_SKIP() << "a scratch device needs root";
  std::vector<std::string> engines = {"btree", "fractal", "mmapv1", "lmdb", "innodb", "sqlite"};
  if (EveryWay()) engines.emplace_back("mdbx");  // mdbx syncs its files as lmdb does
  for (const std::string& engine : engines) {
    if (!HasEngine(engine)) continue;
    const CommandResult result =
        Run(std::string("crashtest --kills 1 --power-cuts 3 --scratch 400M --quiet --engine ") +
            engine);
    if (result.code == 2 && result.err.find("scratch device") != std::string::npos) {
      GTEST_SKIP() << "no scratch device here: " << result.err;
    }
    EXPECT_EQ(result.code, 0) << result.out << result.err;
    EXPECT_NE(result.out.find("1 kill, 3 power cuts"), std::string::npos) << result.out;
  }
}

// Only commits that are younger than two lazy intervals and half a second may be lost. Two engines
// are enough for the command; KillTest kills lazy commits of the others.
TEST_F(RunTest, CrashtestOfLazyCommits) {
  for (const char* engine : {"btree", "lmdb"}) {
    if (!HasEngine(engine)) continue;
    const CommandResult result = Run(
        std::string("crashtest --kills 3 --durability lazy --lazy-interval 300 --longest-ms 300 "
                    "--quiet --engine ") +
        engine);
    EXPECT_EQ(result.code, 0) << engine << " " << result.out << result.err;
    EXPECT_NE(result.out.find("acknowledged 1100 ms before"), std::string::npos) << result.out;
  }
  ExpectRefused(Run("crashtest --engine btree --durability none"), "--durability");
  ExpectRefused(Run("crashtest --engine btree --kills 0"), "--kills");
}

// crashtest removes the databases that it uses, so it must refuse one that was loaded before.
TEST_F(RunTest, ACrashtestTakesNoLoadedDatabase) {
  ASSERT_EQ(Run("--engine btree --dir d --rows 1000 --workload insert --quiet").code, 0);
  ExpectRefused(Run("crashtest --engine btree --dir d --reuse --kills 1"), "--reuse");
  const CommandResult read = Run(
      "--engine btree --dir d --rows 1000 --reuse --workload point-read --seconds 0.2 --warmup 0 "
      "--quiet");
  EXPECT_EQ(read.code, 0) << read.err;
}

TEST_F(RunTest, CrashtestCutsThePowerOfTheDisk) {
  if (geteuid() != 0) GTEST_SKIP() << "a scratch device needs root";
  for (const char* way : {"", "--engine-option torn_page=full_page_image",
                          "--compression lz4 --page-size 16k --io direct"}) {
    const CommandResult result =
        Run(std::string(
                "crashtest --kills 1 --disk-cuts 4 --crashes-per-database 2 --scratch 200M --quiet "
                "--engine btree ") +
            way);
    if (result.code == 2 && result.err.find("--disk-cuts needs") != std::string::npos) {
      GTEST_SKIP() << "no such disk here: " << result.err;
    }
    EXPECT_EQ(result.code, 0) << result.out << result.err;
    EXPECT_NE(result.out.find("1 kill, 0 power cuts, 4 disk cuts"), std::string::npos)
        << result.out;
  }
}

TEST_F(RunTest, ReadIopsAreWhatTheDeviceGives) {
  if (geteuid() != 0) GTEST_SKIP() << "a cgroup needs root";
  const CommandResult result =
      Run("--engine btree --scratch 300M --io direct --rows 200000 --rows-per-transaction 100 "
          "--seconds 1 --warmup 0 --threads 4 --quiet --json run.json --ram 32M --cache-pct 20 "
          "--read-iops 3000 --verify sample --strict");
  if (result.code == 2 && result.err.find("--read-iops cannot be enforced") != std::string::npos) {
    GTEST_SKIP() << "no cgroup for it: " << result.err;
  }
  ASSERT_EQ(result.code, 0) << result.err;
  const nlohmann::json document = Json("run.json");
  const nlohmann::json phase = document["runs"].back()["phases"].back();
  const double rate =
      phase["account"]["device"]["reads"].get<double>() / phase["seconds"].get<double>();
  EXPECT_LT(rate, 3600);
  EXPECT_GT(rate, 100);
  EXPECT_EQ(document["options"]["read_iops"], 3000);
  // Reads that the kernel's throttle delays are counted, so that the account closes, but are
  // charged to no operation. So the grade must not be A.
  if (document["runs"].back()["accounting"]["kernel_account"] == true) {
    EXPECT_EQ(phase["account"]["closure"]["reads"], 0);
    EXPECT_EQ(phase["grade"], "B");
    EXPECT_NE(phase["grade_reasons"].dump().find("--read-iops"), std::string::npos);
    EXPECT_NE(result.out.find("--read-iops delays"), std::string::npos) << result.out;
  }
}

}  // namespace
}  // namespace testbed
