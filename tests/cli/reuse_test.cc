// Tests what a run knows of itself and of its database: what --reuse takes from the record, and the
// command that repeats a run.
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "engines/registry.h"
#include "tests/cli/command.h"

namespace testbed {
namespace {

constexpr char kShort[] = " --ram 64M --seconds 0.2 --warmup 0 --threads 2 --account file --quiet ";
constexpr char kToItsEnd[] = " --ram 64M --threads 2 --account file --quiet ";

class ReuseTest : public CommandTest {
 protected:
  // Runs the lines of a shell that `testbed report FILE --command` printed.
  int RunLines(std::string lines, const std::string& more) {
    int code = 0;
    while (!lines.empty()) {
      const std::string line = lines.substr(0, lines.find('\n'));
      lines.erase(0, line.size() + 1);
      EXPECT_TRUE(line.starts_with("testbed ")) << line;
      const CommandResult result = Run(line.substr(8) + (lines.empty() ? more : ""));
      EXPECT_EQ(result.err, "") << line;
      code = code == 0 ? result.code : code;
    }
    return code;
  }
};

TEST_F(ReuseTest, TheRecordTellsWhatTheCommandLineDoesNot) {
  const std::string load =
      "--engine btree --dir d --page-size 16k --rows 1234 --key-size 20 "
      "--value-size 77 --key-order random --seed 7 --compressibility 0.25 "
      "--compression lz4 --indexes 1 --workload insert";
  ASSERT_EQ(Run(load + kShort).code, 0);
  for (const char* workload : {" --workload point-read", ""}) {
    const CommandResult result =
        Run(std::string("--dir d --reuse --verify all --json run.json") + workload + kShort);
    ASSERT_EQ(result.code, 0) << result.err;
    const nlohmann::json document = Json("run.json");
    const nlohmann::json& options = document["options"];
    EXPECT_EQ(options["engine"], "btree");
    EXPECT_EQ(options["page_size"], 16384);
    EXPECT_EQ(options["rows"], 1234);
    EXPECT_EQ(options["key_size"], 20);
    EXPECT_EQ(options["value_size"], 77);
    EXPECT_EQ(options["key_order"], "random");
    EXPECT_EQ(options["seed"], 7);
    EXPECT_EQ(options["compressibility"], 0.25);
    EXPECT_EQ(options["compression"], "lz4");
    EXPECT_EQ(options["indexes"], 1);
    EXPECT_EQ(options["databases"], 1);
    EXPECT_EQ(options["workload"], nlohmann::json::array({"point-read"}));
    EXPECT_EQ(document["runs"][0]["phases"].back()["name"], "point-read");
  }
  ExpectRefused(Run(std::string("--dir d --reuse --workload point-read --seed 8") + kShort),
                "--seed 7");
  ExpectRefused(Run(std::string("--dir d --reuse --workload point-read --engine fractal") + kShort),
                "fractal");
  ExpectRefused(Run(std::string("--dir none --reuse --workload point-read") + kShort),
                "--dir none holds no database");
}

// A run that loads nothing would change the database that --fresh is to replace, and its record.
TEST_F(ReuseTest, ARunWithoutALoadTakesNoDatabaseUnasked) {
  ASSERT_EQ(Run(std::string("--engine btree --dir d --rows 200 --workload insert") + kShort).code,
            0);
  const std::string record = Read(directory_ / "d/testbed.json");
  for (const char* where : {"--dir d --fresh", "--dir d", "--dir new"}) {
    ExpectRefused(Run(std::string("--engine btree --rows 200 --workload mixed ") + where + kShort),
                  "--workload mixed needs a loaded database; begin with insert, or give --reuse");
  }
  EXPECT_EQ(Read(directory_ / "d/testbed.json"), record);
  EXPECT_FALSE(std::filesystem::exists(directory_ / "new"));
}

// A run on such a database would find no key, and blame the engine for it.
TEST_F(ReuseTest, ADatabaseWithTheKeysOfAnotherVersionIsRefused) {
  const std::string load = "--engine btree --dir d --rows 200 --key-order random --workload insert";
  ASSERT_EQ(Run(load + kShort).code, 0);
  ASSERT_EQ(Run(std::string("--dir d --reuse --workload point-read") + kShort).code, 0);
  ChangeRecord("d", {{"key_hash", nullptr}});
  ExpectRefused(Run(std::string("--dir d --reuse --workload point-read") + kShort),
                "the database in d was loaded by another version of testbed");
}

TEST_F(ReuseTest, TheNumberOfDatabasesComesFromTheRecord) {
  const std::string load =
      "--engine btree --dir d --rows 2000 --databases 2 --workload concurrent-inserts";
  ASSERT_EQ(Run(load + kShort).code, 0);
  const CommandResult result =
      Run(std::string("--dir d --reuse --workload concurrent-inserts --json run.json") + kShort);
  ASSERT_EQ(result.code, 0) << result.err;
  const nlohmann::json document = Json("run.json");
  EXPECT_EQ(document["options"]["databases"], 2);
  const nlohmann::json& effective = document["runs"][0]["engine"]["effective"];
  EXPECT_EQ(effective["databases"], "2");
  EXPECT_EQ(effective["settings_of"], "one database of 2");
}

TEST_F(ReuseTest, TheEnginesOwnOptionsComeFromTheRecordOneByOne) {
  const std::string load =
      "--engine btree --dir d --rows 500 --workload insert --engine-option log_segment=16M "
      "--engine-option change_buffer_pct=10";
  ASSERT_EQ(Run(load + kShort).code, 0);
  const auto options_of = [&](const std::string& words) {
    const CommandResult result =
        Run("--dir d --reuse --workload point-read --json run.json " + words + kShort);
    EXPECT_EQ(result.code, 0) << result.err;
    return Json("run.json")["options"]["engine_options"];
  };
  EXPECT_EQ(options_of(""), nlohmann::json({{"log_segment", "16M"}, {"change_buffer_pct", "10"}}));
  EXPECT_EQ(options_of("--engine btree --engine-option change_buffer_pct=0"),
            nlohmann::json({{"log_segment", "16M"}, {"change_buffer_pct", "0"}}));
  ExpectRefused(Run(std::string("--dir d --reuse --workload point-read --engine fractal") + kShort),
                "loaded with engine");
}

TEST_F(ReuseTest, AVariantOfTheEngineIsThatOfTheCommandLineIfItNamesTheEngine) {
  if (!HasEngine("sqlite")) GTEST_SKIP() << "no sqlite here";
  ASSERT_EQ(
      Run(std::string("--engine sqlite:delete --dir d --rows 500 --workload insert") + kShort).code,
      0);
  const auto journal_of = [&](const std::string& words) {
    const CommandResult result =
        Run("--dir d --reuse --workload point-read --json run.json " + words + kShort);
    EXPECT_EQ(result.code, 0) << result.err;
    return Json("run.json")["options"]["engine_options"];
  };
  EXPECT_EQ(journal_of("").size(), 1u);
  EXPECT_EQ(journal_of("--engine sqlite").size(), 0u);
  EXPECT_EQ(journal_of("--engine sqlite:truncate").size(), 1u);
}

TEST_F(ReuseTest, AWorkloadOfAnotherDatabaseIsRefusedWithTheNamesOfThoseThatFit) {
  const std::string load =
      "--engine btree --dir d --rows 500 --workload linkbench-load --workload-option "
      "distribution=2011";
  ASSERT_EQ(Run(load + kShort).code, 0);
  for (const char* wrong : {"", " --workload document-query"}) {
    const CommandResult result = Run(std::string("--dir d --reuse") + wrong + kShort);
    ExpectRefused(result, "was loaded by linkbench-load");
    ExpectRefused(result, "linkbench or linkbench-check");
  }
  ExpectRefused(Run(std::string("--dir d --reuse --workload linkbench-check,point-read") + kShort),
                "was loaded by linkbench-load, and --workload point-read needs one");
  EXPECT_EQ(Run(std::string("--dir d --reuse --workload linkbench-check") + kToItsEnd).code, 0);
}

// The check behind the last phase reads the whole database, which was opened with an empty cache.
TEST_F(ReuseTest, TheReadaheadModelHasTheReadsOfThePhaseAlone) {
  const std::string load = "--engine btree --dir d --rows 2000 --workload linkbench-load";
  ASSERT_EQ(Run(load + kShort).code, 0);
  const CommandResult result =
      Run("--dir d --reuse --ram 64M --io buffered --account file --quiet --json run.json "
          "--workload linkbench --threads 1 --operations 5 --warmup 0 --verify-every 1000 "
          "--readahead-model");
  ASSERT_EQ(result.code, 0) << result.err;
  const nlohmann::json document = Json("run.json");
  nlohmann::json phase;
  for (const nlohmann::json& one : document["runs"][0]["phases"]) {
    if (one["name"] == "linkbench") phase = one;
  }
  ASSERT_TRUE(phase.contains("readahead_2014")) << result.out;
  EXPECT_TRUE(phase["details"].contains("check"));
  uint64_t counted = 0;
  for (const nlohmann::json& cause : phase["account"]["causes"]) {
    const nlohmann::json data = cause["file_by_kind"].value("data", nlohmann::json::object());
    counted += data.value("reads", uint64_t{0});
  }
  const nlohmann::json& model = phase["readahead_2014"];
  EXPECT_EQ(model["reads_dropped"], 0);
  EXPECT_LE(model["reads_recorded"].get<uint64_t>(), counted);
}

TEST_F(ReuseTest, AWorkloadOfAnotherDatabaseInTheSameRunIsRefused) {
  for (const char* workloads : {"sysbench-load,point-read", "insert,oltp-read-only",
                                "linkbench-load,document-query", "ib.i0,ib.x,ycsb-a"}) {
    ExpectRefused(Run(std::string("--engine btree --rows 500 --workload ") + workloads + kShort),
                  "give each a run and a --dir of its own");
  }
  EXPECT_TRUE(DirectoryIsEmpty());
}

TEST_F(ReuseTest, KeysOfAFileAreFoundAgain) {
  std::ofstream keys(directory_ / "keys.txt");
  for (int i = 0; i < 500; ++i) keys << "some-key-" << i * 7 << "\n";
  keys.close();
  ASSERT_EQ(
      Run("--engine btree --dir d --keys keys.txt --workload insert" + std::string(kShort)).code,
      0);
  const CommandResult result =
      Run("--dir d --reuse --workload point-read --verify all" + std::string(kShort));
  EXPECT_EQ(result.code, 0) << result.err;
}

TEST_F(ReuseTest, ARunTellsItsProvenanceAndItsCommandRepeatsIt) {
  const std::string words =
      "--engine btree --rows 777 --label 'it'\\''s \"one\" $HOME'" + std::string(kShort);
  ASSERT_EQ(Run(words + "--json first.json").code, 0);
  const nlohmann::json first = Json("first.json");
  EXPECT_EQ(first["label"], "it's \"one\" $HOME");
  EXPECT_FALSE(first["host"].get<std::string>().empty());
  EXPECT_FALSE(first["build"]["commit"].get<std::string>().empty());
  EXPECT_NE(first["build"]["compiler"].get<std::string>().find('.'), std::string::npos);
  const std::string command = Run("report first.json --command").out;
  EXPECT_NE(Run("report first.json").out.find("label: it's"), std::string::npos);
  std::filesystem::remove(directory_ / "first.json");
  ASSERT_EQ(RunLines(command, ""), 0);
  EXPECT_EQ(Json("first.json")["options"], first["options"]);
  EXPECT_EQ(Json("first.json")["label"], first["label"]);
}

// A results file may come from anybody, and its command is shown on a terminal.
TEST_F(ReuseTest, ACommandThatIsShownIsNoneOfATerminal) {
  ASSERT_EQ(Run("--engine btree --rows 777 --label \"$(printf 'a\\033[31m \\302\\233b')\"" +
                std::string(kShort) + "--json first.json")
                .code,
            0);
  const nlohmann::json label = Json("first.json")["label"];
  ASSERT_EQ(label, "a\x1b[31m \u009bb");
  const std::string command = Run("report first.json --command").out;
  EXPECT_NE(command.find("'a'\"$(printf '\\033')\"'[31m '"), std::string::npos) << command;
  EXPECT_EQ(command.find('\x1b'), std::string::npos);
  EXPECT_EQ(command.find("\u009b"), std::string::npos);
  std::filesystem::remove(directory_ / "first.json");
  ASSERT_EQ(RunLines(command, ""), 0) << command;
  EXPECT_EQ(Json("first.json")["label"], label);
}

TEST_F(ReuseTest, TheCommandOfACellRepeatsIt) {
  std::ofstream(directory_ / "two.toml") << R"toml(
name = "two"
title = "Cells that share a load, and cells that do not"
[options]
engine = "btree"
rows = 600
ram = "64M"
operations = 50
threads = 1
hot-fraction = 0.25
[load]
cache-pct = 25
[scale.tiny]
options = { seed = 9 }
[[axis]]
name = "what"
values = [
  { label = "reads", workload = "insert,point-read" },
  { label = "hot", workload = "insert,point-read", distribution = "hot" },
  { label = "writes", workload = "insert,mixed", mix = "update=1" },
]
[metrics]
qps = "measured.rate"
)toml";
  ASSERT_EQ(Run("experiment two.toml --scale tiny --out out --quiet --csv cells.csv").code, 0);
  EXPECT_NE(Read(directory_ / "cells.csv").find("experiment,scale,round,what,qps"),
            std::string::npos);
  int cells = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory_ / "out/cells")) {
    const nlohmann::json cell = nlohmann::json::parse(Read(entry.path()));
    const std::string command = Run("report " + entry.path().string() + " --command").out;
    ASSERT_EQ(RunLines(command, " --json again.json"), 0) << command;
    const nlohmann::json again = Json("again.json");
    for (const char* option :
         {"rows", "seed", "operations", "ram", "mix", "cache_size", "distribution"}) {
      EXPECT_EQ(again["options"][option], cell["options"][option]) << command << option;
    }
    // The other cells share the option with it; a run of their own refuses what changes nothing.
    const bool hot = cell["options"]["distribution"] == "hot";
    EXPECT_EQ(command.find("--hot-fraction") != std::string::npos, hot) << command;
    ++cells;
  }
  EXPECT_EQ(cells, 3);
}

