// Tests what a page says of a run: the doubts of the report, latencies from the intended start, the
// run's own share of the device, and stalls of single seconds.
#include "tools/html/page_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/unit/tools/results/small_document.h"
#include "tools/html/plot_files.h"

namespace testbed {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr size_t kMixed = 2;  // the phase of SmallDocument that measures

json& Mixed(json& document) { return document["runs"][0]["phases"][kMixed]; }

// Returns the document as the page has it.
json OnPage(const json& document) {
  PageData data;
  data.AddDocument("run.json", document);
  return data.Json()["documents"][0]["document"];
}

// Returns what a function of the page says of the phase that measures.
std::string Says(const json& document, const std::string& call) {
  return EvaluateOnPage(
      OnPage(document),
      "var run = data.runs[0], phase = run.phases[2]; JSON.stringify(" + call + ");");
}

std::string Answers(const json& document) {
  return Says(document, "testbed.answers(data, run, phase)");
}

json Confidence(const json& document) {
  return json::parse(Says(document, "testbed.confidence(data, run, phase)"));
}

// Returns a document of an open loop whose clients fell behind: each operation took a microsecond,
// and most of them had waited for a second.
json OpenLoop() {
  json document = SmallDocument();
  json& phase = Mixed(document);
  phase.update({{"target_rate", 3000},
                {"due_operations", 2000},
                {"undone_operations", 1900},
                {"backlog_seconds", 1}});
  json operation = SmallOperation("mixed", 100);
  operation["latency_ns_histogram"] = json::parse("[[1000, 100]]");
  operation["latency_from_intended_us"] = {{"mean", 9e5},  {"p50", 9.5e5}, {"p90", 9.6e5},
                                           {"p99", 9.9e5}, {"p999", 1e6},  {"p9999", 1e6},
                                           {"max", 1e6}};
  operation["latency_from_intended_ns_histogram"] = json::parse("[[1000, 100], [990000000, 1900]]");
  phase["operations"] = json::array({operation});
  return document;
}

TEST(PageDataTest, DoubtsOfTheReportAlarm) {
  json document = OpenLoop();
  Mixed(document)["steal_share"] = 0.3;
  document["not_in_force"] = json::parse(R"([{"option": "ram", "why": "not root"}])");
  EXPECT_THAT(OnPage(document)["doubts"],
              ElementsAre(HasSubstr("the hypervisor gave up to 30 % of the processors"),
                          HasSubstr("mixed, 8 thr fell behind: 1,900 of 2,000 operations due"),
                          "--ram is not in force: not root"));
  size_t alarms = 0;
  for (const json& says : Confidence(document)) alarms += says.value("alarm", false);
  EXPECT_EQ(alarms, 4u) << "the doubts, and the stall of SmallDocument";
}

TEST(PageDataTest, AClosedLoopIsCalledSo) {
  EXPECT_THAT(Confidence(SmallDocument()).dump(), HasSubstr("closed loop: each client begins"));
  EXPECT_THAT(Confidence(OpenLoop()).dump(), Not(HasSubstr("closed loop")));
}

TEST(PageDataTest, AnOpenLoopHasItsLatencyFromTheIntendedStart) {
  EXPECT_THAT(
      Answers(OpenLoop()),
      HasSubstr("operations a second, of 3,000 asked for; from the intended start half took "
                "up to 950 ms, the slowest 1 s."));
  EXPECT_THAT(Answers(SmallDocument()), Not(HasSubstr("intended")));
  const json operation = OnPage(OpenLoop())["runs"][0]["phases"][kMixed]["operations"][0];
  EXPECT_EQ(operation["latency_curve"], json::parse("[[0.05, 1.004], [1, 1e6]]"));
  // A document of an earlier version has percentiles alone.
  json earlier = OpenLoop();
  Mixed(earlier)["operations"][0].erase("latency_from_intended_ns_histogram");
  json page = OnPage(earlier);
  EXPECT_EQ(Mixed(page)["operations"][0]["latency_curve"],
            json::parse("[[0.5, 9.5e5], [0.9, 9.6e5], [0.99, 9.9e5], [1, 1e6]]"));
}

TEST(PageDataTest, APercentileIsToldByTenOperationsThatTookLonger) {
  json document = SmallDocument();
  Mixed(document)["operations"] = json::array({SmallOperation("mixed", 1000)});
  EXPECT_THAT(Answers(document), HasSubstr("half took up to 10 µs, 99 % up to 90 µs, the slowest"));
  Mixed(document)["operations"] = json::array({SmallOperation("mixed", 999)});
  EXPECT_THAT(Answers(document), HasSubstr("half took up to 10 µs, the slowest 100 µs."));
  Mixed(document)["operations"] = json::array({SmallOperation("mixed", 3)});
  EXPECT_THAT(Answers(document), HasSubstr("; the slowest took 100 µs."));
  // In an open loop, the operations that had not begun count, too.
  json open = OpenLoop();
  Mixed(open)["operations"][0]["latency_from_intended_us"]["count"] = 2000;
  EXPECT_THAT(Answers(open), HasSubstr("99 % up to 990 ms"));
  Mixed(open)["operations"][0].erase("latency_from_intended_ns_histogram");
  json page = OnPage(open);
  EXPECT_EQ(Mixed(page)["operations"][0]["latency_curve"].size(), 5u) << "p99.9 is one, too";
}

TEST(PageDataTest, TheRateBesideATargetIsThatOfItsClients) {
  json document = OpenLoop();
  Mixed(document)["clients_rate"] = 31;  // `rate` has a writer without a target, too
  EXPECT_THAT(Answers(document), HasSubstr("31 operations a second, of 3,000 asked for"));
  Mixed(document)["clients_rate"] = 1;
  EXPECT_THAT(Answers(document), HasSubstr("1 operation a second, of 3,000 asked for"));
}

// A settle counts against the phase before it: an LSM-tree leaves most of its compactions to it.
TEST(PageDataTest, WhatASettleWroteIsOfThePhaseBeforeIt) {
  EXPECT_THAT(Answers(SmallDocument()),
              HasSubstr("For each byte of keys and values the device wrote 2 bytes."));
  json document = SmallDocument();
  json settle = {{"name", "settle"}, {"kind", "settle"}, {"seconds", 0.1}};
  settle["account"] = json::parse(R"({
    "causes": [{"name": "compaction", "kernel": {"writes": 1, "write_bytes": 3000}}],
    "device": {"reads": 0, "read_bytes": 0, "writes": 1, "write_bytes": 3000}})");
  document["runs"][0]["phases"].push_back(settle);
  EXPECT_THAT(Answers(document),
              HasSubstr("For each byte of keys and values the device wrote 5 bytes in the phase "
                        "and the settle behind it, 60 % of them by compaction."));
  document["runs"][0]["phases"].back()["account"].erase("device");
  EXPECT_THAT(Answers(document), Not(HasSubstr("the device wrote"))) << "not known of the settle";
}

