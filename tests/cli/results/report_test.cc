// Tests what a reader of a report sees: lines that fit, Markdown that is safe, columns that are
// explained, doubts that stand at the top, and files that are no results.
#include <gmock/gmock.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <string>

#include "tests/cli/command.h"
#include "tests/cli/results/explained_columns.h"
#include "tests/paths.h"
#include "tools/ab/ab_report.h"
#include "tools/report/compare.h"
#include "tools/report/run_tables.h"

namespace testbed {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class ReportTest : public CommandTest {
 protected:
  // Makes run.json, with several operations, a target rate and repeats. The tests share one run.
  json Document() {
    static const std::string run = [this] {
      const CommandResult result = Run(
          "--engine btree --ram 64M --rows 3000 --seconds 0.4 --warmup 0 --threads 2 --repeat 2 "
          "--workload insert,mixed --mix point-read=70,update=20,scan=10 --rate 3000 --quiet "
          "--json run.json");
      EXPECT_EQ(result.code, 0) << result.err;
      return Read(directory_ / "run.json");
    }();
    std::ofstream(directory_ / "run.json") << run;
    return json::parse(run);
  }
  std::string Report(const json& document, const std::string& options = "") {
    std::ofstream(directory_ / "other.json") << document.dump();
    const CommandResult result = Run("report other.json " + options);
    EXPECT_EQ(result.code, 0) << result.err;
    return result.out;
  }
};

size_t LongestLine(const std::string& text) {
  std::istringstream in(text);
  size_t longest = 0;
  for (std::string line; std::getline(in, line);) longest = std::max(longest, line.size());
  return longest;
}

TEST_F(ReportTest, LinesFitAHundredColumnsUnlessWide) {
  json document = Document();
  EXPECT_LE(LongestLine(Report(document)), 100u) << Report(document);
  EXPECT_GT(LongestLine(Report(document, "--wide")), 100u);
  EXPECT_NE(Report(document, "--wide").find("harness ns/op"), std::string::npos);
  document["runs"][0]["phases"][0]["name"] = std::string(30, 'n');
  EXPECT_LE(LongestLine(Report(document)), 100u) << Report(document);
  EXPECT_NE(Report(document).find("with --wide)"), std::string::npos);
}

TEST_F(ReportTest, SizesOfRowsAreThoseOfTheLoader) {
  json document = Document();
  EXPECT_THAT(Report(document), HasSubstr("3,000 rows of 16 + 400 bytes = 1.2M, 0.019 x ram; "));
  json unbounded = document;
  unbounded["options"]["ram"] = 0;
  EXPECT_THAT(Report(unbounded), HasSubstr("3,000 rows of 16 + 400 bytes = 1.2M; seed "));
  document["options"]["workload"] = {"concurrent-inserts"};
  const std::string text = Report(document);
  EXPECT_EQ(text.find("rows of 16"), std::string::npos) << text;
  EXPECT_NE(text.find("rows as concurrent-inserts makes them"), std::string::npos) << text;
}

constexpr char kTerminal[] = " \x1b]0;title\x07\n\u009b2J";

// Adds what a terminal takes for commands to each text of a document that tells no kind of a thing.
void Poison(json* node) {
  static const std::set<std::string> kKinds = {"schema", "kind", "ground", "grade"};
  if (node->is_string()) *node = node->get<std::string>() + kTerminal;
  if (node->is_array()) {
    for (json& element : *node) Poison(&element);
  }
  if (!node->is_object()) return;
  for (auto& [name, value] : node->items()) {
    if (!kKinds.contains(name)) Poison(&value);
  }
}

// A results file may come from anybody.
TEST_F(ReportTest, WhatADocumentSaysIsNoCommandOfATerminal) {
  json document = Document();
  document["notes"] = {"a note"};
  document["label"] = "a label";
  document["not_in_force"] = {{{"option", "ram"}, {"why", "not root"}}};
  for (json& run : document["runs"]) {
    run["accounting"]["missing"] = {"flushes"};
    run["accounting"]["grade_reasons"] = {"a reason"};
    for (json& phase : run["phases"]) {
      phase["ended_because"] = "no row is left";
      phase["foreign_cpu_share"] = 0.9;
      phase["account"]["closure"] = {
          {"reads", 0}, {"read_bytes", 0}, {"writes", 0}, {"write_bytes", 0}, {"at_rest", true}};
      phase["account"]["other_threads"] = {
          {{"thread", "rsync"}, {"kind", "other-file"}, {"kernel", {{"reads", 7}}}}};
    }
  }
  Poison(&document);
  json other = document;
  other["options"]["durability"] = std::string("another") + kTerminal;
  const std::string report = Report(document, "--wide"), series = Report(document, "--series");
  std::ofstream(directory_ / "second.json") << other.dump();
  const std::string compared = Run("compare other.json second.json").out;
  for (const std::string& text : {report, series, compared}) {
    EXPECT_NE(text.find("title"), std::string::npos) << text;
    for (const char* control : {"\x1b", "\x07", "\u009b"}) {
      EXPECT_EQ(text.find(control), std::string::npos) << text;
    }
  }
  EXPECT_THAT(report, HasSubstr("rsync"));
}

TEST_F(ReportTest, NamesAreNoMarkup) {
  json document = Document();
  for (json& run : document["runs"]) {
    for (json& phase : run["phases"]) phase["name"] = "a|b <script>alert(1)</script>\n`*_";
  }
  const std::string text = Report(document, "--markdown --wide");
  EXPECT_NE(text.find("a\\|b &lt;script&gt;"), std::string::npos) << text;
  std::istringstream in(text);
  size_t columns = 0;  // columns of the table that the line is in
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("|")) {
      EXPECT_EQ(line.find("<script>"), std::string::npos) << line;
    }
    if (!line.starts_with("|")) {
      columns = 0;
      continue;
    }
    size_t bars = 0;
    for (size_t i = 0; i < line.size(); ++i) {
      if (line[i] == '\\') {
        ++i;
      } else {
        bars += line[i] == '|';
      }
    }
    if (columns == 0) columns = bars;
    EXPECT_EQ(bars, columns) << line;
  }
}

