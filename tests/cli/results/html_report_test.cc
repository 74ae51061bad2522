// Tests the page of `testbed report --html` and the plot files as far as no browser is needed: what
// the page loads, whether its figures are the document's, and what results of any content do to it.
// tests/browser/ has the rest.
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <regex>
#include <string>

#include "tests/cli/command.h"

namespace testbed {
namespace {

using nlohmann::json;

constexpr char kHostile[] =
    "</script><script>alert(1)</script><!-- \" ' & \n,\t\x01\x1b[2J]]> <img src=x "
    "onerror=alert(2)>";

constexpr size_t kMixed = 2;  // the phase after the load and its settle

class HtmlReportTest : public CommandTest {
 protected:
  // Makes run.json. The tests share one run.
  void MakeRun() {
    static const std::string document = [this] {
      const CommandResult run =
          Run("--engine btree --ram 32M --rows 20000 --seconds 2.2 --warmup 0 --threads 2 --quiet "
              "--workload insert,mixed --json run.json");
      EXPECT_EQ(run.code, 0) << run.err;
      return Read(directory_ / "run.json");
    }();
    std::ofstream(directory_ / "run.json") << document;
  }

  // Makes ab.json. The tests share one comparison.
  json MakeComparison() {
    static const std::string document = [this] {
      const CommandResult ab =
          Run("ab --engine null --a '' --b added-delay=50000 --way rounds --ram 64M --rows 2000 "
              "--threads 1 --workload insert --time 120s --loads 3 --account off --quiet --json "
              "ab.json");
      EXPECT_EQ(ab.code, 0) << ab.err;
      return Read(directory_ / "ab.json");
    }();
    std::ofstream(directory_ / "ab.json") << document;
    return json::parse(document);
  }

  // Makes a results file of three loads whose rates are nearly `rate`, whatever the machine does.
  void MakeLoads(const std::string& name, double rate) {
    const CommandResult run =
        Run("--engine null --ram 64M --rows 2000 --threads 1 --workload insert --repeat 3 "
            "--account off --quiet --json " +
            name);
    ASSERT_EQ(run.code, 0) << run.err;
    json document = Json(name);
    for (json& one : document["runs"]) {
      for (json& phase : one["phases"]) {
        if (phase.contains("rate")) phase["rate"] = rate++;
      }
    }
    WriteJson(name, document);
  }

  // Returns the data of the page that compares a.json with b.json.
  json Compared(const std::string& files = "a.json b.json") {
    const CommandResult result = Run("report " + files + " --html page.html");
    EXPECT_EQ(result.code, 0) << result.err;
    return PageData("page.html")["compared"];
  }

  json PageData(const std::string& name) const {
    const std::string page = Read(directory_ / name);
    const std::string begin = "<script type=\"application/json\" id=\"data\">";
    const size_t from = page.find(begin) + begin.size();
    return json::parse(page.substr(from, page.find("</script>", from) - from));
  }

  // Makes a program that is found with the environment kOurConverter.
  void WriteConverter(const std::string& script) const {
    const std::filesystem::path program = directory_ / "bin/rsvg-convert";
    std::filesystem::create_directories(program.parent_path());
    std::ofstream(program) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  }
  static constexpr char kOurConverter[] = "PATH=$PWD/bin:$PATH";