// Returns SmallDocument with a search of --find-rate: the closed loop and three rates, of which the
// second was found.
json Searched() {
  const auto step = [](double target, int count, double limited_us, bool meets) {
    json made = {{"rate", target},
                 {"seconds", 2.0},
                 {"count", count},
                 {"p50_us", limited_us / 4},
                 {"p99_us", limited_us / 2},
                 {"limited_us", limited_us},
                 {"meets", meets}};
    if (target > 0) made["target_rate"] = target;
    return made;
  };
  json found = {
      {"name", "mixed"},     {"limit", "p99.9 < 5ms"},
      {"limit_us", 5000.0},  {"limited_share", 0.999},
      {"found_rate", 400.0}, {"sentence", "mixed, 8 threads: p99.9 < 5ms holds up to 400 ops/s"}};
  found["steps"] = json::array({step(0, 20000, 100, false), step(400, 20000, 4000, true),
                                step(800, 20000, 8000, false), step(200, 20000, 2000, true)});
  found["steps"][3]["latency_count"] = 500;
  json document = SmallDocument();
  document["runs"][0]["find_rate"] = json::array({found});
  return document;
}

TEST(PageDataTest, TheAnswerOfASearchIsTheRateThatItFound) {
  const std::string sentence = "mixed, 8 threads: p99.9 < 5ms holds up to 400 ops/s";
  EXPECT_EQ(json::parse(Answers(Searched()))[0], sentence);
  EXPECT_THAT(OnPage(Searched())["remarks"].dump(), HasSubstr(sentence));
  EXPECT_THAT(Confidence(Searched()).dump(), Not(HasSubstr(sentence))) << "it is said once";
}