TEST_F(ReportTest, EachColumnIsExplainedAndThePageIsUpToDate) {
  const json document = Document();
  std::set<std::string> titles;
  for (const Table& table : RunTables(document)) {
    EXPECT_EQ(ExplainedColumns(table.title()), ColumnsOf(table)) << table.title();
    titles.insert(table.title());
  }
  EXPECT_GT(titles.size(), 10u);
  EXPECT_EQ(Run("explain --markdown").out, Read(SourceDir() + "/docs/columns.md"))
      << "make it anew: testbed explain --markdown >docs/columns.md";
  const std::string one = Run("explain 'KERNEL b/read'").out;
  EXPECT_NE(one.find("kernel B/read: Bytes of such a request."), std::string::npos) << one;
  EXPECT_EQ(std::count(one.begin(), one.end(), '\n'), 3) << one;
  EXPECT_LE(LongestLine(Run("explain").out), 100u);
  // The insert benchmark's p99 is the share of seconds above a rate, and hid the latency.
  const std::string p99 = Run("explain p99").out;
  EXPECT_NE(p99.find("Operations\n  p99 us: Percentile"), std::string::npos) << p99;
  EXPECT_NE(p99.find("  p99: Rate that was exceeded"), std::string::npos) << p99;
}

// The tests of tree, trace and history look at theirs.
TEST_F(ReportTest, ColumnsOfComparisonsAndSecondsAreExplained) {
  const json document = Document();
  const Table compared = ComparisonTable(CompareDocuments(document, document, {}));
  EXPECT_EQ(ExplainedColumns(compared.title()), ColumnsOf(compared)) << compared.title();
  const std::string worst = "Worst seconds";
  EXPECT_EQ(ExplainedColumns(worst), PrintedColumns(Report(document, "--series"), worst));
  const json two = json::parse(R"({"sides": [{"label": "a"}, {"label": "b"}], "samples": []})");
  const json three = json::parse(R"({"sides": [{"label": "a"}, {"label": "b"}, {"label": "c"}]})");
  for (const Table& table : {MetricsOfAb(two, {}), MetricsOfAb(three, {}), RestOfAb(two)}) {
    EXPECT_EQ(ExplainedColumns(table.title()), ColumnsOf(table)) << table.title();
  }
  EXPECT_EQ(Run("explain engine_misses").out,
            "Metrics of compare, ab and history\n"
            "  engine_misses: Blocks that the engine's cache did not hold, per operation.\n");
}

