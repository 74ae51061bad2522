// Tests that the plots and sentences of a page have the figures of the document, and none that it
// does not have.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

#include "tests/unit/tools/results/small_document.h"
#include "tools/html/page_data.h"
#include "tools/html/plot_files.h"
#include "workloads/measure/histogram.h"

namespace testbed {
namespace {

using nlohmann::json;

// Returns the phase of SmallDocument that measures.
json& Measured(json& document) { return document["runs"][0]["phases"][2]; }

// Returns that phase as the page has it.
json MeasuredOnPage(const json& document) {
  PageData data;
  data.AddDocument("run.json", document);
  json page = data.Json()["documents"][0]["document"];
  return Measured(page);
}

// Once, the curve had the least latency of each bucket, up to 0.8 % less than the tables have.
TEST(PageFiguresTest, TheCurveOfLatenciesHasThePercentilesOfTheTables) {
  HistogramCounts latency;
  latency.AddBucket(10000, 60);
  latency.AddBucket(90000, 40);
  json document = SmallDocument();
  Measured(document)["operations"][0]["latency_ns_histogram"] = latency.Buckets();
  const double us = static_cast<double>(latency.Percentile(0.6)) / 1000;
  EXPECT_EQ(MeasuredOnPage(document)["operations"][0]["latency_curve"][0], json::array({0.6, us}));
}

// Once, the page had only the kinds of figures that the first second has. So it showed no memory of
// a run of several tasks in which task 0 had begun after the others.
TEST(PageFiguresTest, AFigureThatTheFirstSecondLacksIsShown) {
  json document = SmallDocument();
  json& series = Measured(document)["series"];
  for (size_t i = 1; i < series.size(); ++i) {
    series[i].update({{"page_cache_bytes", 4096}, {"device_read_bytes", 1000}});
    series[i].update({{"device_write_bytes", 0}, {"p50_us", 10}});
  }
  const json phase = MeasuredOnPage(document);
  EXPECT_EQ(phase["series"]["page_cache_bytes"], json::parse("[null, 4096, 4096]"));
  const std::string reads = EvaluateOnPage(
      phase,
      "JSON.stringify(testbed.timePlot(data, testbed.theme('light'), 760).option.series"
      ".filter(function (one) { return one.name === 'device reads'; })[0].data);");
  EXPECT_EQ(json::parse(reads),
            json::parse("[[0, null], [1, null], [1, 1000], [2, 1000], [2, 2000], [2.5, 2000]]"));
}

TEST(PageFiguresTest, APercentileOfASecondThatTooFewOperationsTellIsNotShown) {
  json document = SmallDocument();
  json& series = Measured(document)["series"];
  ASSERT_EQ(series.size(), 3u);
  for (json& second : series) {
    second.update({{"operations", 999}, {"p50_us", 10}, {"p99_us", 20}});
  }
  series[1]["operations"] = 1000;
  const json phase = MeasuredOnPage(document);
  EXPECT_EQ(phase["series"]["p50_us"], json::parse("[10, 10, 10]"));
  EXPECT_EQ(phase["series"]["p99_us"], json::parse("[null, 20, null]"));
}

// Once, the rest of a phase of a second, too short for a rate of operations, had one of the device:
// a write-back of 2000 bytes in it was drawn as 20,000 a second.
TEST(PageFiguresTest, ARestTooShortForARateHasNoneOfTheDevice) {
  json document = SmallDocument();
  json& series = Measured(document)["series"];
  series.erase(size_t{2});
  series[1]["end_seconds"] = 1.1;
  for (json& second : series) {
    second["device_read_bytes"] = 0;
    second["device_write_bytes"] = 2000;
  }
  const std::string writes = EvaluateOnPage(
      MeasuredOnPage(document),
      "JSON.stringify(testbed.timePlot(data, testbed.theme('light'), 760).option.series"
      ".filter(function (one) { return one.name === 'device writes'; })[0].data);");
  EXPECT_EQ(json::parse(writes), json::parse("[[0, 2000], [1, 2000], [1, null], [1.1, null]]"));
}

// Joined seconds of a stall, of which no latency is known, had latencies of 0.
TEST(PageFiguresTest, JoinedSecondsHaveALatencyWhereOneOfThemHas) {
  json document = SmallDocument(), series = json::array();
  for (size_t i = 0; i < 2 * PageData::kMostSeconds; ++i) {
    series.push_back({{"end_seconds", i + 1}, {"operations", 0}, {"max_us", nullptr}});
  }
  series[3].update({{"operations", 1}, {"max_us", 7}});
  Measured(document)["series"] = series;
  const json columns = MeasuredOnPage(document)["series"];
  EXPECT_TRUE(columns["max_us"][0].is_null());
  EXPECT_EQ(columns["max_us"][1], 7);
}

// Once, the page told of "the slowest operation 0 µs".
TEST(PageFiguresTest, AStallInWhichNothingEndedHasNoSlowestOperation) {
  const auto stall = [](int operations, double max_us) {
    json document = SmallDocument();
    Measured(document)["series"][1].update({{"operations", operations}, {"max_us", max_us}});
    return EvaluateOnPage(MeasuredOnPage(document),
                          "testbed.confidence({}, {}, data).filter(function (one) {"
                          "  return /stall/.test(one.text); })[0].text;");
  };
  EXPECT_EQ(stall(0, 0), "One stall, from second 1 to 2: 0 operations a second.");
  EXPECT_EQ(stall(1, 2e6),
            "One stall, from second 1 to 2: 1 operation a second, the slowest operation 2 s.");
}

// The report's bytes of data for each byte of the user leave the log out. Once, the page had it in
// them.
TEST(PageFiguresTest, TheLogIsNoPartOfTheSpaceThatDataTakes) {
  const json run = json::parse(R"({"phases": [{"name": "insert", "kind": "load",
      "database_bytes": 900, "log_file_bytes": 750}]})");
  const auto times = [&run](const std::string& data) {
    return EvaluateOnPage(run, "String(testbed.spaceRows({data: " + data + "}, data)[0].times);");
  };
  EXPECT_EQ(times("{key_bytes: 40, value_bytes: 60}"), "1.5");
  EXPECT_EQ(times("undefined"), "null") << "another loader made the rows";
}