TEST(PageDataTest, LatencyIsDrawnOverTheRatesThatASearchTried) {
  const std::string series = EvaluateOnPage(
      OnPage(Searched()),
      "var plot = testbed.ratePlot(data.runs[0].find_rate[0], testbed.theme('light'), 760);"
      "JSON.stringify(plot.option.series.map(function (s) {"
      "  return [s.name, s.data.map(function (point) { return point.value || point; })];"
      "}));");
  // At 200 a second, five of the 500 operations with a latency took longer than the p99.
  const json expected = json::parse(R"([["median", [[200, 500], [400, 1000], [800, 2000]]],
                                        ["99 %", [[400, 2000], [800, 4000]]],
                                        ["99.9 %", [[400, 4000], [800, 8000]]],
                                        ["limit 5 ms", [[200, 5000], [800, 5000]]]])");
  EXPECT_EQ(json::parse(series), expected);
  json alone = Searched();
  json& steps = alone["runs"][0]["find_rate"][0]["steps"];
  steps.erase(size_t{2});
  steps.erase(size_t{2});
  EXPECT_EQ(EvaluateOnPage(OnPage(alone),
                           "String(testbed.ratePlot(data.runs[0].find_rate[0], "
                           "testbed.theme('light'), 760));"),
            "null");
}

// An earlier version showed only the second command, whose database the first one makes.
TEST(PageDataTest, TheCommandsOfACellLoadItsDatabaseFirst) {
  const auto commands = [](const json& document) {
    return EvaluateOnPage(OnPage(document), "testbed.commandLines(data).join('; ');");
  };
  json document = SmallDocument("it's");
  EXPECT_EQ(commands(document), R"(testbed --engine btree --label 'it'\''s')");
  document["load_command"] = json::array({"--engine", "btree", "--dir", "testbed-repeat"});
  EXPECT_EQ(commands(document),
            "testbed --engine btree --dir testbed-repeat; "
            R"(testbed --engine btree --label 'it'\''s')");
}

// Returns SmallDocument with a load for each of the rates.
json Loads(const std::vector<double>& rates) {
  json document = SmallDocument();
  const json run = document["runs"][0];
  document["runs"] = json::array();
  for (const double rate : rates) {
    document["runs"].push_back(run);
    document["runs"].back()["load"] = document["runs"].size() - 1;
    document["runs"].back()["phases"][kMixed]["rate"] = rate;
  }
  return document;
}

TEST(PageDataTest, OfSeveralLoadsTheAnswerIsTheirMean) {
  const json document = Loads({40, 70});
  EXPECT_THAT(Answers(document),
              HasSubstr("mixed with 8 clients: 55 operations a second, the mean of 2 loads, which "
                        "had 40 to 70. What follows is of the first of them."));
  EXPECT_THAT(Answers(SmallDocument()), Not(HasSubstr("mean")));
  EXPECT_EQ(EvaluateOnPage(OnPage(document), "testbed.whichRun(data.runs[1]);"), " load 2");
  json repeated = Loads({40});
  repeated["runs"].push_back(repeated["runs"][0]);
  repeated["runs"][1]["repeat"] = 1;
  EXPECT_THAT(Answers(repeated), HasSubstr("the mean of 2 runs"));
  EXPECT_EQ(EvaluateOnPage(OnPage(repeated), "testbed.whichRun(data.runs[1]);"), " #2");
}