// Requests of other programs, which the kernel account recognizes, must not count in any figure of
// an operation.
TEST_F(ReportTest, OtherProgramsIoIsALineOfItsOwn) {
  json document = Document();
  json& run = document["runs"].back();
  run["accounting"]["kernel_account"] = true;
  json& phase = *std::find_if(run["phases"].begin(), run["phases"].end(),
                              [](const json& p) { return p["name"] == "mixed"; });
  phase["count"] = 1000;
  phase["user_bytes_written"] = 1 << 20;
  json& account = phase["account"];
  for (json& cause : account["causes"]) cause.erase("kernel_by_kind");
  account["causes"][0]["kernel_by_kind"]["data"] = {{"write_bytes", 4 << 20}};
  account["device"] = {
      {"reads", 3000}, {"read_bytes", 30000 * 4096.0}, {"writes", 500}, {"write_bytes", 20 << 20}};
  account["closure"] = {
      {"reads", 0}, {"read_bytes", 0}, {"writes", 0}, {"write_bytes", 0}, {"at_rest", true}};
  account["other_threads"] = json::array();
  account["other_threads"].push_back({{"thread", "rsync"},
                                      {"kind", "other-file"},
                                      {"kernel",
                                       {{"reads", 1000},
                                        {"read_bytes", 20000 * 4096.0},
                                        {"writes", 100},
                                        {"write_bytes", 16 << 20}}}});
  const std::string text = Report(document);
  EXPECT_NE(text.find("device, of this run"), std::string::npos) << text;
  std::istringstream in(text);
  bool own = false, other = false, reads = false, others_reads = false;
  for (std::string line; std::getline(in, line);) {
    const bool of_phase =
        line.find("mixed") != std::string::npos && line.find("load 2") != std::string::npos;
    if (!of_phase) continue;
    if (line.find("device, of this run") != std::string::npos) {
      own = line.find("4,194,304") != std::string::npos && line.find("4.00") != std::string::npos;
    }
    if (line.find("device, of other programs") != std::string::npos) {
      other = line.find("16,777,216") != std::string::npos;
    }
    if (line.find("all operations") != std::string::npos &&
        line.find("2.00") != std::string::npos) {
      reads = true;
    }
    if (line.find(": others") != std::string::npos &&
        line.find("1,000 in all") != std::string::npos) {
      others_reads = true;
    }
  }
  EXPECT_TRUE(own && other && reads && others_reads) << text;
  EXPECT_EQ(text.find("other files"), std::string::npos) << text;
  const std::string csv = Report(document, "--csv");
  EXPECT_NE(csv.find("phase_own_reads"), std::string::npos);
}

// A settle may discard blocks, as of files that it removed, and write none.
TEST_F(ReportTest, DiscardsOfAPhaseThatWroteNothingAreTold) {
  json document = Document();
  size_t phases = 0;
  for (json& run : document["runs"]) {
    for (json& phase : run["phases"]) {
      const bool mixed = phase["name"] == "mixed";
      phases += mixed;
      phase["account"]["device"] = {{"reads", 0},       {"read_bytes", 0}, {"writes", 0},
                                    {"write_bytes", 0}, {"discards", 0},   {"discard_bytes", 0}};
      if (mixed) phase["account"]["device"]["discard_bytes"] = 16 << 20;
      phase["account"]["other_threads"] = json::array();
    }
  }
  const std::string text = Report(document);
  std::istringstream in(text);
  size_t lines = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.find("discarded, not written") == std::string::npos) continue;
    ++lines;
    EXPECT_THAT(line, HasSubstr("mixed"));
    EXPECT_THAT(line, HasSubstr("16,777,216"));
  }
  EXPECT_GT(phases, 0u);
  EXPECT_EQ(lines, phases) << text;
}