// Once, a load of two runs counted twice, and its runs counted as loads.
TEST(PageFiguresTest, TheMeanOfLoadsTakesEachLoadOnce) {
  json document = SmallDocument();
  const json run = document["runs"][0];
  document["runs"] = json::array();
  for (const auto& [load, rate] : {std::pair(0, 40.0), std::pair(1, 60.0), std::pair(1, 80.0)}) {
    document["runs"].push_back(run);
    document["runs"].back()["load"] = load;
    document["runs"].back()["phases"][2]["rate"] = rate;
  }
  PageData data;
  data.AddDocument("run.json", document);
  const std::string first =
      EvaluateOnPage(data.Json()["documents"][0]["document"],
                     "testbed.answers(data, data.runs[0], data.runs[0].phases[2])[0];");
  EXPECT_EQ(first,
            "mixed with 8 clients: 55 operations a second, the mean of 2 loads, which had 40 to "
            "70. What follows is of the first of them.");
}

// A figure below 0, such as the growth of a database that shrank, lay outside of the panel.
TEST(PageFiguresTest, CurvesBelowZeroAreInThePanel) {
  const auto least = [](double last) {
    json axis, experiment;
    axis["name"] = "threads";
    axis["labels"] = {"1", "2"};
    experiment["axes"].push_back(axis);
    experiment["metrics"].push_back({{"name", "growth"}, {"unit", "B"}});
    for (size_t x = 0; x < 2; ++x) {
      json cell;
      cell["labels"].push_back(x);
      cell["figures"].push_back(json::array({x == 0 ? 1.0 : last, 0.0}));
      experiment["cells"].push_back(cell);
    }
    return EvaluateOnPage(experiment,
                          "String(testbed.curvePlot(data, testbed.curveChoice(data),"
                          " testbed.theme('light'), 800).option.yAxis.min);");
  };
  EXPECT_EQ(least(2), "0");
  EXPECT_EQ(least(-2), "undefined") << "the plot's own, below the least";
}