TEST(PageDataTest, ClientsOfSeveralTasksAreSaidSo) {
  json document = SmallDocument();
  const json task = json::object();
  Mixed(document)["tasks"] = json::array({task, task, task});
  EXPECT_THAT(Answers(document),
              HasSubstr("mixed with 8 clients in each of 3 tasks: 40 operations a second"));
  EXPECT_THAT(Answers(SmallDocument()), HasSubstr("mixed with 8 clients: 40 operations a second"));
}

TEST(PageDataTest, TheFailureOfALaterRunAlarms) {
  json document = Loads({40, 70});
  document["runs"][1]["error"] = {{"sentence", "the disk is full"}, {"exit_code", 2}};
  document["runs"][1]["phases"] = json::array();
  EXPECT_THAT(Confidence(document).dump(),
              HasSubstr("Another run (8 clients load 2) failed: the disk is full"));
  EXPECT_THAT(Answers(document), Not(HasSubstr("the mean of")));
}

// Returns what a function of the page says of the documents set side by side.
std::string SideBySide(const std::vector<json>& documents, const std::string& call) {
  PageData data;
  for (const json& document : documents) data.AddDocument("run.json", document);
  return EvaluateOnPage(data.Json(),
                        "var groups = testbed.comparisonGroups(data.documents), mixed = groups[1];"
                        "JSON.stringify(" +
                            call + ");");
}

TEST(PageDataTest, SideBySideStandTheMeansOfAllLoads) {
  const std::vector<json> documents = {Loads({40, 70}), Loads({10, 20})};
  const std::string rates =
      "mixed.members.map(function (m) {"
      "  return m.mean + ': ' + testbed.meanOf(m, function (phase) { return phase.rate; }); })";
  EXPECT_EQ(SideBySide(documents, rates), R"(["mean of 2 loads: 55","mean of 2 loads: 15"])");
  EXPECT_EQ(SideBySide({SmallDocument(), SmallDocument()}, rates), R"([": 40",": 40"])");
  EXPECT_EQ(SideBySide(documents, "testbed.notCompared(data.documents, groups)"), "[]");
  EXPECT_THAT(SideBySide(documents, "testbed.groupCurves(mixed, testbed.theme('light'))"),
              HasSubstr("\"run (1), load 1\""))
      << "a plot shows one run";
}

TEST(PageDataTest, WhatIsNotSetSideBySideIsSaid) {
  std::vector<json> documents = {Loads({40, 70}), Loads({10, 20})};
  Mixed(documents[0])["partial"] = true;
  EXPECT_EQ(SideBySide(documents, "[mixed.members[0].mean, mixed.members[0].run]"), R"(["",1])");
  documents.resize(9, SmallDocument());
  EXPECT_THAT(
      SideBySide(documents, "testbed.notCompared(data.documents, groups)"),
      testing::AllOf(HasSubstr("The first 8 of 9 results are set side by side."),
                     HasSubstr("mixed, 8 clients of run (1): a phase that was interrupted")));
}

TEST(PageDataTest, WhyNothingIsToldIsSaidByTheNumberOfLoads) {
  const auto note = [](const std::string& compared) {
    return SideBySide({SmallDocument(), SmallDocument()},
                      "testbed.ratioNote(groups, " + compared + ")");
  };
  const std::string of = "{table: {columns: ['phase', 'loads'], rows: [['a', ";
  EXPECT_THAT(note(of + "'1, 1']]}}"), HasSubstr("A run of each cannot tell"));
  EXPECT_THAT(note("null"), HasSubstr("A run of each cannot tell"));
  EXPECT_THAT(note(of + "'5, 4']]}}"), HasSubstr("These 4 loads of each cannot tell"));
}

TEST(PageDataTest, CurvesThatAreNotDrawnAreCounted) {
  json labels = json::array(), cells = json::array();
  for (int i = 0; i < 30; ++i) {
    labels.push_back("setting " + std::to_string(i));
    for (int x = 0; x < 2; ++x) cells.push_back({{"labels", {x, i}}, {"figures", {{1 + x, 0}}}});
  }
  const json experiment = {
      {"axes",
       {{{"name", "threads"}, {"labels", {"1", "2"}}}, {{"name", "s"}, {"labels", labels}}}},
      {"metrics", {{{"name", "rate"}, {"unit", "1/s"}}}},
      {"cells", cells}};
  EXPECT_EQ(EvaluateOnPage(experiment,
                           "testbed.curvePlot(data, testbed.curveChoice(data), "
                           "testbed.theme('light'), 800).option.xAxis.name;"),
            "threads; the first 24 of 30 curves");
}