  void WriteJson(const std::string& name, const json& document) const {
    std::ofstream(directory_ / name) << document;
  }
};

// Collects all numbers by their JSON pointers, except the parts that the page keeps in another
// form.
void Numbers(const json& node, const std::string& pointer, std::map<std::string, json>* numbers) {
  if (node.is_number()) {
    (*numbers)[pointer] = node;
  } else if (node.is_structured()) {
    for (const auto& [key, value] : node.items()) {
      if (key == "series" || key == "latency_ns_histogram" || key == "latency_curve" ||
          key == "effective" || key == "machine" || key == "device" || key == "population") {
        if (key != "device" || pointer.find("account") == std::string::npos) continue;
      }
      Numbers(value, pointer + "/" + key, numbers);
    }
  }
}

TEST_F(HtmlReportTest, FiguresAreTheDocuments) {
  MakeRun();
  const CommandResult result = Run("report run.json --html run.html");
  ASSERT_EQ(result.code, 0) << result.err;
  const json document = Json("run.json"), entry = PageData("run.html")["documents"][0];
  std::map<std::string, json> ours, page;
  Numbers(document, "", &ours);
  Numbers(entry["document"], "", &page);
  EXPECT_GE(ours.size(), 200u);
  EXPECT_EQ(ours, page);
  // The series, which has another form, second by second.
  const json& phase = document["runs"][0]["phases"][kMixed];
  const json& columns = entry["document"]["runs"][0]["phases"][kMixed]["series"];
  ASSERT_EQ(phase["name"], "mixed");
  ASSERT_GE(phase["series"].size(), 2u);
  for (size_t i = 0; i < phase["series"].size(); ++i) {
    for (const char* figure : {"operations", "p99_us", "max_us", "device_read_bytes"}) {
      // What the machine does not know of its device has no field.
      const json shown = columns.contains(figure) ? columns[figure][i] : json();
      const json& second = phase["series"][i];
      const bool told = figure != std::string("p99_us") || second.value("operations", 0) >= 1000;
      EXPECT_EQ(told ? second.value(figure, json()) : json(), shown) << figure;
    }
  }
  // The latency's curve: its last point is the slowest operation, and it never falls.
  const json& operation = entry["document"]["runs"][0]["phases"][kMixed]["operations"][0];
  const json& curve = operation["latency_curve"];
  ASSERT_GT(curve.size(), 10u);
  EXPECT_EQ(curve.back()[1], operation["latency_us"]["max"]);
  for (size_t i = 1; i < curve.size(); ++i) EXPECT_GE(curve[i][1], curve[i - 1][1]);
}

constexpr char kExperiment[] = R"(
name = "mine"
title = "Rates by <clients>"
about = "How rates grow."
[options]
engine = "null"
workload = "insert,point-read"
rows = 2000
seconds = 0.1
warmup = 0
ram = "32M"
[scale.tiny]
rounds = 2
[[axis]]
name = "threads"
values = [1, 2]
[[axis]]
name = "value-size"
values = [100, 400]
[metrics]
rate = { value = "point_read.rate", unit = "1/s" }
[[table]]
title = "Rates"
rows = ["threads"]
columns = "value-size"
metrics = ["rate"]
published = { columns = ["clients", "100", "400"], rows = [["1", "10", "20"]] }
[[finding]]
id = "X1"
claim = "More clients, more reads"
[[finding.part]]
says = "two against one"
holds = "rate[threads=2, value-size=100] > 0"
)";

// Each cell of a table must equal the figure that is computed from the documents of its runs.
TEST_F(HtmlReportTest, TablesOfExperimentsAreTheirCells) {
  std::ofstream(directory_ / "mine.toml") << kExperiment;
  const CommandResult run = Run("experiment mine.toml --scale tiny --out results --quiet");
  ASSERT_EQ(run.code, 0) << run.err;
  ASSERT_EQ(Run("report results --html page.html --svg plots").code, 0);
  const json page = PageData("page.html"), experiment = page["experiments"][0];
  EXPECT_EQ(experiment["title"], "Rates by <clients>");
  EXPECT_EQ(experiment["findings"][0]["id"], "X1");
  EXPECT_EQ(experiment["tables"][0]["published"][0][1], "10");
  size_t figures = 0;
  for (const json& row : experiment["tables"][0]["rows"]) {
    for (const json& figure : row["figures"]) {
      ASSERT_EQ(figure["cells"].size(), 1u);
      const json& cell = experiment["cells"][figure["cells"][0].get<size_t>()];
      double sum = 0;
      for (const json& of_round : cell["runs"]) {
        const json document = Json("results/" + of_round["file"].get<std::string>());
        for (const json& phase : document["runs"][0]["phases"]) {
          if (phase["name"] == "point-read") sum += phase["rate"].get<double>();
        }
        EXPECT_TRUE(of_round["packed"].is_number());
      }
      EXPECT_DOUBLE_EQ(figure["mean"].get<double>(), sum / 2);
      EXPECT_GT(figure["half_width"], 0);
      ++figures;
    }
  }
  EXPECT_EQ(figures, 4u);
  EXPECT_EQ(page["packed"].size(), 8u);
  EXPECT_TRUE(std::filesystem::exists(directory_ / "plots/mine_rate_over_value-size.svg") ||
              std::filesystem::exists(directory_ / "plots/mine_rate_over_threads.svg"));
}

TEST_F(HtmlReportTest, LoadsNothingFromElsewhere) {
  MakeRun();
  ASSERT_EQ(Run("report run.json --html run.html").code, 0);
  const std::string page = Read(directory_ / "run.html");
  EXPECT_LT(page.size(), 10u << 20);
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
  const std::string markup = page.substr(0, page.find("<script"));
  for (const char* loads : {"src=", "url(", "@import", "http:", "https:", "//"}) {
    EXPECT_EQ(markup.find(loads), std::string::npos) << loads;
  }
  // The library names the namespaces of XML; nothing else on the page has an address.
  EXPECT_FALSE(
      std::regex_search(page, std::regex("<(script|link|img|iframe)[^>]*(src|href)=\"?(http|//)")));
  EXPECT_EQ(page.find("<script src"), std::string::npos);
}

TEST_F(HtmlReportTest, NamesOfAnyContentAreText) {
  MakeRun();
  json document = Json("run.json");
  document["notes"] = {kHostile};
  document["command"].push_back(kHostile);
  document["options"]["engine"] = kHostile;
  for (json& run : document["runs"]) {
    run["engine"]["name"] = kHostile;
    for (json& phase : run["phases"]) {
      phase["name"] = kHostile;
      for (json& cause : phase["account"]["causes"]) cause["name"] = kHostile;
      if (!phase.contains("operations")) continue;
      for (json& operation : phase["operations"]) operation["name"] = kHostile;
    }
  }
  WriteJson("<b>,\" .json", document);
  const CommandResult result = Run("report '<b>,\" .json' --html run.html --svg plots");
  ASSERT_EQ(result.code, 0) << result.err;
  // The library, which follows the data, has markup of its own.
  const std::string whole = Read(directory_ / "run.html");
  const std::string page = whole.substr(0, whole.find("<script nonce"));
  EXPECT_EQ(whole.find("<script>alert"), std::string::npos);
  EXPECT_EQ(page.find("<img"), std::string::npos);
  EXPECT_EQ(page.find("<!--"), std::string::npos);
  EXPECT_EQ(PageData("run.html")["documents"][0]["document"]["notes"][0], kHostile);
  size_t plots = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory_ / "plots")) {
    const std::string svg = Read(entry.path());
    EXPECT_EQ(svg.find("<script"), std::string::npos) << entry.path();
    EXPECT_EQ(svg.find("<img"), std::string::npos) << entry.path();
    EXPECT_EQ(entry.path().filename().string().find_first_of("<>\"' \n,"), std::string::npos);
    ++plots;
  }
  EXPECT_GT(plots, 4u);
  const std::string parse = "cd " + directory_.string() +
                            " && python3 -c 'import glob, xml.dom.minidom\n"
                            "for name in glob.glob(\"plots/*.svg\"): xml.dom.minidom.parse(name)'";
  EXPECT_EQ(std::system(parse.c_str()), 0) << "a plot is no XML";
}

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