TEST_F(ReportTest, WhatIsNotInForceStandsAtTheTop) {
  json document = Document();
  document["not_in_force"] = json::array();
  document["not_in_force"].push_back({{"option", "ram"}, {"why", "only root may"}});
  document["notes"] = {"--ram is not enforced, the page cache may hold more: only root may"};
  document["machine"]["file_system"] = "tmpfs";
  const std::string text = Report(document);
  // A machine that other programs load is mentioned there, too.
  const size_t at =
      text.find("! --ram is not in force: only root may\n! the database is on tmpfs, ");
  EXPECT_LT(at, text.find("testbed 0.")) << text;
  EXPECT_NE(text.find("of ram 64M (not in"), std::string::npos) << text;
  EXPECT_EQ(text.find("note: --ram"), std::string::npos) << "it is told once";
}

// Once, the sentence was on standard error alone, so that a file told nothing of the failure.
TEST_F(ReportTest, ARunThatFailedStandsAtTheTop) {
  json document = Document();
  document["runs"].back()["error"] = {{"sentence", "9 of 30 answers\nwere wrong"},
                                      {"exit_code", 1}};
  const std::string text = Report(document);
  EXPECT_THAT(text, StartsWith("! the run of 2 thr load 2 failed: 9 of 30 answers were wrong\n"));
  document["runs"].back().erase("error");
  EXPECT_THAT(Report(document), Not(HasSubstr("! the run of")));
}

TEST_F(ReportTest, ALibraryWithAssertionsIsTold) {
  json document = Document();
  document["runs"][0]["engine"]["effective"]["assertions"] = "on";
  EXPECT_THAT(Report(document), HasSubstr("\nits library has assertions, which cost time"));
  document["runs"][0]["engine"]["effective"]["assertions"] = "off";
  EXPECT_THAT(Report(document), Not(HasSubstr("assertions")));
}

// Readahead of 8 MB makes point reads of a mapping a hundred times slower than they need be.
TEST_F(ReportTest, PointReadsThatTheKernelReadsAheadForAreTold) {
  json document = Document();
  json& phases = document["runs"][0]["phases"];
  const auto measured = std::find_if(phases.begin(), phases.end(),
                                     [](const json& p) { return p["kind"] == "measure"; });
  ASSERT_NE(measured, phases.end());
  json& phase = *measured;
  json op = phase["operations"][0];
  op["name"] = "point-read";
  phase["operations"] = json::array({op});
  phase["count"] = 100;
  phase["account"]["other_threads"] = json::array();
  const auto told = [&](const char* io, const char* advice, int bytes_each) {
    document["options"]["io"] = io;
    document["options"]["mmap_advice"] = advice;
    phase["account"]["device"] = {{"reads", 10}, {"read_bytes", 100 * bytes_each}};
    // The lines are wrapped, and nothing else says this word.
    return Report(document).find("fault") != std::string::npos;
  };
  EXPECT_TRUE(told("mmap", "normal", 6 << 20));
  EXPECT_FALSE(told("mmap", "random", 6 << 20));
  EXPECT_FALSE(told("buffered", "normal", 6 << 20));
  EXPECT_FALSE(told("mmap", "normal", 3 * 8192)) << "two levels of pages and the row";
  document["options"]["value_size"] = "0-131072";
  document["data"]["rows"] = 100;
  document["data"]["value_bytes"] = 100 * 65536;
  EXPECT_TRUE(told("mmap", "normal", 6 << 20));
  EXPECT_FALSE(told("mmap", "normal", 3 * 65536)) << "a row of the mean size";
}