// In an earlier version mysql and postgres looked the same, although an experiment compares them.
TEST(PageDataTest, EachEngineHasALookOfItsOwn) {
  const json engines =
      json::array({"btree", "rocksdb", "wiredtiger", "lmdb", "innodb", "fractal", "mmapv1", "mdbx",
                   "mysql", "sqlite", "postgres", "pebble", "bf-tree"});
  for (const std::string sign :
       {"look.symbol", "look.dash + look.color", "testbed.engineLook(name, dark).color"}) {
    const std::string looks =
        EvaluateOnPage(engines,
                       "var light = testbed.theme('light'), dark = testbed.theme('dark');"
                       "JSON.stringify(data.map(function (name) {"
                       "  var look = testbed.engineLook(name, light); return " +
                           sign + "; }));");
    std::set<std::string> different;
    for (const json& look : json::parse(looks)) different.insert(look.get<std::string>());
    EXPECT_EQ(different.size(), engines.size()) << looks;
  }
}

// Once, the page said of each stand-in that it is not counted, even where all are stand-ins.
TEST(PageDataTest, StandInsAloneAreCounted) {
  const auto text = [](const std::string& on_stand_in, const std::string& stand_in) {
    json finding, part;
    finding["on_stand_in"] = on_stand_in;
    part["stand_in"] = stand_in;
    finding["parts"].push_back(part);
    return EvaluateOnPage(finding, "testbed.standInText(data, data.parts[0]);");
  };
  EXPECT_EQ(text("", "btree"), " (measured on btree, which stands in and is not counted)");
  EXPECT_EQ(text("btree", "btree"), " (measured on btree, which stands in)");
  EXPECT_EQ(text("", ""), "");
}

// Returns how many different looks the curves of a plot have, one for each label of the axis.
size_t DifferentLooks(const std::string& axis, const json& labels) {
  json cells = json::array();
  for (size_t i = 0; i < labels.size(); ++i) {
    for (int x = 0; x < 2; ++x) cells.push_back({{"labels", {x, i}}, {"figures", {{1 + x, 0}}}});
  }
  json threads, curves;
  threads["name"] = "threads";
  threads["labels"] = {"1", "2"};
  curves["name"] = axis;
  curves["labels"] = labels;
  json experiment;
  experiment["axes"] = {threads, curves};
  experiment["metrics"].push_back({{"name", "rate"}, {"unit", "1/s"}});
  experiment["cells"] = cells;
  const std::string looks = EvaluateOnPage(
      experiment,
      "JSON.stringify(testbed.curvePlot(data, {metric: 0, x: 0, fixed: {1: -1}},"
      " testbed.theme('light'), 800).option.series.map(function (one) {"
      "  return [one.lineStyle.color, one.lineStyle.type, one.symbol].join(' '); }));");
  std::set<std::string> different;
  for (const json& look : json::parse(looks)) different.insert(look.get<std::string>());
  return different.size();
}

// Once, two releases of an engine, or two engines of an extension, had the same colour, dash and
// symbol. So had the first curve and the eighth.
TEST(PageDataTest, EachCurveOfAPlotHasALookOfItsOwn) {
  json engines = {"rocksdb@9.9.3", "rocksdb", "rocksdb@10.4.2", "btree"}, settings;
  for (int i = 0; i < 20; ++i) engines.push_back("extension" + std::to_string(i));
  for (int i = 0; i < 24; ++i) settings.push_back("setting " + std::to_string(i));
  EXPECT_EQ(DifferentLooks("engine", engines), 24u);
  EXPECT_EQ(DifferentLooks("setting", settings), 24u);
  const std::string looks =
      "JSON.stringify(testbed.engineLooks(['rocksdb@9.9.3', 'rocksdb'], "
      "testbed.theme('light'))[1]) "
      "=== JSON.stringify(testbed.engineLook('rocksdb@10.4.2', testbed.theme('light')));";
  EXPECT_EQ(EvaluateOnPage(json(), looks), "true") << "the engine keeps its own";
}