// The page must have the words of the text report and the figures of the document.
TEST_F(HtmlReportTest, AComparisonIsItsReport) {
  const json document = MakeComparison();
  const CommandResult result = Run("report ab.json --html ab.html --svg plots");
  ASSERT_EQ(result.code, 0) << result.err;
  const std::string text = Run("report ab.json").out;
  const json page = PageData("ab.html");
  ASSERT_EQ(page["comparisons"].size(), 1u);
  const json& shown = page["comparisons"][0];
  EXPECT_EQ(shown["sentences"][0]["text"], FirstLine(text));
  EXPECT_NE(text.find("\n" + shown["way"].get<std::string>() + "\n"), std::string::npos) << text;
  EXPECT_EQ(shown["sides"][1]["settings"], "engine=null added-delay=50000");
  // The document's figures, and the table's words about them.
  EXPECT_GE(document["answers"].size(), 4u);
  EXPECT_EQ(shown["answers"], document["answers"]);
  ASSERT_EQ(shown["metrics"]["rows"].size(), document["answers"].size());
  double log_of_effect = 0;
  for (size_t i = 0; i < document["answers"].size(); ++i) {
    const json &answer = document["answers"][i], &row = shown["metrics"]["rows"][i];
    EXPECT_EQ(row.front(), answer["metric"]);
    EXPECT_EQ(row.back(), answer["answer"]);
    EXPECT_NE(text.find(row[3].get<std::string>()), std::string::npos) << row;
    if (answer["metric"] == "rate") log_of_effect = std::log(answer["effect"].get<double>());
  }
  // The effect is the mean of those of the loads.
  const json& effects = shown["loads"][0]["effects"];
  ASSERT_EQ(effects.size(), 3u);
  double sum = 0;
  for (const json& load : effects) {
    EXPECT_EQ(load["counted"], true);
    sum += load["log"].get<double>();
  }
  EXPECT_NEAR(sum / 3, log_of_effect, 1e-9);
  EXPECT_NE(Read(directory_ / "plots/ab_changes.svg").find("rate"), std::string::npos);
  EXPECT_NE(Read(directory_ / "plots/ab_loads.svg").find(">load<"), std::string::npos);
}

