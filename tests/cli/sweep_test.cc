// Tests sweeps: options with lists become an experiment that goes on where it was interrupted.
#include <map>
#include <set>
#include <string>

#include "tests/cli/command.h"
#include "tests/cli/results/explained_columns.h"
#include "tools/report/explain/words.h"

namespace testbed {
namespace {

using SweepTest = CommandTest;

constexpr char kCells[] =
    "--engine btree,null --page-size 4k,8k --ram 64M --rows 500 --operations 100 --threads 1 "
    "--account file ";

TEST_F(SweepTest, ListsAreRunAsAGridWithTheBestMarkedAndGoOn) {
  const std::string words = std::string(kCells) + "--out s --csv s.csv";
  const CommandResult result = Run(words);
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.err.find("sweep: 4 cells to run; "), std::string::npos) << result.err;
  EXPECT_NE(result.err.find(" of disk"), std::string::npos) << result.err;
  EXPECT_NE(result.out.find("Operations a second"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("page-size=4k"), std::string::npos) << result.out;
  const size_t best = result.out.find(" best");
  ASSERT_NE(best, std::string::npos) << result.out;
  EXPECT_EQ(result.out.find(" best", best + 1), std::string::npos) << "one is marked";
  const std::string csv = Read(directory_ / "s.csv");
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 4);
  EXPECT_EQ(csv.rfind("experiment,scale,round,engine,page-size,cpu_us,", 0), 0u) << csv;
  EXPECT_NE(result.out.find("\n4 of 4 cells"), std::string::npos) << result.out;
  EXPECT_EQ(result.out.find("scale small"), std::string::npos) << "nobody chose it";
  EXPECT_NE(csv.find("\nsweep,,1,btree,4k,"), std::string::npos) << csv;
  const CommandResult again = Run(words);
  EXPECT_EQ(again.out, result.out);
  // Once, it removed the results.
  const CommandResult kept = Run(words + " --fresh=false --quiet=true");
  EXPECT_EQ(kept.out, result.out);
  EXPECT_EQ(kept.err, "");
  EXPECT_NE(again.err.find("0 cells to run, 4 done before"), std::string::npos) << again.err;

  const CommandResult tables = Run("report s --wide");
  EXPECT_EQ(tables.code, 0) << tables.err;
  EXPECT_EQ(tables.out, result.out);
  std::set<std::string> figures = PrintedColumns(result.out, "All figures"), explained;
  EXPECT_EQ(figures.erase("engine page-size"), 1u) << result.out;
  for (const ColumnMeaning& m : WordMeanings()) {
    if (m.table == std::string("Figures of a sweep")) explained.insert(m.column);
  }
  EXPECT_EQ(explained.erase("found (/s)"), 1u) << "of --find-rate";
  EXPECT_EQ(figures, explained);
  // Four cells have a row each; the loads that they need have an insert and a settle.
  const CommandResult rows = Run("report s --csv");
  EXPECT_EQ(rows.code, 0) << rows.err;
  EXPECT_EQ(std::count(rows.out.begin(), rows.out.end(), '\n'), 1 + 4 + 4 * 2);
  const CommandResult files = Run("report s/cells/ s/loads --csv");
  EXPECT_EQ(files.out.substr(0, files.out.find('\n')), rows.out.substr(0, rows.out.find('\n')));
  EXPECT_EQ(files.out.size(), rows.out.size());
  // One round is one load, from which nothing is told.
  const CommandResult compared = Run("compare s s");
  EXPECT_EQ(compared.code, 0) << compared.err;
  EXPECT_NE(compared.out.find("engine=btree page-size=4k: point-read, 1 thr: cannot be told from 1 "
                              "load of each"),
            std::string::npos)
      << compared.out;
}

TEST_F(SweepTest, RoundsAreAddedToASweep) {
  const std::string words =
      "--engine null --threads 1,2 --ram 64M --rows 500 --operations 100 --account file ";
  ASSERT_EQ(Run(words + "--rounds 1").code, 0);
  CommandResult more = Run(words + "--rounds 2");
  EXPECT_EQ(more.code, 0) << more.err;
  EXPECT_NE(more.err.find("2 cells to run, 2 done before"), std::string::npos) << more.err;
  EXPECT_NE(more.out.find("4 of 4 cells in 2 rounds"), std::string::npos) << more.out;
  // An earlier version wrote the rounds into the text.
  std::string out;
  for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
    out = entry.path().filename();
  }
  const std::string header = out + "/experiment.json";
  std::string text = Read(directory_ / header);
  const size_t at = text.find("rounds = 1\\n");
  ASSERT_NE(at, std::string::npos) << text;
  std::ofstream(directory_ / header) << text.replace(at, 10, "rounds = 2");
  more = Run(words + "--rounds 3 --out " + out);
  EXPECT_EQ(more.code, 0) << more.err;
  EXPECT_NE(more.err.find("2 cells to run, 4 done before"), std::string::npos) << more.err;
}