// Returns the names of the plots of a document that was read from this file.
std::vector<std::string> PlotNames(const std::string& file, const json& document) {
  PageData data;
  data.AddDocument(file, document);
  const std::string names =
      EvaluateOnPage(data.Json(),
                     "JSON.stringify(testbed.allPlots(data, 'light', 760).map(function (plot) {"
                     " return plot.name; }));");
  return json::parse(names).get<std::vector<std::string>>();
}

// Once, the plots of a file with a long name were called "sss", "sss_2", "sss_3" and so on.
TEST(PageDataTest, ThePlotsOfALongNameSayWhatTheyShow) {
  json document = SmallDocument();
  Mixed(document)["name"] = std::string(300, 'm');
  const std::vector<std::string> names = PlotNames("/" + std::string(300, 's') + ".json", document);
  EXPECT_THAT(names, testing::Contains(testing::EndsWith("_insert_time")));
  EXPECT_THAT(names, testing::Contains(testing::ContainsRegex("^s+_m+_time$")));
  EXPECT_THAT(names, testing::Contains(testing::ContainsRegex("^s+_m+_writes$")));
  for (const std::string& name : names) EXPECT_LE(name.size(), 120u) << name;
}

// The seconds of the small document have no median. Once, such a document had no plot at all, and
// its page said that no run writes it.
TEST(PageDataTest, AFigureThatTheSecondsLackIsLeftOut) {
  EXPECT_THAT(PlotNames("run.json", SmallDocument()), testing::Contains("run_mixed_time"));
  const std::string lines = EvaluateOnPage(
      json(),
      "JSON.stringify(testbed.timePlot({series: {end_seconds: [1, 2], operations: [5, 6],"
      " max_us: [7, 8], device_read_bytes: [1, 1]}}, testbed.theme('light'), 760)"
      ".option.series.map(function (one) { return one.name; }));");
  EXPECT_EQ(lines, R"(["rate","slowest"])");
  EXPECT_EQ(EvaluateOnPage(json(),
                           "testbed.memoryPlot({series: {end_seconds: [1, 2], page_cache_bytes: "
                           "[3, 4]}}, testbed.theme('light'), 760).option.series.length;"),
            "1");
}

// Once, joined seconds had the largest value of each part, together more than the budget.
TEST(PageDataTest, JoinedSecondsHaveTheMemoryOfOneMoment) {
  json document = SmallDocument(), series = json::array();
  for (int i = 1; i <= 2400; ++i) {
    const int process = i % 2 == 0 ? 30 : 90;  // the budget is 100
    series.push_back({{"end_seconds", i}, {"operations", 1}, {"max_us", i}});
    series.back().update({{"process_memory_bytes", process}, {"page_cache_bytes", 100 - process}});
  }
  Mixed(document)["series"] = series;
  json page = OnPage(document);
  json& joined = Mixed(page)["series"];
  EXPECT_EQ(joined["max_us"][0], 2);
  EXPECT_EQ(joined["process_memory_bytes"][0], 30);
  EXPECT_EQ(joined["page_cache_bytes"][0], 70);
}

