#include "tools/report/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "device/error.h"
#include "tools/command/command_words.h"
#include "tools/database/database_rows.h"
#include "tools/output/json_text.h"
#include "tools/report/figures.h"
#include "tools/report/foreign_cpu.h"
#include "tools/report/remarks.h"
#include "tools/statistics/corrections.h"
#include "tools/statistics/document_cells.h"
#include "tools/statistics/metrics.h"
#include "tools/statistics/sentence.h"

namespace testbed {
namespace {

using nlohmann::json;

// Returns the loads that are pairs in the comparison of a metric (LoadsOfSameSeeds); none when too
// few loads have a partner. A load that failed on one side leaves the others pairs.
std::map<int, int> PairsFor(const Metric& metric, const DocumentCell& first,
                            const DocumentCell& second) {
  if (!metric.counted) return {};
  std::map<int, int> pairs = LoadsOfSameSeeds(first, second);
  const size_t most = std::max(first.seeds.size(), second.seeds.size());
  if (pairs.size() < size_t{kLeastLoads} || 2 * pairs.size() < most) pairs.clear();
  return pairs;
}

// Compares a metric of a cell; nothing when a side lacks it.
std::optional<Answer> CompareMetric(const DocumentCell& first, const DocumentCell& second,
                                    const Metric& metric, double margin) {
  const auto a = first.samples.find(metric.name), b = second.samples.find(metric.name);
  if (a == first.samples.end() || b == second.samples.end()) return std::nullopt;
  const std::map<int, int> pairs = PairsFor(metric, first, second);
  std::vector<Sample> samples = a->second;
  for (Sample sample : b->second) {
    const auto pair = pairs.find(sample.load);
    if (!pairs.empty() && pair == pairs.end()) continue;
    if (!pairs.empty()) sample.load = pair->second;
    sample.side = kB;
    samples.push_back(sample);
  }
  CompareOptions options;
  options.margin = margin;
  options.resolution = metric.resolution;
  options.grain = metric.grain;
  options.pairing = pairs.empty() ? Pairing::kNone : Pairing::kLoads;
  return Compare(samples, options);
}

// Returns whether each run of both cells had enough operations for the metric, where it is a
// percentile.
bool HadEnough(const DocumentCell& first, const DocumentCell& second, const std::string& metric) {
  const double share = PercentileShare(metric);
  return share == 0 ||
         TellsPercentile(std::min(first.LeastOperations(metric), second.LeastOperations(metric)),
                         share);
}

// Judges a condition in every cell, at a level corrected for the number of cells and conditions
// (JudgeOneOf). In the cells `lack`, where a side has no value of the metric, the condition cannot
// be told; when no cell has the metric on both sides, they are left out.
JudgedCondition JudgeCondition(const Condition& condition, const std::vector<ComparedRow>& rows,
                               const std::vector<std::string>& lack, size_t conditions,
                               bool comparable) {
  JudgedCondition judged{condition, Judgement::kUnknown, {}};
  std::map<Judgement, std::vector<std::string>> cells;
  if (!rows.empty()) cells[Judgement::kUnknown] = lack;
  for (const ComparedRow& row : rows) {
    const Judgement in_cell = comparable
                                  ? JudgeOneOf(rows.size() * conditions, condition, row.answer)
                                  : Judgement::kUnknown;
    cells[in_cell].push_back(row.cell);
  }
  for (Judgement judgement : {Judgement::kHolds, Judgement::kUnknown, Judgement::kDoesNotHold}) {
    if (cells[judgement].empty()) continue;
    judged.judgement = judgement;
    judged.cells = cells[judgement];
    break;
  }
  return judged;
}

// Returns the words of a run on a loaded database with those that load it: its loader, and the
// settings that the run had from the record of the database. When `words` give a --workload, it
// loads nothing; without --workload a run loads by itself.
std::vector<std::string> WithLoad(const json& document, const std::string& loader,
                                  std::vector<std::string> words) {
  json record = document.value("options", json::object());
  if (record.contains("release")) {
    record["engine"] = FigureText(record, "/engine") + "@" + FigureText(record, "/release");
  }
  record["workload_option"] = record.value("workload_options", json());
  // options.value_size is all fields together, and --value-size takes FIELDSxSIZE.
  const double fields = Number(record, "/fields", 1), size = Number(record, "/value_size", 0);
  if (fields > 1) record["value_size"] = fmt::format("{:.0f}x{:.0f}", fields, size / fields);
  const std::string keys = record.value("keys", std::string());
  record["keys"] = keys.empty() ? json() : json{{"name", keys}};
  for (std::string& word : WordsOfRecord(record, words)) words.push_back(std::move(word));
  const std::string workloads = ValueGiven(words, "--workload");
  if (workloads.empty()) return words;
  words = WithoutOption(words, "--workload");
  words.insert(words.end(), {"--workload", loader + "," + workloads});
  return words;
}

// Returns what would measure a document's settings anew in several loads. That is a command, but a
// phrase in words for an experiment, which has rounds instead, for a run of several tasks, and for
// a document that does not tell what loaded its database.
std::string CommandForLoads(const json& document) {
  if (Number(document, "/options/tasks", 1) > 1) {
    return "there is none, because a run of several tasks (--task) has one load and takes no "
           "--repeat";
  }
  std::vector<std::string> words = document.value("command", std::vector<std::string>());
  if (words.empty() || words[0] == "experiment") {
    return "the experiment with --rounds 5";
  }
  // --dir, --reuse and --fresh are left out: runs on that directory's database would all be on one
  // load, or would replace the database.
  const bool reuses = Gives(words, "--reuse");
  std::erase_if(words, [](const std::string& word) {
    return Gives({word}, "--reuse") || Gives({word}, "--fresh");
  });
  for (const char* option :
       {"--dir", "--json", "--csv", "--csv-series", "--record", "--repeat", "--repeat-runs"}) {
    words = WithoutOption(words, option);
  }
  if (reuses) {
    const std::string loader = LoaderOf(document);
    if (loader.empty()) {
      return "runs that load the database anew (--repeat 5): these results do not tell which "
             "workload loaded it";
    }
    words = WithLoad(document, loader, std::move(words));
  }
  return fmt::format("testbed {} --repeat 5 --json FILE", ShellLine(words));
}

// Returns the names as a list; of many the first ones.
std::string SomeCells(const std::vector<std::string>& cells) {
  if (cells.size() <= kMostSentences) return fmt::format("{}", fmt::join(cells, "; "));
  const auto end = cells.begin() + kMostSentences;
  return fmt::format("{}; and {} more", fmt::join(cells.begin(), end, "; "), cells.end() - end);
}

std::string ConditionLine(const JudgedCondition& judged) {
  const bool named = judged.judgement != Judgement::kDoesNotHold && !judged.cells.empty();
  return fmt::format("{}: {}{}{}\n", ConditionText(judged.condition),
                     JudgementWords(judged.judgement), named ? " in " : "",
                     named ? SomeCells(judged.cells) : "");
}

// Returns a sentence for the rate of each cell; of many cells their count, and sentences for the
// rates that differ.
std::string AnswerLines(const CellComparison& comparison) {
  const bool many = comparison.cells > kMostSentences;
  std::map<Outcome, int> counts;
  std::string text;
  for (const ComparedRow& row : comparison.rows) {
    if (row.metric != "rate") continue;
    const Outcome outcome = row.answer.outcome;
    ++counts[outcome];
    if (many && outcome != Outcome::kLess && outcome != Outcome::kMore) continue;
    text += fmt::format("{}: {}\n", row.cell,
                        Sentence(row.answer, *FindMetric(row.metric), "the second"));
  }
  if (!many || counts.empty()) return text;
  return fmt::format(
             "{} cells: the second is faster in {} and slower in {}; {} are the same, and {} "
             "cannot be told\n",
             comparison.cells, counts[Outcome::kMore], counts[Outcome::kLess],
             counts[Outcome::kSame], counts[Outcome::kUnknown]) +
         text;
}

// Returns lines about a metric that a side lacks; `cells` is the number of common cells.
std::string LackedLines(const LackedMetric& lacked, size_t cells) {
  if (lacked.in_first + lacked.in_second == 0) {
    return fmt::format("{} was measured on neither side\n", lacked.metric);
  }
  std::string text;
  for (const auto& [which, n] :
       {std::pair("first", lacked.in_first), std::pair("second", lacked.in_second)}) {
    if (n == 0) continue;
    text += fmt::format("{} was measured on the {} side alone in {} of {}\n", lacked.metric, which,
                        n, Counted(cells, "cell"));
  }
  return text;
}

// Returns what is told of a row in the table.
std::string ToldText(const ComparedRow& row, const CompareTerms& terms) {
  if (!terms.same_machine()) return "machines differ";
  return terms.comparable() ? OutcomeText(row.answer, *FindMetric(row.metric))
                            : "settings were refused";
}

// Returns a line about the runs that failed; "" when none did. Such a run tells of the phases that
// it had finished, and its load may be missing among those that are compared.
std::string FailedRunsLine(const json& document) {
  size_t failed = 0;
  std::string why;
  const json& runs = document.at("runs");
  for (const json& run : runs) {
    if (run.contains("error") && ++failed == 1) why = FigureText(run, "/error/sentence");
  }
  if (failed == 0) return "";
  return fmt::format("! {} of {} failed, so the figures are of what was finished: {}\n", failed,
                     Counted(runs.size(), "run"), why);
}

ComparedSide SideOf(const json& document) {
  return {DisturbancesOf(document), CommandForLoads(document)};
}

json DifferencesJson(const CompareTerms& terms) {
  json all = json::array();
  for (const auto& [kind, differences] :
       {std::pair("version", &terms.versions), std::pair("setting", &terms.settings),
        std::pair("machine", &terms.machines), std::pair("host", &terms.hosts),
        std::pair("in force", &terms.refused)}) {
    for (const Difference& d : *differences) {
      all.push_back({{"kind", kind},
                     {"name", d.name},
                     {"first", d.first},
                     {"second", d.second},
                     {"cells", d.cells}});
    }
  }
  return all;
}

json RowJson(const ComparedRow& row, const CompareTerms& terms) {
  json j = EffectJson(row.answer);
  j.update({{"cell", row.cell},
            {"metric", row.metric},
            {"answer", ToldText(row, terms)},
            {"first", FiniteJson(row.answer.a)},
            {"second", FiniteJson(row.answer.b)},
            {"p", row.answer.p},
            {"loads_first", row.answer.loads_a},
            {"loads_second", row.answer.loads_b}});
  return j;
}

}  // namespace

const std::vector<std::string>& DefaultCompareMetrics() {
  static const auto* metrics =
      new std::vector<std::string>({"rate", "p99", "intended_p99", "cpu_us", "engine_asks",
                                    "engine_misses", "device_reads", "device_write_bytes", "size"});
  return *metrics;
}

std::vector<std::string> DisturbancesOf(const json& document) {
  std::vector<std::string> lines = {FailedRunsLine(document), ForeignCpuLine(document),
                                    StealLine(document), EndedEarlyLine(document)};
  std::erase(lines, "");
  return lines;
}

CellComparison CompareCells(const std::vector<DocumentCell>& first,
                            const std::vector<DocumentCell>& second, CompareTerms terms,
                            const CompareSettings& settings) {
  CellComparison comparison;
  comparison.terms = std::move(terms);
  std::map<std::string, const DocumentCell*> others;
  for (const DocumentCell& cell : second) others.emplace(cell.name, &cell);
  std::map<std::string, std::vector<ComparedRow>> uncorrected;  // by metric
  const std::vector<std::string>& shown =
      settings.metrics.empty() ? DefaultCompareMetrics() : settings.metrics;
  std::vector<Answer> answers;
  std::set<std::string> names;
  for (const DocumentCell& cell : first) {
    names.insert(cell.name);
    const auto other = others.find(cell.name);
    if (other == others.end()) {
      comparison.only_first.push_back(cell.name);
      continue;
    }
    ++comparison.cells;
    for (const Metric& metric : Metrics()) {
      const std::optional<Answer> answer =
          CompareMetric(cell, *other->second, metric, settings.margin);
      if (!answer) continue;
      uncorrected[metric.name].push_back({cell.name, metric.name, *answer});
      if (!cell.operation.empty()) {
        // A condition such as "update.p99 > 10%" is judged in the cells of that kind alone.
        const std::string of_kind = cell.operation + "." + metric.name;
        uncorrected[of_kind].push_back(uncorrected[metric.name].back());
      }
      // A metric that is 0 on both sides would fill the table and say nothing.
      if (answer->a == 0 && answer->b == 0) continue;
      if (std::find(shown.begin(), shown.end(), metric.name) == shown.end()) continue;
      if (!HadEnough(cell, *other->second, metric.name)) ++comparison.few_operations[metric.name];
      comparison.rows.push_back(uncorrected[metric.name].back());
      answers.push_back(*answer);
    }
  }
  for (const DocumentCell& cell : second) {
    if (!names.contains(cell.name)) comparison.only_second.push_back(cell.name);
  }
  comparison.lacked = LackedMetrics(first, second, shown);
  if (settings.metrics.empty() || settings.metrics.size() == Metrics().size()) {
    std::erase_if(comparison.lacked,
                  [](const LackedMetric& l) { return l.in_first + l.in_second == 0; });
  }
  comparison.measured = std::any_of(shown.begin(), shown.end(),
                                    [&](const auto& name) { return uncorrected.contains(name); });
  ControlFalseDiscoveries(answers);
  for (size_t i = 0; i < answers.size(); ++i) comparison.rows[i].answer = answers[i];
  for (const Condition& condition : settings.fail_if) {
    comparison.conditions.push_back(
        JudgeCondition(condition, uncorrected[condition.metric],
                       CellsWithMetricOfOne(first, second, condition.metric),
                       settings.fail_if.size(), comparison.terms.comparable()));
  }
  return comparison;
}

CellComparison CompareDocuments(const json& first, const json& second,
                                const CompareSettings& settings) {
  CellComparison comparison =
      CompareCells(CellsOf(first), CellsOf(second), TermsOf(first, second), settings);
  comparison.first = SideOf(first);
  comparison.second = SideOf(second);
  return comparison;
}

void CheckCompared(const CellComparison& comparison, const std::string& first_file,
                   const std::string& second_file) {
  if (comparison.cells == 0) {
    const auto list = [](const std::vector<std::string>& cells) {
      return cells.empty() ? std::string("nothing") : fmt::format("{}", fmt::join(cells, "; "));
    };
    throw Error(
        Error::kUsage,
        fmt::format("{} and {} have no phase in common: the first measured {}, the second {}",
                    first_file, second_file, list(comparison.only_first),
                    list(comparison.only_second)));
  }
  if (!comparison.measured && comparison.conditions.empty()) {
    std::vector<std::string> names;
    for (const LackedMetric& metric : comparison.lacked) names.push_back(metric.metric);
    throw Error(Error::kUsage, fmt::format("{} and {} have no phase in which both measured {}",
                                           first_file, second_file, fmt::join(names, " or ")));
  }
  for (const JudgedCondition& judged : comparison.conditions) {
    if (!judged.cells.empty()) continue;
    throw Error(Error::kUsage,
                fmt::format("--fail-if '{}' cannot be judged: {} was not measured in "
                            "a phase of both {} and {}",
                            ConditionText(judged.condition), judged.condition.metric, first_file,
                            second_file));
  }
}

std::vector<RateSentence> RateSentences(const CellComparison& comparison) {
  std::vector<RateSentence> sentences;
  for (const ComparedRow& row : comparison.rows) {
    if (row.metric != "rate") continue;
    const std::string answer = Sentence(row.answer, *FindMetric(row.metric), "the second");
    sentences.push_back({fmt::format("{}: {}", row.cell, answer), row.answer.told()});
  }
  return sentences;
}

std::string LackingLoadsText(const CellComparison& comparison) {
  const auto few = [&](int Answer::*loads) {
    return std::any_of(comparison.rows.begin(), comparison.rows.end(), [&](const ComparedRow& row) {
      return row.answer.reason == Reason::kFewLoads && row.answer.*loads < kLeastLoads;
    });
  };
  std::string text;
  if (few(&Answer::loads_a)) text += "  first: " + comparison.first.more_loads + "\n";
  if (few(&Answer::loads_b)) text += "  second: " + comparison.second.more_loads + "\n";
  if (text.empty()) return "";
  return fmt::format(
      "Loads differ more than the runs on one load do, so an answer needs at least {} loads of "
      "each side. Commands that make them:\n{}",
      kLeastLoads, text);
}

Table ComparisonTable(const CellComparison& comparison) {
  Table table(
      "Second against first, by their loads",
      {"phase", "metric", "first", "second", "change (interval)", "answer", "loads", "more loads"});
  for (const ComparedRow& row : comparison.rows) {
    const Answer& answer = row.answer;
    const CompareTerms& terms = comparison.terms;
    const bool ask = terms.comparable() && !answer.told();
    table.Row({row.cell, row.metric, Short(answer.a), Short(answer.b), EffectText(answer),
               ToldText(row, terms), fmt::format("{}, {}", answer.loads_a, answer.loads_b),
               !ask          ? ""
               : answer.more ? fmt::format("{}", answer.more->loads)
                             : "-"});
  }
  return table;
}

std::string CircumstancesText(const CellComparison& comparison) {
  std::string text;
  for (const auto& [which, side] :
       {std::pair("first", &comparison.first), std::pair("second", &comparison.second)}) {
    for (const std::string& line : side->disturbances) text += fmt::format("{}: {}", which, line);
  }
  for (const auto& [metric, rows] : comparison.few_operations) {
    text += fmt::format(
        "{}: in {} of the rows a run had too few operations for such a percentile, which then "
        "rises with their number\n",
        metric, rows);
  }
  for (const LackedMetric& lacked : comparison.lacked)
    text += LackedLines(lacked, comparison.cells);
  return text + TermsText(comparison.terms);
}

std::string ComparisonText(const CellComparison& comparison) {
  std::string text = CircumstancesText(comparison);
  if (!text.empty()) text += "\n";
  if (comparison.terms.comparable()) text += AnswerLines(comparison) + "\n";
  text += ComparisonTable(comparison).Text();
  for (const auto& [which, cells] :
       {std::pair("first", &comparison.only_first), std::pair("second", &comparison.only_second)}) {
    if (!cells->empty()) text += fmt::format("only in the {}: {}\n", which, SomeCells(*cells));
  }
  for (const JudgedCondition& judged : comparison.conditions) text += ConditionLine(judged);
  return text + LackingLoadsText(comparison);
}

json ComparisonJson(const CellComparison& comparison, const std::string& first_file,
                    const std::string& second_file) {
  json answers = json::array(), conditions = json::array(), lacked = json::array();
  for (const ComparedRow& row : comparison.rows) {
    answers.push_back(RowJson(row, comparison.terms));
  }
  for (const LackedMetric& l : comparison.lacked) {
    lacked.push_back(
        {{"metric", l.metric}, {"only_first", l.in_first}, {"only_second", l.in_second}});
  }
  for (const JudgedCondition& judged : comparison.conditions) {
    conditions.push_back({{"condition", ConditionText(judged.condition)},
                          {"judgement", JudgementWords(judged.judgement)},
                          {"cells", judged.cells}});
  }
  return {{"schema", "testbed-compare/1"},
          {"testbed", TESTBED_VERSION},
          {"first", first_file},
          {"second", second_file},
          {"comparable", comparison.terms.comparable()},
          {"differences", DifferencesJson(comparison.terms)},
          {"cells", comparison.cells},
          {"answers", std::move(answers)},
          {"only_first", comparison.only_first},
          {"only_second", comparison.only_second},
          {"lacked", std::move(lacked)},
          {"conditions", std::move(conditions)},
          {"exit_code", CompareExitCode(comparison)}};
}

int CompareExitCode(const CellComparison& comparison) {
  const auto any = [&](Judgement judgement) {
    return std::any_of(comparison.conditions.begin(), comparison.conditions.end(),
                       [&](const JudgedCondition& j) { return j.judgement == judgement; });
  };
  if (any(Judgement::kHolds)) return kCompareConditionHolds;
  return any(Judgement::kUnknown) ? kCompareConditionUnknown : 0;
}

}  // namespace testbed