TEST_F(SweepTest, LinesOfProgressComeAtTheInterval) {
  // The rate makes each phase take two seconds.
  const CommandResult result =
      Run("--engine null --ram 64M --rows 500 --account off --warmup 0 --threads 1 --workload "
          "insert,point-read@100 --operations 200,201 --rounds 1 --report-interval 1 --out s");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.err.find("point-read"), std::string::npos) << result.err;
}

TEST_F(SweepTest, ASweepIsSavedAsAnExperimentThatRunsTheSame) {
  const CommandResult saved =
      Run(std::string(kCells) + "--engine-option log_pad=off --drop-caches --save s.toml");
  ASSERT_EQ(saved.code, 0) << saved.err;
  EXPECT_NE(saved.out.find("run it: testbed experiment s.toml\n"), std::string::npos) << saved.out;
  EXPECT_FALSE(std::filesystem::exists(directory_ / "testbed-sweep-small"));
  const std::string file = Read(directory_ / "s.toml");
  // Two files of one directory have results of their own, testbed-NAME-small.
  EXPECT_EQ(file.rfind("name = \"s\"\n", 0), 0u) << file;
  EXPECT_NE(file.find("rounds = 1\n"), std::string::npos) << file;
  EXPECT_NE(file.find("name = \"page-size\"\nvalues = [\"4k\", \"8k\"]"), std::string::npos)
      << file;
  const CommandResult plan = Run("experiment plan s.toml");
  ASSERT_EQ(plan.code, 0) << plan.err;
  EXPECT_NE(plan.out.find("engine=btree page-size=8k"), std::string::npos) << plan.out;
}

// Once, only the last value of such a setting was left, without a word.
TEST_F(SweepTest, ASettingThatIsAListIsExtendedByBeingGivenAgain) {
  const CommandResult saved =
      Run(std::string(kCells) +
          "--engine-option server_option=a=1 --engine-option server_option=b=2 "
          "--engine-option log_pad=on --engine-option log_pad=off --save s.toml");
  ASSERT_EQ(saved.code, 0) << saved.err;
  const std::string file = Read(directory_ / "s.toml");
  EXPECT_NE(file.find("engine-option.\"server_option\" = \"a=1;b=2\"\n"), std::string::npos)
      << file;
  EXPECT_NE(file.find("engine-option.\"log_pad\" = \"off\"\n"), std::string::npos) << file;
  if (!HasEngine("rocksdb")) GTEST_SKIP() << "no rocksdb here, which has such a setting";
  std::ofstream(directory_ / "e.toml")
      << "name = \"e\"\ntitle = \"E\"\n[options]\nengine = \"rocksdb\"\nrows = 500\n"
         "[scale.small]\n[[axis]]\nname = \"page-size\"\nvalues = [\"4k\", \"8k\"]\n";
  const CommandResult plan =
      Run("experiment plan e.toml --set engine-option.options=max_open_files=100 "
          "--set engine-option=options=ttl=0");
  EXPECT_EQ(plan.code, 0) << plan.err;
  EXPECT_NE(plan.out.find("max_open_files=100;ttl=0"), std::string::npos) << plan.out;
}