// An option that the cells share was in the command of a cell whose workload draws no rows, or that
// is a closed loop, and the command was refused.
TEST_F(ReuseTest, TheCommandOfACellLeavesOutWhatItsWorkloadRefuses) {
  std::ofstream(directory_ / "draws.toml") << R"toml(
name = "draws"
title = "Workloads that draw rows, and one that does not"
[options]
engine = "btree"
rows = 600
ram = "64M"
operations = 50
threads = 1
account = "file"
distribution = "zipfian"
zipf-theta = 0.7
hit-ratio = 0.5
arrivals = "exponential"
[scale.tiny]
options = { seed = 9 }
[[axis]]
name = "what"
values = [
  { label = "draws", workload = "insert,point-read" },
  { label = "paced", workload = "insert,point-read", rate = 5000 },
  { label = "graph", workload = "linkbench-load,linkbench" },
]
[metrics]
qps = "measured.rate"
)toml";
  ASSERT_EQ(Run("experiment draws.toml --scale tiny --out out --quiet").code, 0);
  int cells = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory_ / "out/cells")) {
    const nlohmann::json cell = nlohmann::json::parse(Read(entry.path()));
    const std::string command = Run("report " + entry.path().string() + " --command").out;
    const std::string name = cell["cell"]["name"];
    const auto has = [&](const char* option) { return command.find(option) != std::string::npos; };
    const bool drawn = name != "what=graph";
    for (const char* option : {"--distribution", "--zipf-theta", "--hit-ratio"}) {
      EXPECT_EQ(has(option), drawn) << command << option;
    }
    EXPECT_EQ(has("--arrivals"), name == "what=paced") << command;
    EXPECT_EQ(RunLines(command, " --json again.json"), 0) << command;
    ++cells;
  }
  EXPECT_EQ(cells, 3);
}