TEST_F(ReportTest, ALongTimeHasNoExponent) {
  json document = Document();
  json& phase = document["runs"][0]["phases"].back();
  phase["seconds"] = 1234.4;
  phase["ended_because"] = "no row is left";
  EXPECT_THAT(Report(document), HasSubstr(" ended after 1234 s and "));
}

// A percentile that few operations lie above is not shown.
TEST_F(ReportTest, SmallRunsHideWhatTheyCannotTell) {
  json document = Document();
  for (json& run : document["runs"]) {
    for (json& phase : run["phases"]) {
      if (!phase.contains("operations")) continue;
      for (json& op : phase["operations"]) {
        op["count"] = 900;
        for (auto& [name, value] : op["latency_us"].items()) value = 777;
      }
    }
  }
  const auto shown = [](const std::string& text) {
    size_t n = 0;
    for (size_t at = 0; (at = text.find("777", at)) != std::string::npos; at += 3) ++n;
    return n;
  };
  const size_t few = shown(Report(document));
  for (json& run : document["runs"]) {
    for (json& phase : run["phases"]) {
      if (!phase.contains("operations")) continue;
      for (json& op : phase["operations"]) op["count"] = 20000;
    }
  }
  EXPECT_GT(shown(Report(document)), few);
}

// Returns the lines of Markdown that are outside of its fences.
std::vector<std::string> Unfenced(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  bool fenced = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("```")) {
      fenced = !fenced;
    } else if (!fenced) {
      lines.push_back(line);
    }
  }
  EXPECT_FALSE(fenced) << text;
  return lines;
}

TEST_F(ReportTest, MarkdownOfAComparisonHasGitHubsTables) {
  const CommandResult ab =
      Run("ab --engine null --a '' --b added-delay=1000 --way rounds --ram 64M --rows 1000 "
          "--threads 1 --workload insert --time 60s --loads 1 --account off --quiet --json "
          "ab.json");
  ASSERT_EQ(ab.code, 0) << ab.err;
  const Table moved = MovedOfAb(Json("ab.json"));
  EXPECT_THAT(moved.title(), StartsWith("What moved with it"));
  EXPECT_EQ(ExplainedColumns("What moved with it"), ColumnsOf(moved));
  const CommandResult report = Run("report ab.json --markdown");
  ASSERT_EQ(report.code, 0) << report.err;
  const std::vector<std::string> lines = Unfenced(report.out);
  EXPECT_THAT(lines, Contains("### Metrics, b against a"));
  EXPECT_THAT(lines, Contains("| metric | a | b | change | answer |"));
  EXPECT_THAT(lines, Contains(StartsWith("| rate | ")));
  EXPECT_TRUE(report.out.starts_with("```\ncannot be told from 1 load")) << report.out;
  // The report has a command that makes more loads.
  json foreign = Json("ab.json");
  foreign["command"].push_back(kTerminal);
  std::ofstream(directory_ / "foreign.json") << foreign.dump();
  const std::string text = Run("report foreign.json").out;
  EXPECT_THAT(text, HasSubstr("printf"));
  EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
}

constexpr char kTwoCells[] = R"(
name = "two"
title = "Two cells"
[options]
engine = "null"
workload = "insert"
rows = 1000
ram = "32M"
[scale.tiny]
rounds = 1
[[axis]]
name = "threads"
values = [1, 2]
[metrics]
rate = { value = "insert.rate" }
[[table]]
title = "Rates"
rows = ["threads"]
metrics = ["rate"]
note = """A note | on it, which is longer than the hundred characters of a line, so that it goes on \
in the next one"""
published = { columns = ["clients", "rate"], rows = [["1", "10"]] }
[[finding]]
id = "X1"
claim = """More clients do more inserts in a second, as long as the engine keeps nothing of them and \
has nothing to wait for"""
[[finding.part]]
says = "two against one"
holds = "rate[threads=2] > 0"
)";

