#include "tools/report/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "device/error.h"
#include "tools/command/command_words.h"
#include "tools/report/foreign_cpu.h"
#include "tools/statistics/corrections.h"
#include "tools/statistics/document_cells.h"
#include "tools/statistics/metrics.h"
#include "tools/statistics/sentence.h"

namespace testbed {
namespace {

using nlohmann::json;

const DocumentCell* Find(const std::vector<DocumentCell>& cells, const std::string& name) {
  const auto found = std::find_if(cells.begin(), cells.end(),
                                  [&](const DocumentCell& cell) { return cell.name == name; });
  return found == cells.end() ? nullptr : &*found;
}

// Compares a metric of a cell; nothing when a document lacks it.
std::optional<Answer> CompareMetric(const DocumentCell& first, const DocumentCell& second,
                                    const Metric& metric, double margin, bool same_seeds) {
  const auto a = first.samples.find(metric.name), b = second.samples.find(metric.name);
  if (a == first.samples.end() || b == second.samples.end()) return std::nullopt;
  std::vector<Sample> samples = a->second;
  for (Sample sample : b->second) {
    sample.side = kB;
    samples.push_back(sample);
  }
  CompareOptions options;
  options.margin = margin;
  options.resolution = metric.resolution;
  options.pairing = same_seeds && metric.counted ? Pairing::kLoads : Pairing::kNone;
  return Compare(samples, options);
}

// Judges a condition in all cells. Each is judged at alpha divided by their number, so that the
// condition is said to hold somewhere by mistake in at most alpha of comparisons (Bonferroni).
JudgedCondition JudgeCondition(const Condition& condition, const std::vector<ComparedRow>& rows,
                               bool comparable) {
  JudgedCondition judged{condition, Judgement::kUnknown, {}};
  std::map<Judgement, std::vector<std::string>> cells;
  for (const ComparedRow& row : rows) {
    Answer answer = row.answer;
    answer.alpha /= static_cast<double>(rows.size());
    cells[comparable ? Judge(condition, answer) : Judgement::kUnknown].push_back(row.cell);
  }
  for (Judgement judgement : {Judgement::kHolds, Judgement::kUnknown, Judgement::kDoesNotHold}) {
    if (cells[judgement].empty()) continue;
    judged.judgement = judgement;
    judged.cells = cells[judgement];
    break;
  }
  return judged;
}

// Returns the command that would measure a document's settings anew in several loads; for
// experiments, which have rounds instead, what to do in words.
std::string CommandForLoads(const json& document, const std::string& name) {
  const std::vector<std::string> words = document.value("command", std::vector<std::string>());
  if (words.empty() || words[0] == "experiment") {
    return fmt::format("{}: the experiment with --rounds 5", name);
  }
  // With --reuse all runs would be on one load.
  std::vector<std::string> command = words;
  std::erase_if(command, [](const std::string& word) {
    return word == "--reuse" || word.starts_with("--reuse=");
  });
  for (const char* option : {"--json", "--csv", "--repeat"}) {
    command = WithoutOption(command, option);
  }
  return fmt::format("{}: testbed {} --repeat 5 --json FILE", name, ShellLine(command));
}

std::string ConditionLine(const JudgedCondition& judged) {
  const std::string condition = ConditionText(judged.condition);
  switch (judged.judgement) {
    case Judgement::kHolds:
      return fmt::format("{}: holds in {}\n", condition, fmt::join(judged.cells, "; "));
    case Judgement::kDoesNotHold:
      return fmt::format("{}: does not hold\n", condition);
    case Judgement::kUnknown:
      break;
  }
  return fmt::format("{}: cannot be told{}{}\n", condition, judged.cells.empty() ? "" : " in ",
                     fmt::join(judged.cells, "; "));
}

}  // namespace

const std::vector<std::string>& DefaultCompareMetrics() {
  static const auto* metrics =
      new std::vector<std::string>({"rate", "p99", "cpu_us", "engine_asks", "engine_misses",
                                    "device_reads", "device_write_bytes", "size"});
  return *metrics;
}

DocumentComparison CompareDocuments(const json& first, const json& second,
                                    const CompareSettings& settings) {
  DocumentComparison comparison;
  comparison.terms = TermsOf(first, second);
  const std::vector<DocumentCell> firsts = CellsOf(first), seconds = CellsOf(second);
  std::map<std::string, std::vector<ComparedRow>> uncorrected;  // by metric
  const std::vector<std::string>& shown =
      settings.metrics.empty() ? DefaultCompareMetrics() : settings.metrics;
  const bool same_seeds = SameSeeds(first, second);
  std::vector<Answer> answers;
  for (const DocumentCell& cell : firsts) {
    const DocumentCell* other = Find(seconds, cell.name);
    if (other == nullptr) {
      comparison.only_first.push_back(cell.name);
      continue;
    }
    ++comparison.cells;
    for (const Metric& metric : Metrics()) {
      const std::optional<Answer> answer =
          CompareMetric(cell, *other, metric, settings.margin, same_seeds);
      if (!answer) continue;
      uncorrected[metric.name].push_back({cell.name, metric.name, *answer});
      if (!cell.operation.empty()) {
        // A condition such as "update.p99 > 10%" is judged in the cells of that kind alone.
        const std::string of_kind = cell.operation + "." + metric.name;
        uncorrected[of_kind].push_back(uncorrected[metric.name].back());
      }
      // A count that is 0 throughout would fill the table and say nothing.
      if (answer->a == 0 && answer->b == 0) continue;
      if (std::find(shown.begin(), shown.end(), metric.name) == shown.end()) continue;
      comparison.rows.push_back(uncorrected[metric.name].back());
      answers.push_back(*answer);
    }
  }
  for (const DocumentCell& cell : seconds) {
    if (Find(firsts, cell.name) == nullptr) comparison.only_second.push_back(cell.name);
  }
  ControlFalseDiscoveries(answers);
  for (size_t i = 0; i < answers.size(); ++i) comparison.rows[i].answer = answers[i];
  for (const Condition& condition : settings.fail_if) {
    comparison.conditions.push_back(
        JudgeCondition(condition, uncorrected[condition.metric], comparison.terms.comparable()));
  }
  return comparison;
}

void CheckCompared(const DocumentComparison& comparison, const std::string& first_file,
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
  for (const JudgedCondition& judged : comparison.conditions) {
    if (!judged.cells.empty()) continue;
    throw Error(Error::kUsage,
                fmt::format("--fail-if '{}' cannot be judged: {} was not measured in "
                            "a phase of both {} and {}",
                            ConditionText(judged.condition), judged.condition.metric, first_file,
                            second_file));
  }
}

std::vector<RateSentence> RateSentences(const DocumentComparison& comparison) {
  std::vector<RateSentence> sentences;
  for (const ComparedRow& row : comparison.rows) {
    if (row.metric != "rate") continue;
    const std::string answer = Sentence(row.answer, *FindMetric(row.metric), "the second");
    sentences.push_back({fmt::format("{}: {}", row.cell, answer), row.answer.told()});
  }
  return sentences;
}

std::string LackingLoadsText(const json& first, const json& second,
                             const DocumentComparison& comparison) {
  const std::vector<ComparedRow>& rows = comparison.rows;
  const auto few = [&](int Answer::*loads) {
    return std::any_of(rows.begin(), rows.end(), [&](const ComparedRow& row) {
      return row.answer.reason == Reason::kFewLoads && row.answer.*loads < kLeastLoads;
    });
  };
  std::string text;
  if (few(&Answer::loads_a)) text += "  " + CommandForLoads(first, "first") + "\n";
  if (few(&Answer::loads_b)) text += "  " + CommandForLoads(second, "second") + "\n";
  if (text.empty()) return "";
  return fmt::format(
      "Loads differ more than runs on one load, so {} loads of each side are the "
      "least that tell anything. This would:\n{}",
      kLeastLoads, text);
}

Table ComparisonTable(const DocumentComparison& comparison) {
  Table table(
      "Second against first, by their loads",
      {"phase", "metric", "first", "second", "change (interval)", "answer", "loads", "more loads"});
  for (const ComparedRow& row : comparison.rows) {
    const Answer& answer = row.answer;
    const Metric& metric = *FindMetric(row.metric);
    const CompareTerms& terms = comparison.terms;
    const std::string told = !terms.same_machine() ? "machines differ"
                             : !terms.comparable() ? "settings were refused"
                                                   : OutcomeText(answer, metric);
    const bool ask = terms.comparable() && !answer.told();
    table.Row({row.cell, row.metric, Short(answer.a), Short(answer.b), EffectText(answer), told,
               fmt::format("{}, {}", answer.loads_a, answer.loads_b),
               !ask          ? ""
               : answer.more ? fmt::format("{}", answer.more->loads)
                             : "-"});
  }
  return table;
}

std::string CircumstancesText(const json& first, const json& second,
                              const DocumentComparison& comparison) {
  std::string text;
  for (const auto& [which, document] : {std::pair("first", &first), std::pair("second", &second)}) {
    for (const std::string& line : {ForeignCpuLine(*document), StealLine(*document)}) {
      if (!line.empty()) text += fmt::format("{}: {}", which, line);
    }
  }
  return text + TermsText(comparison.terms);
}

std::string ComparisonText(const json& first, const json& second,
                           const DocumentComparison& comparison) {
  std::string text = CircumstancesText(first, second, comparison);
  if (!text.empty()) text += "\n";
  if (comparison.terms.comparable()) {
    for (const RateSentence& sentence : RateSentences(comparison)) text += sentence.text + "\n";
    text += "\n";
  }
  text += ComparisonTable(comparison).Text();
  for (const auto& [which, cells] :
       {std::pair("first", &comparison.only_first), std::pair("second", &comparison.only_second)}) {
    if (!cells->empty())
      text += fmt::format("only in the {}: {}\n", which, fmt::join(*cells, "; "));
  }
  for (const JudgedCondition& judged : comparison.conditions) text += ConditionLine(judged);
  return text + LackingLoadsText(first, second, comparison);
}

int CompareExitCode(const DocumentComparison& comparison) {
  const auto any = [&](Judgement judgement) {
    return std::any_of(comparison.conditions.begin(), comparison.conditions.end(),
                       [&](const JudgedCondition& j) { return j.judgement == judgement; });
  };
  if (any(Judgement::kHolds)) return kCompareConditionHolds;
  return any(Judgement::kUnknown) ? kCompareConditionUnknown : 0;
}

}  // namespace testbed