// A plot in a file is looked at without the page's controls.
TEST(PageFiguresTest, ACurveSaysWhereTheOtherAxesAreHeld) {
  json cells = json::array();
  for (int engine : {0, 1}) {
    for (int size : {0, 1}) {
      for (int clients : {0, 1}) {
        cells.push_back({{"labels", {engine, size, clients}}, {"figures", {{1, 0}}}});
      }
    }
  }
  const json experiment = {{"axes",
                            {{{"name", "engine"}, {"labels", {"btree", "null"}}},
                             {{"name", "size"}, {"labels", {"cached", "io-bound"}}},
                             {{"name", "clients"}, {"labels", {"1", "4"}}}}},
                           {"metrics", {{{"name", "rate"}, {"unit", "/s"}}}},
                           {"cells", cells}};
  EXPECT_EQ(EvaluateOnPage(experiment,
                           "testbed.curvePlot(data, testbed.curveChoice(data),"
                           " testbed.theme('light'), 800).option.xAxis.name;"),
            "clients, at size cached");
}

// Most cells of the experiment on reads are of direct reads, which have one readahead. So its plots
// over the readahead had one point for each engine.
TEST(PageFiguresTest, AxesAreHeldWhereCurvesHaveMoreThanOnePoint) {
  const auto name = [](bool direct_has_two) {
    json cells = json::array();
    const auto add = [&cells](int engine, int io, int readahead) {
      cells.push_back({{"labels", {engine, io, readahead}}, {"figures", {{1, 0}}}});
    };
    for (int engine : {0, 1, 2, 3, 4}) add(engine, 0, 0);
    for (int readahead : {0, 1}) add(0, 1, readahead);
    for (int readahead : {0, 1, 2}) add(1, 2, readahead);
    if (direct_has_two) add(4, 0, 1);
    const json experiment = {{"axes",
                              {{{"name", "engine"}, {"labels", {"a", "b", "c", "d", "e"}}},
                               {{"name", "io"}, {"labels", {"direct", "buffered", "mmap"}}},
                               {{"name", "readahead"}, {"labels", {"0k", "4k", "8k"}}}}},
                             {"metrics", {{{"name", "rate"}, {"unit", "/s"}}}},
                             {"cells", cells}};
    return EvaluateOnPage(experiment,
                          "testbed.curvePlot(data, testbed.curveChoice(data),"
                          " testbed.theme('light'), 800).option.xAxis.name;");
  };
  EXPECT_EQ(name(false), "readahead, at io mmap") << "two steps, where buffered reads have one";
  EXPECT_EQ(name(true), "readahead, at io direct") << "it has a curve, and most cells";
}

// Returns an experiment as the page has it: three engines, two durabilities, and databases with so
// many of the labels 1, 2 and 10. Its metrics rows_1, rows_3 and rows_10 are a series.
json Rounds(size_t databases) {
  json experiment = json::parse(R"({"name": "inserts", "main_metric": "rows_1",
      "axes": [{"name": "engine", "labels": ["btree", "rocksdb", "null"]},
               {"name": "durability", "labels": ["sync", "lazy"]},
               {"name": "databases", "labels": ["1", "2", "10"]}],
      "metrics": [{"name": "held", "unit": "MiB"}, {"name": "rows_1", "unit": "rows/s"},
                  {"name": "rows_10", "unit": "rows/s"}, {"name": "rows_3", "unit": "rows/s"}],
      "series": [{"stem": "rows", "over": "round", "numbers": [1, 3, 10], "metrics": [1, 3, 2]}],
      "cells": [null]})");
  for (size_t engine = 0; engine < 3; ++engine) {
    for (size_t durability = 0; durability < 2; ++durability) {
      for (size_t label = 0; label < databases; ++label) {
        json cell = json::parse(R"({"figures": [[50, 1], [1000, 10], [200, 5], [600, null]]})");
        for (const size_t place : {engine, durability, label}) cell["labels"].push_back(place);
        experiment["cells"].push_back(cell);
      }
    }
  }
  return experiment;
}