// The workloads may stand on several lines.
TEST_F(SweepTest, ASweepTakesWorkloadsWithTabsAndLineEnds) {
  const CommandResult saved =
      Run(std::string(kCells) + "--workload \"$(printf 'insert,\\n\\tpoint-read')\" --save s.toml");
  ASSERT_EQ(saved.code, 0) << saved.err;
  const CommandResult plan = Run("experiment plan s.toml");
  EXPECT_EQ(plan.code, 0) << plan.err;
}

// Once, the line that tells how to run the file named one that `testbed experiment` refuses, or a
// file that could not be written.
TEST_F(SweepTest, WhatIsSaidOfASavedSweepIsTrue) {
  const CommandResult other = Run(std::string(kCells) + "--save s.txt");
  ASSERT_EQ(other.code, 0) << other.err;
  EXPECT_NE(other.out.find("name it NAME.toml"), std::string::npos) << other.out;
  EXPECT_EQ(Read(directory_ / "s.txt").rfind("name = \"sweep\"\n", 0), 0u);
  const CommandResult full = Run(std::string(kCells) + "--save /dev/full");
  EXPECT_EQ(full.code, 1) << full.err;
  EXPECT_EQ(full.out, "");
  EXPECT_NE(full.err.find("--save /dev/full cannot be written"), std::string::npos) << full.err;
}

// Once, the settle after the load was taken for a measured phase, which has no figures.
TEST_F(SweepTest, ALoadThatComesToRestHasTheFiguresOfTheLoad) {
  const CommandResult result =
      Run("--engine btree --page-size 4k,8k --ram 64M --rows 500 --threads 1 --account file "
          "--workload insert,settle --out s");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find(" best"), std::string::npos) << result.out;
  EXPECT_EQ(result.out.find("p99_us"), std::string::npos) << result.out;
}

// Once, the best of an open loop was the highest rate, which --rate had set, and its latency left
// out the waiting.
TEST_F(SweepTest, AtARateTheGridHasTheLatencyThatClientsWaitFor) {
  const auto saved = [this](const std::string& options) {
    const CommandResult result =
        Run("--engine btree,null --ram 64M --rows 500 --save s.toml " + options);
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(Run("experiment plan s.toml").code, 0);
    return Read(directory_ / "s.toml");
  };
  for (const std::string open :
       {"--rate 500", "--rate 500,900", "--workload 'insert,ycsb-c 9s @ 500'",
        "--workload 'linkbench-load,linkbench 9s @ 500,linkbench-check'"}) {
    const std::string file = saved(open);
    EXPECT_NE(file.find("\"measured.operation.latency_from_intended_us.p99\""), std::string::npos)
        << file;
    EXPECT_NE(file.find("metrics = [\"p99_us\"]\nbest = \"min\""), std::string::npos) << file;
  }
  const std::string closed = saved("--workload insert,ycsb-c");
  EXPECT_NE(closed.find("\"measured.operation.latency_us.p99\""), std::string::npos) << closed;
  EXPECT_NE(closed.find("\"measured.write_bytes_with_settle / measured.count\""), std::string::npos)
      << closed;
  EXPECT_NE(closed.find("metrics = [\"ops\"]\nbest = \"max\""), std::string::npos) << closed;
  const std::string searched = saved("--workload insert,ycsb-c --find-rate 'p99 < 5ms'");
  EXPECT_NE(searched.find("\"find_rate.ycsb_c.found_rate\""), std::string::npos) << searched;
}

TEST_F(SweepTest, ASweepOfSearchesMarksTheHighestRateThatWasFound) {
  const CommandResult result =
      Run("--engine null --rows 500,600 --ram 64M --threads 1 --seconds 0.2 --warmup 0 --account "
          "off --added-delay 200000 --find-rate 'p50 < 2ms' --out s --csv s.csv");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("Highest rate that meets the limit"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find(" best"), std::string::npos) << result.out;
  const std::string csv = Read(directory_ / "s.csv");
  EXPECT_NE(csv.substr(0, csv.find('\n')).find(",found,"), std::string::npos) << csv;
}