TEST_F(HtmlReportTest, AComparisonMayComeByAPipe) {
  MakeComparison();
  const std::string command = fmt::format(
      "cd {0} && {1} report - <ab.json >piped && {1} report - --html piped.html "
      "<ab.json >line",
      directory_.string(), TestbedBinary());
  ASSERT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(Read(directory_ / "piped"), Run("report ab.json").out);
  EXPECT_EQ(PageData("piped.html")["comparisons"].size(), 1u);
}

TEST_F(HtmlReportTest, NamesOfAComparisonAreText) {
  json document = MakeComparison();
  document["workload"] = document["assumes"] = kHostile;
  document["notes"] = {kHostile};
  document["command"].push_back(kHostile);
  document["errors"] = {{{"side", "b"}, {"sentence", kHostile}, {"exit_code", 1}}};
  for (json& side : document["sides"]) side["settings"] = kHostile;
  WriteJson("hostile.json", document);
  const CommandResult result = Run("report hostile.json --html page.html --svg plots");
  ASSERT_EQ(result.code, 0) << result.err;
  const std::string whole = Read(directory_ / "page.html");
  const std::string page = whole.substr(0, whole.find("<script nonce"));
  EXPECT_EQ(whole.find("<script>alert"), std::string::npos);
  EXPECT_EQ(page.find("<img"), std::string::npos);
  EXPECT_EQ(page.find("<!--"), std::string::npos);
  const json shown = PageData("page.html")["comparisons"][0];
  EXPECT_NE(shown["sides"][1]["settings"].get<std::string>().find(kHostile), std::string::npos);
  document["samples"] = "none";
  WriteJson("damaged.json", document);
  ExpectRefused(Run("report damaged.json --html none.html"), "damaged.json is damaged");
}

TEST_F(HtmlReportTest, TwoResultsAreComparedAsCompareDoes) {
  MakeLoads("a.json", 2000);
  MakeLoads("b.json", 1000);
  const json compared = Compared();
  const std::string text = Run("compare a.json b.json").out;
  ASSERT_EQ(compared["sentences"].size(), 1u);
  const std::string sentence = compared["sentences"][0]["text"];
  EXPECT_NE(sentence.find("the second is slower by 50 %"), std::string::npos) << sentence;
  EXPECT_NE(("\n" + text).find("\n" + sentence + "\n"), std::string::npos) << text;
  EXPECT_EQ(compared["sentences"][0]["told"], true);
  EXPECT_EQ(compared["comparable"], true);
  ASSERT_EQ(compared["answers"].size(), compared["table"]["rows"].size());
  EXPECT_GE(compared["answers"].size(), 2u);
  for (size_t i = 0; i < compared["answers"].size(); ++i) {
    EXPECT_EQ(compared["table"]["rows"][i][1], compared["answers"][i]["metric"]);
    EXPECT_EQ(compared["table"]["rows"][i][5], compared["answers"][i]["answer"]);
  }
  ASSERT_EQ(Run("report a.json b.json --svg plots").code, 0);
  EXPECT_TRUE(std::filesystem::exists(directory_ / "plots/side-by-side_insert-1-thr_changes.svg"));
  EXPECT_TRUE(std::filesystem::exists(directory_ / "plots/a_insert_1thr_load2_latency.svg"));
  EXPECT_TRUE(Compared("a.json").is_null());
  EXPECT_TRUE(Compared("a.json b.json a.json").is_null()) << "three are not compared";
}