constexpr char kFirstPlot[] =
    "var choice = testbed.firstChoice(data), theme = testbed.theme('light');"
    "var option = testbed.curvePlot(data, choice, theme, 800).option;";

// Once, the rounds of an experiment were plots of two points each over another axis, and not its
// course.
TEST(PageFiguresTest, TheSeriesOfTheMainMetricIsTheFirstPlot) {
  const auto first = [](const std::string& main_metric) {
    json experiment = Rounds(1);
    experiment["main_metric"] = main_metric;
    return EvaluateOnPage(experiment, std::string(kFirstPlot) +
                                          "[option.yAxis.name, option.xAxis.name,"
                                          " option.xAxis.type].join('; ');");
  };
  EXPECT_EQ(first("rows_1"), "rows (rows/s); round; value");
  EXPECT_EQ(first("rows_10"), "rows (rows/s); round; value");
  EXPECT_EQ(first("rows"), "rows (rows/s); round; value") << "its stem";
  EXPECT_EQ(first("held").substr(0, 11), "held (MiB);") << "no series has it";
  const std::string points =
      EvaluateOnPage(Rounds(1), std::string(kFirstPlot) +
                                    "JSON.stringify(testbed.curves(data, choice)[0].points.map("
                                    "function (p) { return [p.x, p.mean, p.half, p.cell]; }));");
  EXPECT_EQ(json::parse(points), json::parse("[[1, 1000, 10, 1], [3, 600, null, 1], "
                                             "[10, 200, 5, 1]]"));
}

// The legend draws the first series of a name. Once, that was the band, so that each curve of an
// engine had the same dot.
TEST(PageFiguresTest, TheLegendShowsTheMarkAndTheDashesOfEachCurve) {
  EXPECT_EQ(EvaluateOnPage(Rounds(2), std::string(kFirstPlot) +
                                          "var first = {}, marks = [];"
                                          "option.series.forEach(function (one) {"
                                          " if (first[one.name]) return;"
                                          " first[one.name] = true;"
                                          " if (one.symbol === 'none') marks.push(one.name); });"
                                          "marks.join(',') + option.legend.data.length;"),
            "12");
}

// An experiment of one cell has no axis, but rounds.
TEST(PageFiguresTest, ASeriesOfOneCellIsDrawn) {
  json experiment = Rounds(1);
  experiment["main_metric"] = "held";
  while (experiment["cells"].size() > 2) experiment["cells"].erase(experiment["cells"].size() - 1);
  EXPECT_EQ(EvaluateOnPage(experiment, std::string(kFirstPlot) +
                                           "String([option.xAxis.name, option.series.length,"
                                           " testbed.curveChoice(data) === null]);"),
            "round,3,true")
      << "a line and its band";
}

TEST(PageFiguresTest, EachCombinationIsACurveOfASeriesUnlessThereAreTooMany) {
  const auto curves = [](size_t databases) {
    return EvaluateOnPage(Rounds(databases),
                          std::string(kFirstPlot) +
                              "option.xAxis.name + ': ' + option.legend.data.length + ' of ' +"
                              " option.legend.data[0];");
  };
  EXPECT_EQ(curves(1), "round: 6 of btree, durability sync");
  EXPECT_EQ(curves(2), "round: 12 of btree, durability sync, databases 1");
  EXPECT_EQ(curves(3), "round, at durability sync, databases 1: 3 of btree");
}