// The cells share a load, which is a run of its own, and the option is of the load alone.
TEST_F(SweepTest, AnOptionOfASharedLoadIsNoneOfItsCells) {
  const CommandResult result =
      Run("--engine btree --ram 64M --rows 100 --threads 1 --account file --quiet "
          "--cache-pct 20,50 --workload linkbench-load,linkbench-check "
          "--workload-option covering_index=with-links --out s");
  ASSERT_EQ(result.code, 0) << result.err;
  for (const auto& entry : std::filesystem::directory_iterator(directory_ / "s/cells")) {
    const nlohmann::json document = nlohmann::json::parse(Read(entry.path()));
    EXPECT_EQ(document["runs"].back()["phases"].back()["name"], "linkbench-check");
    EXPECT_TRUE(document["options"]["workload_options"].empty()) << document["options"];
    EXPECT_NE(document["load_command"].dump().find("covering_index=with-links"), std::string::npos);
  }
}

TEST_F(SweepTest, AForecastRunsNothing) {
  const CommandResult result =
      Run("--engine btree --cache-pct 20,50 --seconds 30,60 --threads 1,8 --rounds 2 --forecast");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("16 cells to run; about "), std::string::npos) << result.out;
  const CommandResult runs = Run(
      "--engine null --rows 9 --seconds 10,20 --warmup 0 --repeat-runs 2 --threads 1 --forecast");
  EXPECT_NE(runs.out.find(": 60 s of measuring"), std::string::npos) << runs.out;
  // The text of an experiment has such a character escaped.
  const CommandResult erased =
      Run("--engine null --rows 9,10 --forecast --label \"$(printf 'a\\177b')\"");
  EXPECT_EQ(erased.code, 0) << erased.err;
  // Once, the value "true" was taken for that of a flag, and left out behind the option.
  const CommandResult word = Run("--engine null --rows 9,10 --forecast --label true");
  EXPECT_EQ(word.code, 0) << word.err;
  EXPECT_TRUE(DirectoryIsEmpty());
}

// Once, --save left out the forecast without a word.
TEST_F(SweepTest, ASweepThatIsSavedHasItsForecast) {
  const std::string both = "--engine null --rows 9,10 --threads 1 --forecast --save ";
  const CommandResult saved = Run(both + "s.toml");
  ASSERT_EQ(saved.code, 0) << saved.err;
  EXPECT_NE(saved.out.find("run it: testbed experiment s.toml\n"), std::string::npos) << saved.out;
  EXPECT_NE(saved.out.find("2 cells to run; "), std::string::npos) << saved.out;
  EXPECT_EQ(Run("experiment plan s.toml").code, 0);
  ExpectRefused(Run(both + "-"), "give --save a file");
}

// Once, such loads took minutes, and the forecast said seconds.
TEST_F(SweepTest, AForecastSaysWhichLoadsItCannotTell) {
  const std::string mapped =
      "--engine btree --io mmap --page-size 4k,8k --key-order random --ram 32M --forecast ";
  const CommandResult unknown = Run(mapped);
  EXPECT_NE(unknown.out.find("2 cells to run; more than "), std::string::npos) << unknown.out;
  EXPECT_NE(unknown.out.find("2 of the loads may take many times as long"), std::string::npos)
      << unknown.out;
  for (const std::string known : {"--mmap-advice random", "--db-ratio 0.5", "--readahead 4k"}) {
    const CommandResult result = Run(mapped + known);
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.out.find("of the loads may"), std::string::npos) << known << result.out;
  }
  EXPECT_EQ(Run("--engine btree --io mmap --page-size 4k,8k --ram 32M --forecast")
                .out.find("of the loads may"),
            std::string::npos)
      << "rows come in the order of their keys";
}