TEST_F(HtmlReportTest, TwoResultsOnOtherTermsAreNotJudged) {
  MakeLoads("a.json", 2000);
  json other = Json("a.json");
  other["machine"]["cpu_model"] = "Another";
  WriteJson("b.json", other);
  json compared = Compared();
  EXPECT_EQ(compared["comparable"], false);
  EXPECT_NE(compared["terms"].dump().find("The machines differ"), std::string::npos) << compared;
  other = Json("a.json");
  other["data"]["rows"] = 77;
  WriteJson("b.json", other);
  compared = Compared();
  EXPECT_NE(compared["why"].get<std::string>().find("their data differ"), std::string::npos);
  EXPECT_FALSE(compared.contains("sentences"));
}

TEST_F(HtmlReportTest, PlotsAreFiles) {
  MakeRun();
  const CommandResult result = Run("report run.json --svg a/b");
  EXPECT_EQ(result.code, 2) << "the parent of --svg must be there";
  ASSERT_EQ(Run("report run.json --svg plots").code, 0);
  const std::string time = Read(directory_ / "plots/run_mixed_time.svg");
  EXPECT_EQ(time.find("<svg"), 0u);
  EXPECT_NE(time.find("operations per second"), std::string::npos);
  const std::string reads = Read(directory_ / "plots/run_mixed_latency.svg");
  EXPECT_NE(reads.find("99.9 %"), std::string::npos);
  const std::string space = Read(directory_ / "plots/run_space.svg");
  for (const char* shown : {"after insert", "after mixed", "data files", "free pages", "log files",
                            "loaded 7.93 MiB"}) {
    EXPECT_NE(space.find(shown), std::string::npos) << shown;
  }
  // The same results give the same files.
  ASSERT_EQ(Run("report run.json --svg again").code, 0);
  EXPECT_EQ(Read(directory_ / "again/run_mixed_time.svg"), time);
}

// A run that ended in its first phase, and an experiment of one cell, have no plots of their own.
TEST_F(HtmlReportTest, ResultsThatAreNotDrawnSaySo) {
  MakeRun();
  json document = Json("run.json");
  document["runs"][0]["phases"] = json::array();
  WriteJson("none.json", document);
  const CommandResult result = Run("report none.json --svg none --html none.html");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("\nno plots in none: nothing of these results is drawn"),
            std::string::npos)
      << result.out;
}