TEST(PageFiguresTest, CombinationsOfAnEngineHaveItsColourAndLinesOfTheirOwn) {
  const std::string looks = EvaluateOnPage(
      Rounds(1), std::string(kFirstPlot) +
                     "JSON.stringify(option.series.filter(function (one) {"
                     "  return one.symbol !== 'none';"
                     "}).map(function (one) {"
                     "  return [one.lineStyle.color, one.lineStyle.type, one.symbol].join(' ');"
                     "}).slice(0, 4));");
  EXPECT_EQ(json::parse(looks), json::parse(R"(["#0072b2 solid circle", "#0072b2 dashed circle",
                                                "#d55e00 solid rect", "#d55e00 dashed rect"])"));
  // A plot has 24 curves at most. The marks of these engines have the same shape.
  const std::string many = EvaluateOnPage(
      json(),
      "var curves = [];"
      "for (var i = 0; i < 24; ++i) {"
      "  curves.push({engine: i % 2 ? 'rocksdb' : 'mmapv1', rest: 'way ' + Math.floor(i / 2)});"
      "}"
      "JSON.stringify(testbed.combinationLooks(curves, testbed.theme('light')).map("
      "    function (look) { return [look.color, look.dash + ' ' + look.symbol]; }));");
  std::set<std::string> colours, signs;
  for (const json& look : json::parse(many)) {
    colours.insert(look[0].get<std::string>());
    signs.insert(look[1].get<std::string>());
  }
  EXPECT_EQ(colours.size(), 2u) << many;
  EXPECT_EQ(signs.size(), 24u) << many;
}

// Once, each number of a series was a file over any axis, also over an axis of two labels.
TEST(PageFiguresTest, ASeriesIsOneFileInPlaceOfOneForEachNumber) {
  const auto files = [](size_t databases) {
    PageData data;
    data.AddExperiment(Rounds(databases));
    return EvaluateOnPage(data.Json(),
                          "testbed.allPlots(data, 'light', 760).map(function (plot) {"
                          "  return plot.name;"
                          "}).join(' ');");
  };
  EXPECT_EQ(files(1), "inserts_rows_over_round inserts_held_over_engine");
  EXPECT_EQ(files(2), "inserts_rows_over_round inserts_held_over_databases");
  EXPECT_EQ(files(3),
            "inserts_rows_over_round inserts_held_over_databases inserts_rows-1_over_databases "
            "inserts_rows-10_over_databases inserts_rows-3_over_databases")
      << "over an axis of three numbers each of them has a course of its own";
}

// Once, the page showed nothing of an interrupted search by --find-rate on a reused database,
// though the text report has the rates that the search had tried.
TEST(PageFiguresTest, ASearchWithoutAPhaseBehindItIsTold) {
  json run;
  run["find_rate"].push_back({{"name", "mixed"}, {"sentence", "mixed, 8 threads: interrupted"}});
  run["error"]["sentence"] = "the disk is full";
  json document;
  document["runs"].push_back(run);
  EXPECT_EQ(EvaluateOnPage(document,
                           "testbed.unfinishedAnswers(data).map(function (one) {"
                           "  return (one.alarm ? '! ' : '') + one.text; }).join('\\n');"),
            "mixed, 8 threads: interrupted\n"
            "This document holds no phase that was finished.\n"
            "! The run failed: the disk is full");
}

// Two phases of a workload have a search each, and both searches have the name of the workload.
TEST(PageFiguresTest, APhaseSaysWhatItsOwnSearchHasFound) {
  json document = SmallDocument();
  json& run = document["runs"][0];
  const json phase = run["phases"][2];
  run["phases"].push_back(phase);
  run["find_rate"].push_back({{"name", phase["name"]}, {"sentence", "up to 100"}});
  run["find_rate"].push_back({{"name", phase["name"]}, {"sentence", "up to 200"}});
  PageData data;
  data.AddDocument("run.json", document);
  const auto says = [&data](const std::string& which) {
    return EvaluateOnPage(data.Json()["documents"][0]["document"],
                          "var run = data.runs[0];"
                          "testbed.answers(data, run, run.phases[" +
                              which + "]).slice(0, 2).map(function (s) { return s.slice(0, 9); })" +
                              ".join('; ');");
  };
  EXPECT_EQ(says("2").substr(0, 10), "up to 100;");
  EXPECT_EQ(says("run.phases.length - 1").substr(0, 10), "up to 200;");
  EXPECT_EQ(says("2").find("up to 200"), std::string::npos);
}