// Once, only the first 40 stalls were shaded, and the first one had the label.
TEST(PageDataTest, TheLongestOfManyStallsIsMarked) {
  json phase;
  json& series = phase["series"];
  for (int i = 1; i <= 200; ++i) {
    series["end_seconds"].push_back(i);
    series["operations"].push_back(100);
    if (i % 2 == 0 && i < 190) {
      series["stalls"].push_back({{"from", i - 1}, {"to", i}, {"rate", 0}, {"worst", 1}});
    }
  }
  series["stalls"].push_back({{"from", 192}, {"to", 199}, {"rate", 0}, {"worst", 7e6}});
  const std::string marks = EvaluateOnPage(
      phase,
      "JSON.stringify(testbed.timePlot(data, testbed.theme('light'), 760).option.series[0]"
      ".markArea.data.map(function (mark) { return [mark[0].xAxis, mark[0].name]; }));");
  const json shaded = json::parse(marks);
  EXPECT_EQ(shaded.size(), 95u);
  EXPECT_EQ(shaded.front(), json::array({1, ""}));
  EXPECT_EQ(shaded.back(), json::array({192, "stall 192–199 s"}));
}

// Once, the page of a sweep began with "This experiment has no findings to judge."
TEST(PageDataTest, ASweepIsAnsweredByItsBestFigure) {
  json best, other, row, table, experiment;
  best["mark"] = "best";
  best["mean"] = 30327;
  best["n"] = 3;
  best["half_width"] = 1200;
  other = best;
  other["mark"] = "~";
  row["name"] = "rocksdb";
  row["figures"] = {best, other};
  table["title"] = "Operations a second: ops (/s)";
  table["columns"] = {"engine", "page-size=4k", "page-size=8k"};
  table["rows"].push_back(row);
  experiment["tables"].push_back(table);
  experiment["cells"] = json::array();
  experiment["metrics"] = json::array();
  const auto answers = [&experiment] {
    return EvaluateOnPage(experiment, "JSON.stringify(testbed.experimentAnswers(data));");
  };
  const std::string begin = "[\"Operations a second: ops (/s): rocksdb, page-size=4k is the best: ";
  EXPECT_EQ(answers(), begin + "30,327 ± 1,200; 1 other figure cannot be told from it.\"]");
  json& figures = experiment["tables"][0]["rows"][0]["figures"];
  figures[1]["mark"] = "";
  EXPECT_EQ(answers(), begin + "30,327 ± 1,200; all others are worse for sure.\"]");
  figures[0]["n"] = 1;
  EXPECT_EQ(answers(), begin + "30,327; one round cannot tell it from the others.\"]");
  figures[0]["mark"] = "";
  EXPECT_EQ(answers(), "[]");
  // A single cell has no best figure.
  json metric, cell;
  metric["name"] = "p99_us";
  metric["unit"] = "us";
  cell["name"] = "engine=btree";
  cell["figures"].push_back(json::array({12.5, nullptr}));
  experiment["metrics"].push_back(metric);
  experiment["cells"] = {nullptr, cell};
  EXPECT_EQ(answers(), R"(["engine=btree: p99 us 12.5 us."])");
}

// Once, an engine with the name of another node made a circle, which cannot be drawn.
TEST(PageDataTest, AnEngineMayHaveTheNameOfAnotherNode) {
  const json phase = json::parse(R"({"user_bytes_written": 100, "account": {"causes": [
      {"name": "insert", "ground": "foreground", "file": {"write_bytes": 9},
       "file_by_kind": {"data": {"write_bytes": 9}}}]}})");
  const auto nodes = [&phase](const std::string& engine) {
    return EvaluateOnPage(phase, "JSON.stringify(testbed.ledgerGraph(data, '" + engine +
                                     "', 'write').nodes.map(function (node) { return node.label; }"
                                     "));");
  };
  EXPECT_EQ(nodes("user"),
            R"(["user","keys and values","insert","data files","stayed in the page cache"])");
  EXPECT_EQ(nodes("device"),
            R"(["device","keys and values","insert","data files","stayed in the page cache"])");
}

// Once, the page told of "1 rows", "1 reads" and "1 findings".
TEST(PageDataTest, OneOfAThingHasNoPlural) {
  const auto page = [](const std::string& expression) {
    return EvaluateOnPage(json(), expression);
  };
  EXPECT_EQ(page("testbed.counted('1', 'row');"), "1 row");
  EXPECT_EQ(page("testbed.counted(testbed.count(1200), 'row');"), "1,200 rows");
  EXPECT_EQ(page("testbed.counted('1', 'flush', 'flushes');"), "1 flush");
  EXPECT_EQ(page("testbed.counted('0', 'flush', 'flushes');"), "0 flushes");
  EXPECT_EQ(page("testbed.closureParts({reads: -1, read_bytes: 1, writes: 2, write_bytes: 0})"
                 ".join(', ');"),
            "−1 read (1 byte), 2 writes (0 bytes)");
}

