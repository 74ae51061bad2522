#include "tools/history/otava.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <sstream>

#include "device/error.h"
#include "device/os/child_process.h"
#include "tools/output/json_text.h"
#include "tools/output/output_file.h"
#include "tools/statistics/metrics.h"

namespace testbed {
namespace {

using nlohmann::json;

// The series of one cell: a file for Otava, with a column for each.
using Cell = std::vector<const HistorySeries*>;

std::vector<Cell> CellsOfSeries(const std::vector<HistorySeries>& series) {
  std::vector<Cell> cells;
  std::map<std::string, size_t> index;
  for (const HistorySeries& s : series) {
    const auto [at, added] = index.emplace(s.title, cells.size());
    if (added) cells.emplace_back();
    cells[at->second].push_back(&s);
  }
  return cells;
}

std::string TestName(size_t cell) { return fmt::format("series{}", cell + 1); }

// Returns the CSV file of a cell: a row for each result, with an empty field for a metric that the
// result lacks. A commit may have several results, so each row has its result's number, too.
std::string CsvOf(const Cell& cell) {
  std::string text = "time,commit,result";
  for (const HistorySeries* series : cell) text += "," + series->metric;
  struct Row {
    const HistoryPoint* point = nullptr;
    std::vector<std::string> values;
  };
  std::map<size_t, Row> rows;
  for (size_t column = 0; column < cell.size(); ++column) {
    for (const HistoryPoint& point : cell[column]->points) {
      Row& row = rows[point.result];
      row.point = &point;
      row.values.resize(cell.size());
      row.values[column] = fmt::format("{:.12g}", point.value.mean);
    }
  }
  for (const auto& [result, row] : rows) {
    text += fmt::format("\n{},{},{}", row.point->started, row.point->commit, result);
    for (const std::string& value : row.values) text += "," + value;
  }
  return text + "\n";
}

// Returns the text with each of these characters twice.
std::string Doubled(const std::string& text, const std::string& characters) {
  std::string doubled;
  for (char c : text) doubled.append(characters.find(c) == std::string::npos ? 1 : 2, c);
  return doubled;
}

// Returns the text in single quotes, as YAML and SQL both read it.
std::string Quoted(const std::string& text) { return "'" + Doubled(text, "'") + "'"; }

// Returns otava.yaml. `source` returns the lines that tell where Otava finds the rows of a cell.
std::string YamlOf(const std::vector<Cell>& cells,
                   const std::function<std::string(size_t cell)>& source) {
  std::string text = "tests:\n";
  for (size_t i = 0; i < cells.size(); ++i) {
    text += fmt::format(
        "  {}:  # {}\n"
        "{}"
        "    time_column: time\n"
        "    attributes: [commit, result]\n"
        "    metrics:\n",
        TestName(i), cells[i][0]->title, source(i));
    for (const HistorySeries* series : cells[i]) {
      text += fmt::format("      {0}: {{column: {0}, direction: {1}}}\n", series->metric,
                          FindMetric(series->metric)->speed ? 1 : -1);
    }
  }
  return text;
}

// Returns the SQL script that puts the results of a branch in place of those of an earlier export.
std::string SqlOf(const std::vector<Cell>& cells, const std::string& branch) {
  std::string text = fmt::format(
      "BEGIN;\n"
      "CREATE TABLE IF NOT EXISTS testbed_history (\n"
      "  branch text, series text, result integer, time timestamptz NOT NULL,\n"
      "  commit text NOT NULL, metric text, value double precision NOT NULL,\n"
      "  forward_change double precision, backward_change double precision,\n"
      "  p_value double precision, PRIMARY KEY (branch, series, result, metric));\n"
      "DELETE FROM testbed_history WHERE branch = {};\n",
      Quoted(branch));
  for (const Cell& cell : cells) {
    for (const HistorySeries* series : cell) {
      for (const HistoryPoint& point : series->points) {
        text += fmt::format(
            "INSERT INTO testbed_history (branch, series, result, time, commit, metric, value)"
            " VALUES ({}, {}, {}, {}, {}, {}, {:.17g});\n",
            Quoted(branch), Quoted(cell[0]->title), point.result, Quoted(point.started),
            Quoted(point.commit), Quoted(series->metric), point.value.mean);
      }
    }
  }
  return text + "COMMIT;\n";
}

// Returns the lines of otava.yaml for a cell whose rows are in the table of SqlOf. Otava 0.8 runs
// only queries that have a parameter, so the branch is the one that its --branch names.
std::string DatabaseSourceOf(const Cell& cell, const std::string& branch) {
  const std::string series_is = " AND series = " + Quoted(cell[0]->title);
  std::string query = "SELECT time, commit, result";
  for (const HistorySeries* series : cell) {
    query += fmt::format(", coalesce(max(value) FILTER (WHERE metric = {}), 'NaN') AS {}",
                         Quoted(series->metric), series->metric);
  }
  query = Doubled(query + " FROM testbed_history WHERE branch = ", "%") + "%{BRANCH}" +
          Doubled(series_is + " GROUP BY time, commit, result ORDER BY result", "%");
  // Otava puts the changes in place of the parameters, and the metric and the attributes of a
  // change point in place of the names in braces. A percent sign and a brace of the text stand
  // twice.
  const std::string update =
      "UPDATE testbed_history SET forward_change = %s, backward_change = %s, p_value = %s WHERE "
      "branch = " +
      Doubled(Quoted(branch) + series_is, "%{}") + " AND metric = '{metric}' AND result = {result}";
  return fmt::format(
      "    type: postgres\n"
      "    query: {}\n"
      "    update_statement: {}\n",
      Quoted(query), Quoted(update));
}

// Returns Otava's report: the lines of its output that are JSON objects, one for each test, merged.
// The other lines are its log.
json ReportOf(const std::string& output) {
  json report = json::object();
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("{")) continue;
    const json of_test = ParseJson(line);
    if (of_test.is_object()) report.update(of_test);
  }
  if (!report.empty()) return report;
  throw Error(Error::kRun, "otava printed no report that can be read: " + output.substr(0, 200));
}