// Once, a figure of 22 digits was formatted without end, and its page said that no run writes it.
TEST(PageFiguresTest, AFigureOfManyDigitsIsShown) {
  const auto page = [](const std::string& expression) {
    return EvaluateOnPage(json(), expression);
  };
  EXPECT_EQ(page("testbed.short(3e21);"), "3.00e+21");
  EXPECT_EQ(page("testbed.count(3e21);"), "3.00e+21");
  EXPECT_EQ(page("testbed.short(123456789012345680);"), "123,456,789,012,345,680");
}

// Once, the name stood between quotes, and a quote in the name ended them.
TEST(PageFiguresTest, TheCommandForAFileIsOneThatAShellReads) {
  EXPECT_EQ(EvaluateOnPage(json(), "testbed.pageCommand('bob\\'s results/cells/a.json');"),
            R"(testbed report 'bob'\''s results/cells/a.json' --html run.html)");
  EXPECT_EQ(EvaluateOnPage(json(), "testbed.pageCommand('results/cells/io=direct.json');"),
            "testbed report results/cells/io=direct.json --html run.html");
}

// On a phone the names of two files, and on any screen those of eight, lay on the curves.
TEST(PageFiguresTest, ALegendOfSeveralLinesStandsAboveThePlot) {
  const auto places = [](int curves, const std::string& name) {
    const json data = {{"curves", curves}, {"name", name}};
    return EvaluateOnPage(data,
                          "var theme = testbed.theme('light'), all = [];"
                          "for (var i = 0; i < data.curves; ++i) all.push({name: data.name + i,"
                          "  curve: [[0.5, 1], [1, 2]], look: testbed.look(i, theme)});"
                          "var plot = testbed.latencyPlot(all, theme, 420);"
                          "plot.option.grid.top + ' of ' + plot.height;");
  };
  EXPECT_EQ(places(1, "btree"), "18 of 318");
  EXPECT_EQ(places(2, "btree"), "40 of 340");
  EXPECT_EQ(places(8, std::string(41, 'x')), "222 of 522") << "eight lines";
}

// Once, every second name of an axis was left out where the names had no room beside each other.
TEST(PageFiguresTest, LabelsThatDoNotFitBesideEachOtherAreSlanted) {
  const auto axis = [](int labels, const std::string& name) {
    const json data = {{"labels", labels}, {"name", name}};
    return EvaluateOnPage(data,
                          "var theme = testbed.theme('light'), all = [];"
                          "for (var i = 0; i < data.labels; ++i) all.push(data.name + i);"
                          "var option = {grid: {left: 70, right: 28, bottom: 46}};"
                          "option.xAxis = testbed.plotAxis(theme, {type: 'category'});"
                          "option.xAxis.nameGap = 28;"
                          "var more = testbed.slantLabels(option, all, 898);"
                          "[more, option.grid.bottom, option.xAxis.nameGap, "
                          " option.xAxis.axisLabel.rotate || 0].join(' ');");
  };
  EXPECT_EQ(axis(3, "btree"), "0 46 28 0");
  EXPECT_EQ(axis(13, "btree-compressed"), "59 105 87 30");
  EXPECT_EQ(axis(100, "btree"), "0 46 28 0") << "there is no room for slanted ones either";
}

// Once, the figures were 1000 µs, 1000 ns, 1024 KiB, 1000 kB, and 1000 beside 1,001.
TEST(PageFiguresTest, AFigureThatIsRoundedToTheNextUnitHasIt) {
  EXPECT_EQ(EvaluateOnPage(json(),
                           "[testbed.time(999.6), testbed.time(0.9996), testbed.bytes(1048575),"
                           " testbed.decimalBytes(999999), testbed.short(999.7),"
                           " testbed.time(999.4), testbed.bytes(1023), testbed.time(0.5)]"
                           ".join('; ');"),
            "1 ms; 1 µs; 1 MiB; 1 MB; 1,000; 999 µs; 1023 B; 500 ns");
}

