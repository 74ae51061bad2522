// Tests that the CSV of a run is data: a parser reads it back, and its figures are the document's.
#include <algorithm>
#include <string>
#include <vector>

#include "tests/cli/command.h"
#include "tests/cli/results/csv_records.h"

namespace testbed {
namespace {

using nlohmann::json;
using CsvTest = CommandTest;

int ExpectFigure(const Record& record, const std::string& column, const json& value) {
  EXPECT_TRUE(record.contains(column)) << column;
  if (!record.contains(column)) return 0;
  if (value.is_null()) {
    EXPECT_EQ(record.at(column), "") << column;
  } else if (value.is_number()) {
    EXPECT_EQ(std::stod(record.at(column)), value.get<double>()) << column;
  } else {
    EXPECT_EQ(record.at(column), value.is_string() ? value.get<std::string>() : value.dump());
  }
  return 1;
}

// Compares the figures of an operation. Returns the number of figures compared.
int ExpectOperation(const Record& record, const json& operation, const json& phase) {
  int compared = 0;
  for (const char* figure : {"count", "rate"}) {
    compared += ExpectFigure(record, figure, operation[figure]);
  }
  for (const auto& [name, value] : operation["latency_us"].items()) {
    compared += ExpectFigure(record, "latency_us_" + name, value);
  }
  for (const json& cause : phase["account"]["causes"]) {
    if (cause["name"] != operation["name"]) continue;
    for (const auto& [name, value] : cause["file"].items()) {
      compared += ExpectFigure(record, "file_" + name, value);
    }
  }
  return compared;
}

TEST_F(CsvTest, EveryFigureReadsBackAsTheDocuments) {
  const std::string label = "a \"name\", with commas\nand lines";
  const CommandResult result = Run(
      "--engine btree --ram 64M --rows 3000 --seconds 1.2 --warmup 0.2 --threads 1,2 --quiet "
      "--workload insert,mixed --mix point-read=70,update=20,scan=10 --json run.json --csv run.csv "
      "--csv-series series.csv --label '" +
      label + "'");
  ASSERT_EQ(result.code, 0) << result.err;
  const json document = Json("run.json");
  const std::vector<Record> records = ParseCsv(Read(directory_ / "run.csv"));
  size_t next = 0, seconds = 0;
  int compared = 0;
  for (size_t r = 0; r < document["runs"].size(); ++r) {
    for (const json& phase : document["runs"][r]["phases"]) {
      seconds += phase.value("series", json::array()).size();
      const json operations = phase.value("operations", json::array());
      for (size_t o = 0; o < std::max<size_t>(1, operations.size()); ++o) {
        ASSERT_LT(next, records.size());
        const Record& record = records[next++];
        EXPECT_EQ(record.at("run"), std::to_string(r));
        EXPECT_EQ(record.at("phase"), phase["name"].get<std::string>());
        EXPECT_EQ(record.at("label"), label);
        EXPECT_EQ(record.at("operation"),
                  operations.empty() ? "" : operations[o]["name"].get<std::string>());
        if (!operations.empty()) compared += ExpectOperation(record, operations[o], phase);
        compared += ExpectFigure(record, "phase_seconds", phase["seconds"]);
        compared += ExpectFigure(record, "phase_database_bytes", phase["database_bytes"]);
        compared +=
            ExpectFigure(record, "phase_cpu_user_seconds", phase["account"]["cpu_user_seconds"]);
        compared += ExpectFigure(record, "threads", document["runs"][r]["threads"]);
        compared +=
            ExpectFigure(record, "engine_version", document["runs"][r]["engine"]["version"]);
        compared += ExpectFigure(record, "machine_kernel", document["machine"]["kernel"]);
        for (const char* option : {"ram", "rows", "page_size", "seed", "zipf_theta"}) {
          compared +=
              ExpectFigure(record, std::string("option_") + option, document["options"][option]);
        }
      }
    }
  }
  EXPECT_EQ(next, records.size()) << "a row for each run, phase and operation, and no other";
  EXPECT_GT(compared, 200);
  const std::vector<Record> series = ParseCsv(Read(directory_ / "series.csv"));
  EXPECT_EQ(series.size(), seconds);
  double operations = 0;
  for (const Record& second : series) {
    const std::string& cell = second.at("operations");
    if (!cell.empty()) operations += std::stod(cell);
  }
  EXPECT_GT(operations, 0);
  EXPECT_EQ(Run("report run.json --csv").out, Read(directory_ / "run.csv"));
  EXPECT_EQ(Run("report run.json --csv-series").out, Read(directory_ / "series.csv"));
  const size_t twice = ParseCsv(Run("report run.json run.json --csv").out).size();
  EXPECT_EQ(twice, 2 * records.size()) << "several files have one header";
}

// Earlier versions had the delays of operations, and some figures of the memory, only in the JSON
// document.
TEST_F(CsvTest, WaitsAndMemoryHaveColumns) {
  const CommandResult result =
      Run("--engine btree --ram 64M --rows 1000 --threads 1 --quiet --json run.json --workload "
          "'insert, point-read 400ms @ 500'");
  ASSERT_EQ(result.code, 0) << result.err;
  json phase = Json("run.json")["runs"].back()["phases"].back();
  ASSERT_EQ(phase["name"], "point-read");
  const Record record = ParseCsv(Run("report run.json --csv").out).back();
  ASSERT_TRUE(phase.contains("lateness_us"));
  for (const std::string figure : {"mean", "p50", "p99", "max"}) {
    ExpectFigure(record, "phase_lateness_us_" + figure, phase["lateness_us"][figure]);
  }
  ExpectFigure(record, "latency_from_intended_us_count",
               phase["operations"][0]["latency_from_intended_us"]["count"]);
  ExpectFigure(record, "phase_context_switches", phase["account"]["context_switches"]);
  // Only root has a budget in force.
  const json memory = phase.value("memory", json::object());
  for (const std::string figure :
       {"own_mean", "own_most", "page_cache_mean", "dirty", "limit_hits", "shortages"}) {
    ExpectFigure(record, "phase_memory_" + figure, memory.value(figure, json()));
  }
}

// Settings of the document that this program does not know must not move the columns.
TEST_F(CsvTest, DocumentsOfOtherVersionsHaveTheSameColumns) {
  ASSERT_EQ(Run("--engine null --ram 64M --rows 1000 --seconds 0.2 --warmup 0 --quiet --json "
                "run.json")
                .code,
            0);
  const std::string header = Run("report run.json --csv").out;
  json document = Json("run.json");
  document["options"].erase("seed");
  document["options"]["new_option"] = 7;
  document.erase("build");
  std::ofstream(directory_ / "other.json") << document.dump();
  const std::string other = Run("report other.json --csv").out;
  EXPECT_EQ(other.substr(0, other.find('\n')), header.substr(0, header.find('\n')));
  EXPECT_EQ(ParseCsv(other).at(0).at("option_seed"), "");
}

// Once, the rows of a run that failed after its phases looked like those of any other run.
TEST_F(CsvTest, RowsTellThatTheirRunFailed) {
  ASSERT_EQ(Run("--engine null --ram 64M --rows 500 --operations 100 --threads 1,2 --account off "
                "--quiet --json run.json")
                .code,
            0);
  json document = Json("run.json");
  document["runs"].back()["error"] = {{"sentence", "rows are missing"}, {"exit_code", 1}};
  std::ofstream(directory_ / "run.json") << document;
  const CommandResult result = Run("report run.json --csv");
  ASSERT_EQ(result.code, 0) << result.err;
  const std::string last = std::to_string(document["runs"].size() - 1);
  for (const Record& record : ParseCsv(result.out)) {
    EXPECT_EQ(record.at("error_sentence"), record.at("run") == last ? "rows are missing" : "");
  }
}

// Once, a run that failed before the end of its first phase was in no row.
TEST_F(CsvTest, ARunWithoutAPhaseHasARow) {
  ASSERT_EQ(Run("--engine null --ram 64M --rows 500 --operations 100 --threads 2 --account off "
                "--quiet --json run.json")
                .code,
            0);
  json document = Json("run.json");
  const size_t rows = ParseCsv(Run("report run.json --csv").out).size();
  const size_t seconds = ParseCsv(Run("report run.json --csv-series").out).size();
  document["runs"].push_back({{"threads", 3},
                              {"repeat", 1},
                              {"phases", json::array()},
                              {"partial", true},
                              {"error", {{"sentence", "the disk is gone"}, {"exit_code", 2}}}});
  std::ofstream(directory_ / "run.json") << document;
  const CommandResult result = Run("report run.json --csv");
  ASSERT_EQ(result.code, 0) << result.err;
  const std::vector<Record> records = ParseCsv(result.out);
  ASSERT_EQ(records.size(), rows + 1);
  const Record& failed = records.back();
  EXPECT_EQ(failed.at("error_sentence"), "the disk is gone");
  EXPECT_EQ(failed.at("run"), std::to_string(document["runs"].size() - 1));
  EXPECT_EQ(failed.at("threads"), "3");
  EXPECT_EQ(failed.at("option_rows"), "500");
  for (const char* of_phase : {"phase_index", "phase", "kind", "count", "phase_seconds",
                               "phase_own_reads", "phase_other_programs_reads"}) {
    EXPECT_EQ(failed.at(of_phase), "") << of_phase;
  }
  EXPECT_EQ(ParseCsv(Run("report run.json --csv-series").out).size(), seconds);
}

}  // namespace
}  // namespace testbed