TEST_F(SweepTest, AListOfThreadsAloneIsOneDocumentAsBefore) {
  ASSERT_EQ(Run("--engine null --ram 64M --rows 500 --operations 100 --threads 1,2 --json run.json "
                "--quiet")
                .code,
            0);
  EXPECT_EQ(Json("run.json")["runs"].size(), 3u) << "a load, and a run for each number";
}

TEST_F(SweepTest, ACommaInTheNameOfATraceMakesNoSweep) {
  const CommandResult result =
      Run("--engine null --ram 64M --rows 100 --threads 1 --operations 100 --warmup 0 --quiet "
          "--account off --record a,b.trace");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(std::filesystem::exists(directory_ / "a,b.trace"));
}

TEST_F(SweepTest, WhatASweepCannotTakeIsRefusedBeforeAnything) {
  ExpectRefused(Run("--engine btree,rokcsdb"), "did you mean rocksdb?");
  ExpectRefused(Run("--engine btree --page-size 4k,3q"), "--page-size 3q is not accepted");
  ExpectRefused(Run("--engine btree --page-size 4k,4k"), "4k is in the list twice");
  ExpectRefused(Run("--engine btree --page-size 4k,"), "--page-size");
  ExpectRefused(Run("--engine btree --page-size 4k,8k --json x"), "--json belongs to a single run");
  ExpectRefused(Run("--engine btree --page-size 4k,8k --dir d"), "--dir belongs to a single run");
  // Once, --repeat made several runs on one load, and the command of such a cell was refused.
  for (const char* loads : {"3", "1,3"}) {
    ExpectRefused(Run(std::string("--engine btree --page-size 4k,8k --repeat ") + loads),
                  "--repeat belongs to a single run: a cell has one load in each round; give "
                  "--rounds N for several loads, or --repeat-runs N for several runs on each");
  }
  ExpectRefused(Run("--engine btree --page-size 4k,8k --ops 3"), "--ops is no option of a run");
  ExpectRefused(Run("--engine btree --page-size 4k,8k --rows 500 --rows 600"),
                "--rows is given twice; give it once");
  // Once, each cell was begun, and failed.
  ExpectRefused(Run("--engine btree --page-size 4k,8k --workload point-read"),
                "--workload point-read needs a loaded database; begin with insert, as in "
                "insert,point-read");
  ExpectRefused(Run("--page-size 4k,8k"), "--engine is missing");
  ExpectRefused(Run("--ram 64M --rounds 3"), "--engine is missing");
  ExpectRefused(Run("--forecast"), "--engine is missing");
  ExpectRefused(Run("--engine btree --page-size 4k,8k --rows 10G --forecast --save no/s.toml"),
                "--save no/s.toml cannot be written");
  EXPECT_TRUE(DirectoryIsEmpty());
}

#ifdef TESTBED_HAVE_MYSQL
// A cell whose options are refused is left out, and its options would be kept with those of the
// others.
TEST_F(SweepTest, NoSweepStoresAPassword) {
  for (const std::string where : {"--save s.toml", "--out s", "--forecast"}) {
    for (const std::string option :
         {"--connect mysql://me:s3cret@127.0.0.1/", "--connect mysql://127.0.0.1/?password=s3cret",
          "--engine-option connect=mysql://me:s3cret@127.0.0.1/"}) {
      const CommandResult result = Run("--engine mysql,btree " + option + " --rows 100 " + where);
      ExpectRefused(result, "takes no password");
      EXPECT_EQ((result.out + result.err).find("s3cret"), std::string::npos) << result.err;
    }
  }
  EXPECT_TRUE(DirectoryIsEmpty());
}