// An earlier version said that a cache which missed one block of 2500 had answered "100 %".
TEST(PageDataTest, WhatIsNotAllIsNotAHundredPerCent) {
  const auto percent = [](const char* share) {
    return EvaluateOnPage(json(), std::string("testbed.percent(") + share + ");");
  };
  EXPECT_EQ(percent("1"), "100 %");
  EXPECT_EQ(percent("0.999"), "99.9 %");
  EXPECT_EQ(percent("0.9996"), "99.96 %");
  EXPECT_EQ(percent("0.99996"), "99.996 %");
  EXPECT_EQ(percent("0.123"), "12.3 %");
  EXPECT_EQ(percent("1.5"), "150 %");
  EXPECT_EQ(percent("0"), "0 %");
}

TEST(PageDataTest, FiguresPerOperationAreOfTheRunAlone) {
  json document = SmallDocument();
  Mixed(document)["rows_read"] = 60;
  EXPECT_THAT(Answers(document), HasSubstr("he device read 0.5 times")) << "rsync read 7 of 57";
  json& account = Mixed(document)["account"];
  account["own"] = {{"reads", 40}, {"read_bytes", 0}, {"writes", 0}, {"write_bytes", 500}};
  EXPECT_THAT(Answers(document), HasSubstr("he device read 0.4 times"));
  EXPECT_THAT(Answers(document), HasSubstr("the device wrote 0.5 bytes"));
  const std::string levels =
      Says(document,
           "testbed.levels(phase, 'read').map(function (l) { return l.name + ' ' + l.calls; })");
  EXPECT_THAT(levels, HasSubstr("device, of this run 40"));
  EXPECT_THAT(levels, HasSubstr("device, in all 57"));
  // The file of a request tells whether the request is the run's. The name of the thread does not.
  account["other_threads"] = json::parse(R"([
      {"thread": "old", "kind": "data", "kernel": {"write_bytes": 300}},
      {"thread": "kworker/1:1", "kind": "other-file", "kernel": {"write_bytes": 20}}])");
  EXPECT_THAT(
      Says(document, "testbed.flows(phase.account, 'write')"),
      testing::AllOf(HasSubstr("\"writeback\":{\"data\":300}"), HasSubstr("\"foreign\":20")));
}

TEST(PageDataTest, ADataSetThatWasNotLoadedIsNotShown) {
  json document = SmallDocument();
  document["data"] = {{"rows", 100}, {"key_bytes", 1600}, {"value_bytes", 40000}};
  EXPECT_TRUE(OnPage(document).contains("data"));
  document["options"]["workload"] = {"linkbench-load", "linkbench"};
  EXPECT_FALSE(OnPage(document).contains("data"));
}

TEST(PageDataTest, AStallOfASecondStaysOneWhenSecondsAreJoined) {
  json document = SmallDocument(), series = json::array();
  constexpr int kSeconds = 3 * PageData::kMostSeconds;
  for (int i = 0; i < kSeconds; ++i) {
    series.push_back({{"end_seconds", i + 1}, {"operations", i == 1500 ? 1 : 100}, {"max_us", 90}});
  }
  Mixed(document)["series"] = series;
  json page = OnPage(document);
  const json& columns = Mixed(page)["series"];
  EXPECT_EQ(columns["joined"], 3);
  EXPECT_EQ(columns["operations"].size(), PageData::kMostSeconds);
  EXPECT_EQ(columns["stalls"],
            json::parse("[{\"from\": 1500, \"to\": 1501, \"rate\": 1, \"worst\": 90}]"));
  EXPECT_THAT(Confidence(document).dump(), HasSubstr("One stall, from second 1,500 to 1,501"));
}

}  // namespace
}  // namespace testbed