double NumberOf(const json& value) {
  return value.is_string() ? std::strtod(value.get_ref<const std::string&>().c_str(), nullptr)
                           : value.get<double>();
}

void AddChangePoints(const Cell& cell, const json& of_test, std::vector<ChangePoint>* found) {
  for (const json& change_point : of_test) {
    const json& attributes = change_point.at("attributes");
    const std::string commit = attributes.at("commit");
    const auto result = static_cast<size_t>(NumberOf(attributes.at("result")));
    for (const json& change : change_point.at("changes")) {
      const auto series = std::find_if(cell.begin(), cell.end(), [&](const HistorySeries* s) {
        return s->metric == change.at("metric").get_ref<const std::string&>();
      });
      if (series == cell.end()) continue;
      const auto point = std::find_if((*series)->points.begin(), (*series)->points.end(),
                                      [&](const HistoryPoint& p) { return p.result == result; });
      found->push_back({*series, commit, NumberOf(change.at("mean_before")),
                        NumberOf(change.at("mean_after")),
                        static_cast<size_t>(point - (*series)->points.begin())});
    }
  }
}

}  // namespace

std::vector<std::string> WriteOtavaFiles(const std::vector<HistorySeries>& series,
                                         const std::string& directory) {
  const std::vector<Cell> cells = CellsOfSeries(series);
  const std::string absolute = std::filesystem::absolute(directory).string();
  std::vector<std::string> files = {absolute + "/otava.yaml"};
  for (size_t i = 0; i < cells.size(); ++i) {
    files.push_back(fmt::format("{}/{}.csv", absolute, TestName(i)));
    ReplaceFile(files.back(), CsvOf(cells[i]));
  }
  const auto source = [&](size_t cell) {
    return fmt::format(
        "    type: csv\n"
        "    file: {}\n"
        "    csv_options: {{delimiter: ',', quote_char: '\"'}}\n",
        Quoted(files[cell + 1]));
  };
  ReplaceFile(files[0], YamlOf(cells, source));
  return files;
}

std::vector<std::string> WriteOtavaDatabase(const std::vector<HistorySeries>& series,
                                            const std::string& branch,
                                            const std::string& directory) {
  const std::vector<Cell> cells = CellsOfSeries(series);
  const std::string absolute = std::filesystem::absolute(directory).string();
  std::vector<std::string> files = {absolute + "/otava.yaml", absolute + "/history.sql"};
  ReplaceFile(files[1], SqlOf(cells, branch));
  ReplaceFile(files[0],
              YamlOf(cells, [&](size_t cell) { return DatabaseSourceOf(cells[cell], branch); }));
  return files;
}

std::vector<ChangePoint> FindChangePoints(const std::vector<HistorySeries>& series,
                                          const std::string& otava, const std::string& directory) {
  const std::vector<Cell> cells = CellsOfSeries(series);
  std::vector<std::string> command = {otava, "analyze"};
  for (size_t i = 0; i < cells.size(); ++i) command.push_back(TestName(i));
  for (const char* word : {"--output", "json", "--since", "2000-01-01", "--config-file"}) {
    command.push_back(word);
  }
  command.push_back(std::filesystem::absolute(directory).string() + "/otava.yaml");
  const json report = ReportOf(RunProgram(command));
  std::vector<ChangePoint> found;
  try {
    for (size_t i = 0; i < cells.size(); ++i) {
      if (report.contains(TestName(i))) AddChangePoints(cells[i], report.at(TestName(i)), &found);
    }
  } catch (const json::exception& e) {
    throw Error(Error::kRun,
                "otava's report has another form than version 0.8 gave it: " + JsonErrorText(e));
  }
  return found;
}

}  // namespace testbed