// The text of an experiment is stored with its results, with what does not run this time.
TEST_F(SweepTest, NoExperimentStoresAPassword) {
  const std::string url = "\"mysql://me:s3cret@127.0.0.1/\"";
  const std::string axis =
      "[[axis]]\nname = \"where\"\nvalues = [{ label = \"here\", engine = \"btree\" }";
  for (const std::string& text :
       {"[scale.small]\n" + axis + ", { label = \"there\", engine = \"mysql\", connect = " + url +
            " }]\n",
        "[scale.small]\n" + axis +
            ", { label = \"there\", engine = \"mysql\", engine-option = { connect = " + url +
            " }, asked = true }]\n",
        "[scale.small]\n[scale.full]\noptions = { engine = \"mysql\", connect = " + url + " }\n" +
            axis + "]\n"}) {
    std::ofstream(directory_ / "e.toml")
        << "name = \"e\"\ntitle = \"E\"\n[options]\nrows = 500\n"
        << text
        << "[metrics]\nq = \"measured.rate\"\n[[table]]\ntitle = \"T\"\nrows = "
           "[\"where\"]\nmetrics = [\"q\"]\n";
    const CommandResult result = Run("experiment e.toml --quiet --out o");
    ExpectRefused(result, "takes no password");
    EXPECT_EQ((result.out + result.err).find("s3cret"), std::string::npos) << result.err;
    EXPECT_FALSE(std::filesystem::exists(directory_ / "o"));
  }
}
#endif

// An error of an experiment file names the line and calls options as the file does.
TEST_F(SweepTest, ErrorsOfAnExperimentHaveFileAndLine) {
  const auto expect = [&](const std::string& text, const std::string& error) {
    std::ofstream(directory_ / "e.toml") << text;
    ExpectRefused(Run("experiment plan e.toml"), error);
  };
  const std::string head = "name = \"e\"\ntitle = \"E\"\n[options]\nengine = \"btree\"\n";
  expect(head + "value-sise = 3\n",
         "e.toml:5: value-sise is no option of a run; did you mean "
         "--value-size?");
  expect(head + "page-size = \"3q\"\n", "e.toml:5: page-size 3q is not accepted");
  expect(head + "dir = \"d\"\n", "e.toml:5: dir is no option of an experiment");
  expect(head + "quiet = true\n", "e.toml:5: quiet is no option of an experiment");
  expect(head + "repeat = 3\n", "e.toml:5: repeat is no option of an experiment: a cell has one");
  // Once, such tables were taken, and no cell could run, because a run has no option --load.
  expect(head + "load = { io = \"direct\" }\n", "e.toml:5: load belongs to [engine.NAME]");
  expect(head +
             "[scale.small]\n[[axis]]\nname = \"x\"\nvalues = [\n{ label = \"a\", load = { io = "
             "\"direct\" } } ]\n",
         "e.toml:9: load belongs to [engine.NAME]");
  expect(head + "[scale.small]\n[[axis]]\nname = \"io\"\nvalues = [\"direct\", \"fast\"]\n",
         "e.toml:8: io fast is not accepted");
  expect(
      head +
          "[scale.small]\n[[axis]]\nname = \"io\"\nvalues = [\"direct\"]\n[metrics]\nq = "
          "\"measured.rate\"\n[[table]]\ntitle = \"T\"\nrows = [\"nosuch\"]\nmetrics = [\"q\"]\n",
      "e.toml:11: table \"T\" names the axis nosuch");
  const std::string axis = "[scale.small]\n[[axis]]\nname = \"io\"\nvalues = [\"direct\"]\n";
  // Once, each of these errors was found when all cells had run, and no results directory takes a
  // file that was mended.
  for (const auto& [metric, error] : std::map<std::string, std::string>{
           {"measured.rate +", "the expression measured.rate +: "},
           {"mean(measured.rate)", "the expression mean(measured.rate): "},
           {"measured.rate, 2", "the expression measured.rate, 2: it is a list of 2 values"}}) {
    expect(head + axis + "[metrics]\nq = { value = \"" + metric + "\" }\n",
           "e.toml:10: metric q: " + error);
  }
  // The line was that of the first one.
  expect(head + axis +
             "[[skip]]\nwhere = { io = \"direct\" }\nwhy = \"w\"\n[[skip]]\nwhere = "
             "{ oi = \"direct\" }\nwhy = \"w\"\n",
         "e.toml:12: skip 2 names the axis oi, which is not there");
}

}  // namespace
}  // namespace testbed
