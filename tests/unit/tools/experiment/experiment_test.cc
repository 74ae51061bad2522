#include "tools/experiment/experiment.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "device/error.h"
#include "engines/registry.h"
#include "tests/unit/tools/experiment/engine_here.h"
#include "tests/unit/tools/experiment/small_experiment.h"
#include "tests/unit/tools/release/every_release.h"
#include "tools/experiment/expression.h"
#include "tools/experiment/plan/plan.h"
#include "tools/experiment/results.h"

namespace testbed {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(ExperimentTest, IsReadFromToml) {
  const Experiment e = Small();
  EXPECT_EQ(e.options.at("rows"), "1000");
  ASSERT_EQ(e.axes.size(), 2u);
  EXPECT_EQ(e.axes[1].values[1].label, "big");
  EXPECT_EQ(e.axes[1].values[1].options.at("threads"), "2");
  EXPECT_EQ(e.findings[0].mechanisms[0].when, "max(reads) < 1");
  ASSERT_EQ(e.findings[0].parts.size(), 3u);
  EXPECT_EQ(e.findings[0].systems, "a server; btree");
  EXPECT_EQ(e.findings[0].parts[0].published, "7 against 5");
  EXPECT_EQ(e.findings[0].parts[1].false_if, "the larger page saves a read");
  EXPECT_EQ(e.findings[0].parts[2].stand_in, "btree");
  EXPECT_EQ(e.tables[0].published[0], (std::vector<std::string>{"me", "7"}));
}

TEST(ExperimentTest, WhatIsNotKnownIsRefusedWithItsLine) {
  const auto parse = [](const std::string& text) {
    return ErrorOf([&] { ParseExperiment(text, "x.toml"); });
  };
  EXPECT_THAT(parse("name = \n"), HasSubstr("x.toml:1"));
  EXPECT_THAT(parse("name=\"a\"\ntitle=\"b\"\nfoo=1\n"), HasSubstr("x.toml:3: foo is not known"));
  EXPECT_THAT(parse("title=\"b\"\n"), HasSubstr("name is missing"));
  EXPECT_THAT(parse("name=\"a\"\ntitle=\"b\"\n"), HasSubstr("engine"));
  std::string text = kSmall;
  text.replace(text.find("columns = \"page-size\""), 21, "columns = \"nosuch\"   ");
  EXPECT_THAT(parse(text), HasSubstr("the axis nosuch"));
  text = kSmall;
  text.replace(text.find("metrics = [\"qps\"]"), 17, "metrics = [\"qqq\"]");
  EXPECT_THAT(parse(text), HasSubstr("the metric qqq"));
  const auto replaced = [&](const std::string& what, const std::string& by) {
    std::string changed = kSmall;
    return parse(changed.replace(changed.find(what), what.size(), by));
  };
  EXPECT_THAT(replaced("says = \"small", "tells = \"small"), HasSubstr("tells is not known"));
  EXPECT_THAT(replaced("holds = \"min(qps) > 1000000\"", ""), HasSubstr("a part needs holds"));
  EXPECT_THAT(replaced("min(qps) >", "min(qqq[io=direct]) >"), HasSubstr("the metric qqq"));
  EXPECT_THAT(replaced("min(qps) >", "min(qps[io=dir]) >"), HasSubstr("io = dir"));
  EXPECT_THAT(replaced("{min(qps[io=direct])}", "{min(qps[oi=direct])}"), HasSubstr("the axis oi"));
  EXPECT_THAT(replaced("max(reads) < 1", "max(reads) <"), HasSubstr("finding Z1"));
  EXPECT_THAT(ErrorOf([] { LoadExperiment("nosuch"); }), HasSubstr("read-size"));
}

// Once, the second of two values with one label, or of two axes with one name, was never measured.
TEST(ExperimentTest, LabelsAndNamesOfAxesAreUnique) {
  const auto parse = [](const std::string& what, const std::string& by) {
    std::string text = kSmall;
    text.replace(text.find(what), what.size(), by);
    return ErrorOf([&] { ParseExperiment(text, "x.toml"); });
  };
  EXPECT_EQ(parse("[\"4k\", {", "[\"4k\", { label = \"4k\", page-size = \"8k\" }, {"),
            "x.toml:22: axis page-size has two values with the label 4k; give one another label");
  EXPECT_EQ(parse("[[axis]]\nname = \"page-size\"", "[[axis]]\nname = \"io\""),
            "x.toml:20: there are two axes io; name one of them otherwise");
}

// Once, options of an engine that no cell has, and a label that no axis has, were ignored.
TEST(ExperimentTest, EnginesAndLabelsThatAreNotThereAreRefused) {
  const auto parse = [](const std::string& more, bool is_new = true) {
    return ErrorOf([&] { ParseExperiment(kSmall + more, "x.toml", is_new); });
  };
  const auto line = std::count(kSmall, kSmall + sizeof(kSmall), '\n') + 1;
  const std::string at = fmt::format("x.toml:{}: there is no engine btre; there are ", line);
  EXPECT_THAT(parse("[engine.btre]\nthreads = 3\n"), testing::StartsWith(at));
  EXPECT_THAT(parse("[scale.tiny.engine.btre]\nthreads = 3\n"), testing::StartsWith(at));
  EXPECT_EQ(parse("[engine.btre]\nthreads = 3\n", false), "no error") << "of another build";
  EXPECT_EQ(parse("[engine.btree]\nthreads = 3\n[engine.null]\nthreads = 3\n"), "no error");
  // An engine that the experiment has, and this build not.
  std::string text = kSmall;
  text.replace(text.find("engine = \"btree\""), 16, "engine = \"other:fast\"");
  text += "[engine.other]\nthreads = 3\n";
  EXPECT_EQ(ErrorOf([&] { ParseExperiment(text, "x.toml"); }), "no error");

  PlanOptions only{"full", {}, {}, {}};
  only.only["io"] = {"direct", "bufered"};
  EXPECT_EQ(ErrorOf([&] { PlanCells(Small(), only); }),
            "--only io=bufered: the axis io of experiment small has direct, buffered; did you "
            "mean buffered?");
  only.may_run_none = true;
  EXPECT_EQ(ErrorOf([&] { PlanCells(Small(), only); }), "no error") << "it was asked for before";
  Experiment bare = Small();
  bare.axes.clear();
  EXPECT_THAT(ErrorOf([&] { CheckAxis(bare, "--only", "io"); }), HasSubstr("it has none"));
}

TEST(ExperimentTest, CellsAreTheCombinationsOfTheAxes) {
  const std::vector<Cell> cells = PlanCells(Small(), {"full", {}, {}, {}});
  std::vector<std::string> names;
  for (const Cell& cell : cells) names.push_back(cell.name);
  EXPECT_THAT(names, ElementsAre("io=direct page-size=4k", "io=buffered page-size=4k",
                                 "io=direct page-size=big", "io=buffered page-size=big"));
  EXPECT_EQ(cells[0].load_key, cells[1].load_key) << "only pages and rows make a database";
  EXPECT_NE(cells[0].load_key, cells[2].load_key);
  EXPECT_EQ(cells[3].skipped, "for the test");
  EXPECT_EQ(cells[2].options.at("page-size"), "16k");
  EXPECT_EQ(cells[2].load_options.at("threads"), "1");
}

// The first cell of a call with --only loaded the database with options of its own, whose figures
// then stood beside those of a load with others.
TEST(ExperimentTest, ACallWithOnlyLoadsAsOneWithAllCellsDoes) {
  PlanOptions options{"full", {}, {}, {}};
  const Cell of_all = PlanCells(Small(), options)[1];
  options.only = {{"io", {"buffered"}}};
  const Cell alone = PlanCells(Small(), options)[0];
  ASSERT_EQ(alone.name, of_all.name);
  EXPECT_EQ(alone.load_key, of_all.load_key);
  EXPECT_EQ(alone.load_options.at("io"), "direct") << "as the first cell that shares the load";
  EXPECT_EQ(alone.load_options, of_all.load_options);
}

// The runs of a cell are repeats of each other.
TEST(ExperimentTest, ACellHasOneNumberOfThreads) {
  const auto plan = [](const std::string& before, const std::string& after, PlanOptions options) {
    std::string text = kSmall;
    text.replace(text.find(before), before.size(), after);
    return ErrorOf([&] { PlanCells(ParseExperiment(text, "x"), options); });
  };
  const char* list = "threads 1,4 is a list: make it an axis, so that each number has a figure";
  const PlanOptions full{"full", {}, {}, {}, {}};
  EXPECT_THAT(plan("rows = 1000\n", "rows = 1000\nthreads = \"1,4\"\n", full), HasSubstr(list));
  EXPECT_THAT(plan("threads = 2", "threads = \"1,4\"", full), HasSubstr(list));
  EXPECT_THAT(plan(", threads = 2", "", {"full", {{"threads", "1,4"}}, {}, {}, {}}),
              HasSubstr(list));
  EXPECT_THAT(plan("[load]\nthreads = 1", "[load]\nthreads = \"1,4\"", full),
              HasSubstr("threads 1,4 is a list: the load of a database has one number"));
  EXPECT_EQ(plan("threads = 2", "threads = 4", full), "no error");
}

// Once, a factor that left less than a MiB, or was no number, asked for memory without a bound.
TEST(ExperimentTest, AFactorOfFullMultipliesItsMemory) {
  const auto ram = [](const std::string& text, const std::string& factor, OptionMap set = {}) {
    PlanOptions options;
    options.scale = factor;
    options.set = std::move(set);
    options.may_run_none = true;  // without a bound btree needs a --cache-size
    std::string found;
    const std::string error = ErrorOf(
        [&] { found = PlanCells(ParseExperiment(text, "x"), options)[0].options.at("ram"); });
    return error == "no error" ? found : error;
  };
  const auto with = [](const std::string& full) {
    std::string text = kSmall;
    return text.replace(text.find("options = { ram = \"1G\" }"), 24, full);
  };
  EXPECT_EQ(ram(kSmall, "0.5"), "536870912");
  EXPECT_EQ(ram(kSmall, "2"), "2147483648");
  EXPECT_EQ(ram(kSmall, "0.03125"), "33554432");
  EXPECT_EQ(ram(with(""), "0.5"), "33554432") << "half of the memory of [options]";
  EXPECT_EQ(ram(with("options = { ram = 0 }"), "0.5"), "0");
  EXPECT_EQ(ram(with("engine = { btree = { ram = \"2G\" } }"), "0.5"), "1073741824");
  for (const char* factor : {"0.03", "1e-9", "2e6", "1e300"}) {
    EXPECT_EQ(ram(kSmall, factor),
              fmt::format("--scale {} is not accepted: experiment small has 1G of memory at full, "
                          "and a factor must leave 32M to 1024T",
                          factor));
  }
  // A factor of memory that no cell takes is not asked for its product.
  EXPECT_EQ(ram(kSmall, "1e-9", {{"ram", "64M"}}), "64M");
  const std::string axis = std::string(kSmall) +
                           "\n[[axis]]\nname = \"memory\"\nvalues = [{ label = \"a\", ram = "
                           "\"128M\" }, { label = \"b\", ram = \"64M\" }]\n";
  EXPECT_EQ(ram(axis, "1e-9"), "128M");
  for (const char* factor : {"nan", "inf", "-1", "0", "0x1", " 1", "1x", ""}) {
    EXPECT_THAT(ram(kSmall, factor), HasSubstr("or a factor of full such as 0.1")) << factor;
  }
}

TEST(ExperimentTest, ARoundHasItsOwnDatabasesAndSeed) {
  PlanOptions options;
  options.scale = "full";
  EXPECT_EQ(RoundsOf(Small(), options), 1) << "as the scale says";
  EXPECT_EQ(RoundsOf(Small(), {"0.5", {}, {}, {}, {}}), 1) << "a part of the full scale";
  EXPECT_EQ(RoundsOf(Small(), {"tiny", {}, {}, {}, {}}), 1);
  options.rounds = 3;
  EXPECT_EQ(RoundsOf(Small(), options), 3);
  std::string text = kSmall;
  text.replace(text.find("rounds = 1\n"), 11, "");
  EXPECT_EQ(RoundsOf(ParseExperiment(text, "x"), {"full", {}, {}, {}, {}}), 3);
  text = kSmall;
  text.replace(text.find("rounds = 1\n"), 11, "rounds = 0\n");
  EXPECT_THAT(ErrorOf([&] { ParseExperiment(text, "x"); }), HasSubstr("rounds must be"));

  const std::vector<Cell> cells = PlanCells(Small(), options);
  ASSERT_EQ(cells.size(), 12u);
  for (size_t i = 0; i < cells.size(); ++i) {
    EXPECT_EQ(cells[i].round, static_cast<int>(i / 4) + 1) << "one round after the other";
  }
  // A cell that is late in each round would look slow on a machine that becomes slower.
  const auto orders = [&](const std::string& experiment) {
    PlanOptions six = options;
    six.rounds = 6;
    std::set<std::vector<std::string>> found;
    const std::vector<Cell> all = PlanCells(ParseExperiment(experiment, "x"), six);
    for (size_t round = 0; round < 6; ++round) {
      std::vector<std::string> names;
      size_t loads = 0;
      for (size_t i = 4 * round; i < 4 * round + 4; ++i) {
        names.push_back(all[i].name);
        loads += !all[i].load_key.empty() && (i == 0 || all[i].load_key != all[i - 1].load_key);
      }
      found.insert(names);
      EXPECT_EQ(loads, 2u) << "cells with one database stand together";
    }
    return found;
  };
  EXPECT_GT(orders(kSmall).size(), 2u);
  const std::string in_order = "in-order = true\n" + std::string(kSmall);
  EXPECT_EQ(orders(in_order).size(), 1u);
  const PlanOptions shuffled = {"full", {}, {}, 7};  // once, they were random in each round then
  EXPECT_THAT(ErrorOf([&] { PlanCells(ParseExperiment(in_order, "x"), shuffled); }),
              HasSubstr("--shuffle makes random orders, and experiment small compares cells"));
  std::set<std::string> loads;
  for (const Cell& cell : cells) {
    if (cell.load_key.empty()) continue;
    const auto seed = uint64_t{41} + static_cast<uint64_t>(cell.round);
    EXPECT_EQ(CellRunOptions(cell.options).data.seed, seed);
    EXPECT_EQ(CellRunOptions(cell.options).workload.seed, seed);
    EXPECT_EQ(CellRunOptions(cell.load_options).data.seed, seed);
    loads.insert(cell.load_key);
  }
  EXPECT_EQ(loads.size(), 6u) << "two in each round";
  options.set["page-size"] = "4k";
  EXPECT_THAT(ErrorOf([&] { PlanCells(Small(), options); }), HasSubstr("--only page-size=LABEL"));
  options.set.erase("page-size");
  options.set["seed"] = "7";
  EXPECT_EQ(PlanCells(Small(), options)[11 - 3].options.at("seed"), "9");
}

// Returns an experiment of three rounds with an axis of these seeds.
Experiment WithSeeds(const std::string& seeds) {
  return ParseExperiment(
      "name = \"seeds\"\ntitle = \"Seeds\"\n[options]\nengine = \"btree\"\nworkload = "
      "\"insert,point-read\"\nrows = 1000\nram = \"64M\"\n[scale.full]\nrounds = 3\n[[axis]]\n"
      "name = \"seed\"\nvalues = [" +
          seeds + "]\n",
      "seeds.toml");
}

// With seeds 1, 2 and 3 and a step of 1, the second round would have two seeds of the first again.
TEST(ExperimentTest, RoundsOfAnAxisOfSeedsShareNone) {
  const Experiment e = WithSeeds("3, 1, 2");
  PlanOptions options;
  options.scale = "full";
  std::set<uint64_t> seeds;
  for (const Cell& cell : PlanCells(e, options)) {
    ASSERT_TRUE(cell.runs()) << cell.skipped;
    EXPECT_EQ(CellRunOptions(cell.options).data.seed, cell.seed);
    EXPECT_TRUE(seeds.insert(cell.seed).second) << cell.name << " in round " << cell.round;
    if (cell.round == 1) {
      EXPECT_EQ(std::to_string(cell.seed), cell.labels.at("seed"));
    }
  }
  EXPECT_EQ(seeds.size(), 9u);
  // A part of the cells has the seeds that it has among all.
  options.only["seed"] = {"1"};
  std::vector<uint64_t> some;
  for (const Cell& cell : PlanCells(e, options)) some.push_back(cell.seed);
  EXPECT_THAT(some, ElementsAre(1u, 4u, 7u));
  // A seed may have a unit.
  std::set<uint64_t> of_units;
  for (const Cell& cell : PlanCells(WithSeeds("\"2k\", 2001"), {"full", {}, {}, {}})) {
    of_units.insert(cell.seed);
  }
  EXPECT_THAT(of_units, ElementsAre(2000u, 2001u, 2002u, 2003u, 2004u, 2005u));
}

TEST(ExperimentTest, ScalesSetOptionsAndChooseValues) {
  EXPECT_EQ(PlanCells(Small(), {"tiny", {}, {}, {}}).size(), 2u);
  const std::vector<Cell> half = PlanCells(Small(), {"0.5", {}, {}, {}});
  EXPECT_EQ(half[0].options.at("ram"), std::to_string(512 << 20));
  EXPECT_THAT(ErrorOf([] { PlanCells(Small(), {"huge", {}, {}, {}}); }), HasSubstr("full, tiny"));
  PlanOptions only{"tiny", {{"ram", "128M"}}, {{"io", {"buffered"}}}, {}};
  const std::vector<Cell> cells = PlanCells(Small(), only);
  EXPECT_EQ(cells[0].labels.at("io"), "buffered") << "the user's choice goes before the scale's";
  EXPECT_EQ(cells[0].options.at("ram"), "128M");
  only.only = {{"nosuch", {"x"}}};
  EXPECT_THAT(ErrorOf([&] { PlanCells(Small(), only); }), HasSubstr("nosuch"));
}

TEST(ExperimentTest, AnEngineMayHaveOptionsOfItsOwnAtAScale) {
  std::string text = kSmall;
  text += "[engine.btree]\nthreads = 3\nseconds = 7\n[scale.tiny.engine.btree]\nthreads = 5\n";
  text += "[scale.tiny.engine.rocksdb]\nthreads = 6\n";
  const auto cell = [&](const char* scale) {
    return PlanCells(ParseExperiment(text, "x"), {scale, {}, {}, {}})[0].options;
  };
  EXPECT_EQ(cell("tiny").at("threads"), "5");
  EXPECT_EQ(cell("tiny").at("seconds"), "7");
  EXPECT_EQ(cell("full").at("threads"), "3");
}

#ifdef TESTBED_HAVE_INNODB
// innodb:sql has innodb's options, and reads the database that innodb:handler loaded.
TEST(ExperimentTest, AVariantOfAnEngineSharesItsDatabase) {
  std::string text = kSmall;
  text.replace(text.find("values = [\"direct\", \"buffered\"]"), 31,
               "values = [{ label = \"direct\", engine = \"innodb\" }, "
               "{ label = \"buffered\", engine = \"innodb:sql\" }]");
  text += "[engine.innodb]\ncache-pct = 33\n";
  std::set<std::string> loads;
  for (const Cell& cell : PlanCells(ParseExperiment(text, "x"), {"full", {}, {}, {}})) {
    if (!cell.skipped.empty()) continue;  // the library may not be there
    EXPECT_TRUE(cell.runs()) << cell.name;
    EXPECT_EQ(cell.options.at("cache-pct"), "33");
    if (!cell.labels.at("page-size").starts_with("big")) loads.insert(cell.load_key);
  }
  EXPECT_LE(loads.size(), 1u);
}
#endif

TEST(ExperimentTest, ALoadMayHaveOtherMemoryButTheSameRows) {
  std::string text = kSmall;
  text.replace(text.find("rows = 1000"), 11, "db-ratio = 2");
  text += "[engine.btree]\npage-size = \"8k\"\nload = { ram = \"auto\" }\n";
  const Cell cell = PlanCells(ParseExperiment(text, "x"), {"full", {}, {}, {}})[0];
  const RunOptions run = CellRunOptions(cell.options), load = CellRunOptions(cell.load_options);
  EXPECT_EQ(run.ram_bytes, 1ull << 30);
  EXPECT_NE(load.ram_bytes, run.ram_bytes);
  EXPECT_EQ(load.data.rows, run.data.rows);
  EXPECT_EQ(load.threads, std::vector<int>{1});
}

// An engine that loads with more memory keeps more log, which the scratch device has to hold as
// well.
TEST(ExperimentTest, TheScratchDeviceHasRoomForTheLogOfTheLoad) {
  for (const uint64_t gib : {1, 2}) {
    std::string text = kSmall;
    text += fmt::format("[engine.btree]\nload = {{ ram = \"{}G\" }}\n", gib);
    const Cell cell = PlanCells(ParseExperiment(text, "x"), {"tiny", {}, {}, {}})[0];
    EXPECT_LT(CellRunOptions(cell.options).ram_bytes, 1ull << 30);
    EXPECT_GT(cell.scratch_bytes, cell.data_bytes + (gib << 30));
  }
}

TEST(ExperimentTest, ASkipMayBeOfOneScale) {
  std::string text = kSmall;
  text.replace(text.find("why = "), 6, "scale = \"full\"\nwhy = ");
  const auto skipped = [&](const char* scale) {
    return !PlanCells(ParseExperiment(text, "x"), {scale, {}, {{"io", {"buffered"}}}, {}})[1]
                .skipped.empty();
  };
  EXPECT_TRUE(skipped("full"));
  EXPECT_FALSE(skipped("tiny"));
  text.replace(text.find("scale = \"full\""), 14, "scale = \"big\" ");
  EXPECT_THAT(ErrorOf([&] { ParseExperiment(text, "x"); }), HasSubstr("the scale big"));
}

// The order of the cells in a round is random, but the way in which a shared database is loaded
// must not depend on it.
TEST(ExperimentTest, EveryRoundLoadsASharedDatabaseAlike) {
  std::string text = kSmall;
  text.replace(text.find("threads = 1\n"), 12, "");  // the line of [load]: cells differ in it now
  text.replace(
      text.find("\"buffered\"]\n[[axis]]"), 20,
      "{ label = \"buffered\", io = \"buffered\", threads = 3, ram = \"128M\" }]\n[[axis]]");
  PlanOptions options;
  options.scale = "full";
  options.rounds = 6;
  std::set<std::string> orders;
  std::set<OptionMap> loads;
  for (Cell& cell : PlanCells(ParseExperiment(text, "x"), options)) {
    if (!cell.runs() || cell.labels.at("page-size") != "4k") continue;
    orders.insert(cell.name + std::to_string(cell.round));
    cell.load_options.erase("seed");
    loads.insert(cell.load_options);
  }
  EXPECT_EQ(orders.size(), 12u);
  EXPECT_EQ(loads.size(), 1u);
}

TEST(ExperimentTest, ShufflingKeepsCellsOfOneDatabaseTogether) {
  std::set<std::string> first;
  for (uint64_t seed = 1; seed < 30; ++seed) {
    const std::vector<Cell> cells = PlanCells(Small(), {"full", {}, {}, seed});
    ASSERT_EQ(cells.size(), 4u);
    first.insert(cells[0].name);
    std::set<std::string> closed;
    for (size_t i = 1; i < cells.size(); ++i) {
      if (cells[i].load_key.empty() || cells[i].load_key == cells[i - 1].load_key) continue;
      closed.insert(cells[i - 1].load_key);
      EXPECT_FALSE(closed.contains(cells[i].load_key));
    }
  }
  EXPECT_GT(first.size(), 2u);
}

// The releases of an engine must have the options that the engine has in an experiment.
TEST(ExperimentTest, AReleaseHasTheOptionsOfItsEngine) {
  const EveryRelease is_there;
  size_t releases = 0;
  for (const Cell& cell : PlanCells(LoadExperiment("versions"), {"small", {}, {}, {}})) {
    const bool rocksdb = cell.options.at("engine").starts_with("rocksdb@");
    EXPECT_EQ(cell.options.contains("engine-option.cache_type"), rocksdb) << cell.name;
    EXPECT_EQ(cell.options.contains("engine-option.index_filter_charged"), rocksdb) << cell.name;
    releases += rocksdb;
  }
  EXPECT_GT(releases, 0u);
}

TEST(ExperimentTest, CellsOfEnginesThatAreNotThereWait) {
  std::string text = kSmall;
  text.replace(text.find("values = [\"direct\", \"buffered\"]"), 31,
               "values = [\"direct\", { label = \"buffered\", engine = \"nosuch\" }]");
  int wait = 0;
  for (const Cell& cell : PlanCells(ParseExperiment(text, "x"), {"full", {}, {}, {}})) {
    const bool there = cell.labels.at("io") == "direct";
    EXPECT_EQ(cell.runs(), there) << cell.name;
    if (there || !cell.skipped.empty()) continue;
    EXPECT_EQ(cell.waits_for, "nosuch") << cell.name;
    ++wait;
  }
  EXPECT_EQ(wait, 1) << "buffered with small pages; big ones are skipped";
}

TEST(ExperimentTest, CellsThatWriteShareALoadWhenTheyGetCopies) {
  std::string text = kSmall;
  text.replace(text.find("insert,point-read"), 17, "insert,mixed");
  const auto plan = [](const std::string& experiment) {
    return PlanCells(ParseExperiment(experiment, "x"), {"full", {}, {}, {}, 1});
  };
  const std::vector<Cell> own = plan(text), copies = plan("copy-loads = true\n" + text),
                          readers = plan("copy-loads = true\n" + std::string(kSmall));
  EXPECT_TRUE(own[0].load_key.empty());
  EXPECT_EQ(DatabaseText(own[0]), "its own");
  ASSERT_FALSE(copies[0].load_key.empty());
  EXPECT_EQ(copies[0].load_key, copies[1].load_key);
  EXPECT_NE(copies[0].load_key, copies[2].load_key);
  EXPECT_EQ(DatabaseText(copies[0]), "a copy of " + copies[0].load_key.substr(0, 6));
  EXPECT_EQ(copies[0].scratch_bytes, 2 * own[0].scratch_bytes) << "of the load and of its copy";
  EXPECT_EQ(DatabaseText(readers[0]), "shared " + readers[0].load_key.substr(0, 6));
  EXPECT_THAT(ErrorOf([&] { plan("copy-loads = 1\n" + text); }),
              HasSubstr("copy-loads must be true or false"));
}

// A server's directory is its user's, and a file in it may say where it lies.
TEST(ExperimentTest, TheDatabaseOfAServerIsNotCopied) {
  std::string text = "copy-loads = true\n" + std::string(kSmall);
  text.replace(text.find("insert,point-read"), 17, "insert,mixed");
  text.replace(text.find("\"btree\""), 7, "\"mysql\"");
  std::vector<Cell> cells;
  try {
    cells = PlanCells(ParseExperiment(text, "x"), {"full", {}, {}, {}, 1});
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  EXPECT_TRUE(cells[0].runs());
  EXPECT_EQ(DatabaseText(cells[0]), "its own");
}

// Returns whether the library of the cell's engine is here, or the program of one that is a server.
bool CanRunHere(const Cell& cell) {
  for (const EngineInfo& info : Engines()) {
    if (info.name == cell.options.at("engine")) return IsEngineHere(info);
  }
  return false;  // the build has no such engine
}

TEST(ExperimentTest, EveryShippedExperimentPlansAtEveryScale) {
  const EveryRelease releases;
  for (const auto& [name, text] : ShippedExperiments()) {
    const Experiment e = LoadExperiment(name);
    EXPECT_EQ(e.name, name);
    EXPECT_TRUE(e.scales.contains("tiny")) << name;
    EXPECT_TRUE(e.scales.contains("small")) << name;
    EXPECT_TRUE(e.scales.contains("full")) << name;
    for (const auto& [scale, unused] : e.scales) {
      for (const Cell& cell : PlanCells(e, {scale, {}, {}, {}})) {
        // A cell may ask for something that the engine cannot do, but an unknown option is a
        // mistake in the file.
        EXPECT_THAT(cell.skipped, testing::Not(HasSubstr("not expected"))) << name;
        EXPECT_THAT(cell.skipped, testing::Not(HasSubstr("has no --"))) << name;
        EXPECT_THAT(cell.skipped, testing::Not(HasSubstr("is not one of"))) << name;
        EXPECT_THAT(cell.skipped, testing::Not(HasSubstr("cannot be loaded"))) << name;
        // The parts of such an experiment compare settings, so no engine may refuse one of these.
        if (name.starts_with("engine-defaults") && CanRunHere(cell)) {
          EXPECT_EQ(cell.skipped, "") << cell.name;
        }
      }
    }
  }
}

// Rates are compared with equal memory, so the memory held stands beside them.
TEST(ExperimentTest, TablesOfRatesHaveTheMemoryHeld) {
  const EveryRelease releases;
  for (const char* name : {"cache-auto", "cache-split", "compressed-cache", "engine-defaults",
                           "engine-defaults-more", "read-size", "versions", "ycsb"}) {
    const Experiment e = LoadExperiment(name);
    for (const TableSpec& table : e.tables) {
      const bool has_rate = std::any_of(
          table.metrics.begin(), table.metrics.end(),
          [&](const std::string& metric) { return e.FindMetric(metric)->unit == "/s"; });
      if (!has_rate) continue;
      EXPECT_THAT(table.metrics, testing::Contains("held")) << name << ": " << table.title;
    }
  }
}

TEST(ExpressionTest, FiguresAreNumbersByPath) {
  const Figures figures = {{"a.b", 6}, {"c", 2}};
  EXPECT_EQ(EvaluateFigures("a.b / c + 1", figures), 4);
  EXPECT_TRUE(std::isnan(EvaluateFigures("a.b / nosuch", figures)));
  EXPECT_EQ(EvaluateFigures("within(a.b, 5.9, 0.05) && max(1, c) == 2", figures), 1);
  EXPECT_THAT(ErrorOf([&] { EvaluateFigures("a.b / (", figures); }), HasSubstr("a.b / ("));
}

TEST(ExpressionTest, ASelectionIsAListOfArguments) {
  const auto is_metric = [](const std::string& name) { return name == "qps"; };
  const auto cells_of = [](const Selection& selection) -> Statement::Groups {
    if (selection.where.empty()) return {{0}, {1}, {2}};
    if (selection.where.at("io")[0] == "none") return {};
    return selection.where.at("io").size() == 2 ? Statement::Groups{{3}, {0, 4}}
                                                : Statement::Groups{{5}};
  };
  // The figures of cells 0 to 5.
  const std::vector<double> qps = {1, 2, 3, 4, 9, -4};
  const auto value = [&](const std::string& text) {
    const Statement statement(text, is_metric, cells_of);
    std::vector<double> values;
    for (const Statement::Figure& figure : statement.figures()) values.push_back(qps[figure.cell]);
    return statement.Evaluate(values);
  };
  EXPECT_EQ(value("max(qps)"), 3);
  EXPECT_EQ(value("count(qps) + qps[io=a] * 1e2"), -397);
  EXPECT_EQ(value("sum(qps[io = a | b])"), 4 + 5) << "the second argument is the mean of 1 and 9";
  EXPECT_EQ(value("qps[io=a] < 0 && max(qps) > 2"), 1);
  EXPECT_TRUE(std::isnan(value("max(qps[io=none])")));
  EXPECT_THAT(ErrorOf([&] { value("max(qps[io)"); }), HasSubstr("not closed"));
  EXPECT_THAT(ErrorOf([&] { value("max(qps[io])"); }), HasSubstr("axis=label"));
  EXPECT_THAT(ErrorOf([&] { value("max(p99[io=a])"); }), HasSubstr("the metric p99"));
  EXPECT_THAT(ErrorOf([&] { value("max(qps) > nosuch"); }), HasSubstr("nosuch"));
}

// muParser would take the last of several values, which is not 0 and so is true.
TEST(ExpressionTest, ASelectionOfSeveralCellsMustBeAnArgument) {
  const auto is_metric = [](const std::string& name) { return name == "qps"; };
  const auto error = [&](const std::string& text) {
    return ErrorOf([&] {
      const Statement statement(
          text, is_metric,
          [](const Selection& selection) {
            return selection.where.at("io")[0] == "a" ? Statement::Groups{{0}}
                                                      : Statement::Groups{{1}, {2, 3}};
          },
          [](const Statement::Groups&) { return "page-size"; });
      statement.Evaluate(std::vector<double>(statement.figures().size(), 1));
    });
  };
  for (const char* several :
       {"qps[io=b] > 1e6 * qps[io=a]", "qps[io=a] > qps[io=b]", "qps[io=b]",
        "max(qps[io=b] * 2, 1) > 0", "max(1, 2 * qps[io=b]) > 0", "max(1, (qps[io=b])) > 0",
        "(qps[io=b]) > 1", "qps[io=a] > 1, qps[io=b]"}) {
    EXPECT_THAT(error(several), HasSubstr("qps[io=b] names 2 cells, which differ in page-size"))
        << several;
  }
  for (const char* one :
       {"max(qps[io=b]) > qps[io=a]", "min( 1 , qps[io=b] ) > 0", "count(qps[io=b], (1 + 2)) > 0",
        "max((1 + 2), qps[io=b], qps[io=a] * 2) > qps[io=a]", "argmax(qps[io=b], 4, 8) == 8"}) {
    EXPECT_EQ(error(one), "no error") << one;
  }
  EXPECT_THAT(error("qps[io=a], qps[io=a] > 1"), HasSubstr("a list of 2 values"));
  EXPECT_THAT(ErrorOf([] { EvaluateFigures("1, 2", {}); }), HasSubstr("a list of 2 values"));
  EXPECT_TRUE(std::isnan(EvaluateFigures("argmax(1, 2, 3)", {}))) << "a label is missing";
}

TEST(ExpressionTest, TextsHaveExpressionsInBraces) {
  EXPECT_THAT(ExpressionsIn("a {b} c {d + 1}, {open"), ElementsAre("b", "d + 1"));
  EXPECT_EQ(FillExpressions("a {b}{c} {open", [](const std::string& e) { return e + e; }),
            "a bbcc {open");
}

}  // namespace
}  // namespace testbed