TEST_F(ReportTest, MarkdownOfAnExperimentHasGitHubsTables) {
  std::ofstream(directory_ / "two.toml") << kTwoCells;
  ASSERT_EQ(Run("experiment two.toml --scale tiny --out results --quiet").code, 0);
  const CommandResult report = Run("report results --markdown");
  ASSERT_EQ(report.code, 0) << report.err;
  const std::vector<std::string> lines = Unfenced(report.out);
  EXPECT_THAT(lines, Contains("### Rates"));
  EXPECT_THAT(lines, Contains("|---|---:|"));
  EXPECT_THAT(lines, Contains(StartsWith("| 2 | ")));
  EXPECT_THAT(lines, Contains("### published"));
  EXPECT_THAT(lines, Not(Contains(HasSubstr("note")))) << "what is no table is in fences";
  EXPECT_NE(report.out.find("X1 "), std::string::npos) << report.out;
  const std::string text = Run("report results").out, wide = Run("report results --wide").out;
  EXPECT_EQ(text.find("```"), std::string::npos);
  EXPECT_LE(LongestLine(text), 100u) << text;
  EXPECT_GT(LongestLine(wide), 100u);
  EXPECT_THAT(wide, HasSubstr("2 of 2 cells"));
}

// The tables of two runs of one engine may differ in nothing but their figures.
TEST_F(ReportTest, SeveralResultsAreNamed) {
  std::ofstream(directory_ / "b.json") << Document().dump();
  EXPECT_THAT(Run("report run.json").out, Not(HasSubstr("results: ")));
  const std::string both = Run("report run.json b.json").out;
  EXPECT_THAT(both, StartsWith("results: run.json\n"));
  EXPECT_THAT(both, HasSubstr("\nresults: b.json\n"));
  EXPECT_THAT(Run("report run.json b.json --markdown").out,
              HasSubstr("```\nresults: b.json\n```\n"));
  EXPECT_THAT(Run("report run.json b.json --series").out, HasSubstr("\nresults: b.json\n"));
  // A shell that runs the commands passes over the names.
  EXPECT_THAT(Run("report run.json b.json --command").out, HasSubstr("\n# results: b.json\n"));
}

TEST_F(ReportTest, FilesThatAreNoResultsGetASentence) {
  const std::string whole = Document().dump();
  const auto expect = [&](const std::string& text, const std::string& sentence) {
    std::ofstream(directory_ / "bad.json") << text;
    ExpectRefused(Run("report bad.json"), sentence);
    ExpectRefused(Run("report bad.json --csv"), sentence);
    ExpectRefused(Run("compare bad.json run.json"), sentence);
  };
  expect(whole.substr(0, whole.size() / 2), "it is cut off");
  expect("", "it is empty");
  expect("hello", "it is no JSON");
  expect("[1, 2]", "it is JSON of another program");
  expect(R"({"fio version": "fio-3.33", "jobs": []})", "it is JSON of another program");
  expect(R"({"schema": "testbed-results/0"})", "another version of testbed");
  expect(R"({"schema": "testbed-ab/0"})", "of another version of testbed");
  expect(R"({"schema": "testbed-check/1"})", "but not of a run");
  expect(R"({"schema": "testbed-results/1"})", "is damaged");
  for (const char* grade : {"", "Q"}) {
    json document = json::parse(whole);
    document["runs"][0]["accounting"]["grade"] = grade;
    expect(document.dump(), "is damaged");
  }
}

// The file has a hole, and nothing of it is read.
TEST_F(ReportTest, AFileThatIsTooLongGetsASentence) {
  std::ofstream(directory_ / "long.json") << "{";
  std::filesystem::resize_file(directory_ / "long.json", (uint64_t{1} << 30) + 1);
  for (const char* words :
       {"report long.json", "report long.json --csv", "report long.json --series",
        "report long.json --html long.html", "compare long.json long.json"}) {
    ExpectRefused(Run(words), "long.json has more than the 1 GiB that are read; give fewer or ");
  }
  EXPECT_FALSE(std::filesystem::exists(directory_ / "long.html"));
}

}  // namespace
}  // namespace testbed