// A script stands for rsvg-convert, which not every machine has.
TEST_F(HtmlReportTest, PngsLeaveTheSvgsOfTheirFolder) {
  MakeRun();
  WriteConverter("printf PNG >\"$4\"; cat \"$5\" >>\"$4\"");  // --zoom 2 --output TO FROM
  std::filesystem::create_directory(directory_ / "plots");
  std::ofstream(directory_ / "plots/run_mixed_time.svg") << "theirs";
  const std::filesystem::path killed = directory_ / "plots/testbed-0123456789abcdef.tmp";
  std::filesystem::create_directory(killed);
  std::filesystem::permissions(killed, std::filesystem::perms::owner_all);
  std::ofstream(killed / "plot.svg") << "<svg";
  // A file must be replaced and not written into, since another name may be a hard link to it.
  std::ofstream(directory_ / "theirs") << "theirs";
  std::filesystem::create_hard_link(directory_ / "theirs", directory_ / "plots/run_mixed_time.png");
  const CommandResult made = Run("report run.json --png plots", kOurConverter);
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_NE(made.out.find(" plots in plots"), std::string::npos) << made.out;
  const std::string png = Read(directory_ / "plots/run_mixed_time.png");
  EXPECT_EQ(png.find("PNG<svg"), 0u);
  EXPECT_EQ(Read(directory_ / "plots/run_mixed_time.svg"), "theirs");
  EXPECT_EQ(Read(directory_ / "theirs"), "theirs");
  // A converter that fails must leave all other files written.
  WriteConverter("printf half >\"$4\"; echo it is too large; exit 1");
  const CommandResult failed = Run("report run.json --png plots --html run.html", kOurConverter);
  EXPECT_EQ(failed.code, 1);
  EXPECT_NE(failed.err.find("it is too large"), std::string::npos) << failed.err;
  EXPECT_EQ(Read(directory_ / "plots/run_mixed_time.png"), png);
  EXPECT_TRUE(std::filesystem::exists(directory_ / "run.html"));
  for (const auto& entry : std::filesystem::directory_iterator(directory_ / "plots")) {
    EXPECT_TRUE(entry.path().extension() == ".svg" || entry.path().extension() == ".png")
        << entry.path();
  }
}

TEST_F(HtmlReportTest, APageThatIsNotWrittenIsNotToldOf) {
  MakeRun();
  const CommandResult full = Run("report run.json --html /dev/full");
  EXPECT_EQ(full.code, 1) << full.err;
  EXPECT_EQ(full.out, "");
  EXPECT_NE(full.err.find("--html /dev/full cannot be written"), std::string::npos) << full.err;
}

TEST_F(HtmlReportTest, AReportHasOneForm) {
  ExpectRefused(Run("report run.json --html run.html --csv"),
                "--csv and --html are two forms of a report; give one, and call testbed report "
                "again for the other");
  ExpectRefused(Run("report run.json --csv --series"), "--csv and --series are two forms");
  ExpectRefused(Run("report run.json --png p --command"), "--command and --png are two forms");
  ExpectRefused(Run("report run.json --csv --markdown"), "--csv and --markdown are two forms");
  ExpectRefused(Run("report run.json --text --csv"), "--text and --csv are two forms");
  for (const std::string form : {"--csv", "--csv-series", "--series", "--command", "--html p"}) {
    ExpectRefused(Run("report run.json --wide " + form), "takes no --wide, which is for the");
  }
  EXPECT_FALSE(std::filesystem::exists(directory_ / "run.html"));
}

TEST_F(HtmlReportTest, TheFormThatIsPrintedWithoutAnOptionHasAName) {
  MakeRun();
  const CommandResult named = Run("report run.json --text");
  EXPECT_EQ(named.code, 0) << named.err;
  EXPECT_EQ(named.out, Run("report run.json").out);
  EXPECT_EQ(Run("report run.json --text --wide").out, Run("report run.json --wide").out);
}

TEST_F(HtmlReportTest, WhatIsNoResultIsRefused) {
  MakeRun();
  const std::string whole = Read(directory_ / "run.json");
  std::ofstream(directory_ / "cut.json") << whole.substr(0, whole.size() / 2);
  json document = json::parse(whole);
  document["schema"] = "testbed-results/0";
  WriteJson("old.json", document);
  WriteJson("other.json", {{"benchmarks", json::array()}});
  document = json::parse(whole);
  document["runs"][0]["phases"][kMixed]["operations"][0]["latency_us"] = "fast";
  WriteJson("damaged.json", document);
  std::filesystem::create_directory(directory_ / "empty");
  for (const char* bad :
       {"cut.json", "old.json", "other.json", "damaged.json", "empty", "none.json"}) {
    ExpectRefused(Run(fmt::format("report run.json {} --html page.html --svg plots", bad)), bad);
  }
  ExpectRefused(Run("report run.json --html none/page.html"), "--html");
  ExpectRefused(Run("report run.json --html empty"), "--html");
  ExpectRefused(Run("report run.json --svg run.json"), "--svg");
  EXPECT_FALSE(std::filesystem::exists(directory_ / "page.html"));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "plots"));
}

}  // namespace
}  // namespace testbed