constexpr char kOnAnEngine[] =
    " --ram 128M --rows 2000 --seconds 0.3 --warmup 0 --threads 2 --account file --quiet ";

class EngineReuseTest : public CommandTest, public testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    if (!HasEngine(GetParam())) GTEST_SKIP() << "there is no " << GetParam() << " here";
  }
};

TEST_P(EngineReuseTest, MixedInAnOpenLoopOnAReusedDatabase) {
  const std::string engine = EngineWords(GetParam()) + " --dir d ";
  const std::string insert = "--workload insert --indexes 2 --rows-per-transaction 50";
  ASSERT_EQ(Run(engine + insert + kOnAnEngine).code, 0);
  const CommandResult result = Run(
      engine +
      "--reuse --workload mixed --mix point-read=70,update=10,insert=10,erase=5,scan=5 --rate 2000 "
      "--verify all --indexes 2 --json run.json" +
      kOnAnEngine);
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("intended start"), std::string::npos);
  const nlohmann::json phase = Json("run.json")["runs"][0]["phases"][0];
  // A slow machine may not reach the target rate, but no machine may exceed it.
  EXPECT_LT(phase["rate"].get<double>(), 2200);
  EXPECT_EQ(phase["wrong"], 0);
}

// The engine's files are missing, as when a file system is not mounted. --reuse must not create a
// new database then.
TEST_P(EngineReuseTest, ReuseOfADatabaseThatIsGoneMakesNone) {
  const std::string common = EngineWords(GetParam()) + " --dir d " + kOnAnEngine;
  ASSERT_EQ(Run(common + "--workload insert --rows-per-transaction 100").code, 0);
  std::filesystem::rename(directory_ / "d/db", directory_ / "away");
  ExpectRefused(Run(common + "--reuse --workload point-read"), "d/db");
  EXPECT_FALSE(std::filesystem::exists(directory_ / "d/db"));
  std::filesystem::create_directory(directory_ / "d/db");
  ExpectRefused(Run(common + "--reuse --workload point-read"), "d/db");
  EXPECT_TRUE(std::filesystem::is_empty(directory_ / "d/db"));
  std::filesystem::remove(directory_ / "d/db");
  std::filesystem::rename(directory_ / "away", directory_ / "d/db");
  EXPECT_EQ(Run(common + "--reuse --workload point-read --verify all").code, 0);
}

// Returns the engines of each run, or those of the nightly run alone. The command and its record
// are the same whatever the engine, so each run has the engines of this project, a library and a
// server. RefusalTest opens each engine where no database is.
std::vector<std::string> ReusedEngines(bool nightly) {
  const std::set<std::string> each = {"btree", "fractal", "mmapv1", "rocksdb", "postgres"};
  std::vector<std::string> names;
  for (const EngineInfo& info : Engines()) {
    const bool keeps = info.capabilities.persistent && info.capabilities.reads;
    if (keeps && each.contains(info.name) != nightly) names.push_back(info.name);
  }
  return names;
}
INSTANTIATE_TEST_SUITE_P(Engines, EngineReuseTest, testing::ValuesIn(ReusedEngines(false)),
                         [](const auto& info) { return EngineTestName(info.param); });
INSTANTIATE_TEST_SUITE_P(EveryWay, EngineReuseTest, testing::ValuesIn(ReusedEngines(true)),
                         [](const auto& info) { return EngineTestName(info.param); });

}  // namespace
}  // namespace testbed