// The k, M and G of a count are decimal, and those of a size, which also has T, are binary.
TEST(PageFiguresTest, AnAxisOfCurvesHasTheUnitsOfItsOption) {
  const auto places = [](const char* axis, const char* labels) {
    json experiment = json::parse(R"({"axes": [{}], "metrics": [{"name": "ops"}], "cells": []})");
    experiment["axes"][0]["name"] = axis;
    experiment["axes"][0]["labels"] = json::parse(labels);
    for (size_t i = 0; i < experiment["axes"][0]["labels"].size(); ++i) {
      json cell = json::parse(R"({"labels": [], "figures": [[7, null]]})");
      cell["labels"].push_back(i);
      experiment["cells"].push_back(cell);
    }
    return json::parse(EvaluateOnPage(
        experiment,
        "JSON.stringify(testbed.curves(data, testbed.curveChoice(data))[0].points.map("
        "function (point) { return point.x; }));"));
  };
  EXPECT_EQ(places("rows", R"(["1M", "1020000", "500k"])"),
            json::parse("[500000, 1000000, 1020000]"));
  EXPECT_EQ(places("page-size", R"(["16k", "4k"])"), json::parse("[4096, 16384]"));
  EXPECT_EQ(places("ram", R"(["1T", "512G"])"), json::parse("[549755813888, 1099511627776]"));
}

// No plot shows what the tasks of a run did, nor what its clients exchanged with a server.
TEST(PageFiguresTest, TheTablesThatAreNotDrawnStandOnThePage) {
  const auto tables = [](const json& document) {
    PageData data;
    data.AddDocument("run.json", document);
    return data.Json()["documents"][0]["document"]["tables"];
  };
  json document = SmallDocument();
  EXPECT_EQ(tables(document), json::array());
  Measured(document)["tasks"] = json::parse(R"([
      {"task": 0, "host": "one", "threads": 8, "count": 60, "rate": 24},
      {"task": 1, "host": "two", "threads": 8, "count": 40, "rate": 16}])");
  Measured(document)["account"]["causes"][0].update(
      {{"operations", 60},
       {"wire", {{"round_trips", 120}, {"sent_bytes", 600}, {"received_bytes", 6000}}}});
  const json found = tables(document);
  ASSERT_EQ(found.size(), 2u) << found;
  EXPECT_EQ(found[0]["title"], "Tasks of the run");
  EXPECT_EQ(found[0]["rows"][1][1], "two");
  EXPECT_EQ(found[0]["rows"][1][3], "40");
  EXPECT_EQ(found[1]["title"], "Between client and server, per operation");
  EXPECT_EQ(found[1]["rows"],
            json::parse(R"([["mixed point-read, 8 thr x 2 tasks", "2.00", "10.0", "100"]])"));
}

// Squares with round and with sharp corners look alike at the size of a mark.
TEST(PageFiguresTest, EnginesWithMarksOfOneShapeHaveLinesOfTheirOwn) {
  const std::string looks = EvaluateOnPage(
      json(),
      "JSON.stringify(['btree', 'rocksdb', 'wiredtiger', 'lmdb', 'innodb', 'fractal', 'mmapv1',"
      " 'mdbx', 'mysql', 'sqlite', 'postgres', 'pebble', 'bf-tree'].map(function (name) {"
      "  var look = testbed.engineLook(name, testbed.theme('light'));"
      "  return look.symbol.toLowerCase().replace('round', '') + ' ' + look.dash;"
      "}));");
  std::set<std::string> different;
  for (const json& look : json::parse(looks)) different.insert(look.get<std::string>());
  EXPECT_EQ(different.size(), 13u) << looks;
}

}  // namespace
}  // namespace testbed
