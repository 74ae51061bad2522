#include "tools/experiment/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <vector>

#include "tools/experiment/tables.h"
#include "tools/experiment/verdict/added_rounds.h"
#include "tools/experiment/verdict/advise.h"
#include "tools/experiment/verdict/mixed_texts.h"
#include "tools/experiment/verdict/verdict.h"
#include "tools/output/table.h"

namespace testbed {
namespace {

// Returns the scale and what --set changed, as the begin of a line: "scale tiny with threads=1, ".
std::string ScaleText(const ResultSet& results) {
  std::string text = results.IsSweep() ? "" : "scale " + results.scale();
  const std::string& set = results.circumstances().set;
  if (!set.empty()) text += (text.empty() ? "with " : " with ") + set;
  return text.empty() ? text : text + ", ";
}

std::string NotRunText(const ResultSet& results) {
  const size_t open = OpenRuns(results);
  std::string text;
  if (open != 0) text += fmt::format("not run yet: {}\n", Counted(open, "cell"));
  for (const auto& [reason, n] : ReasonsNotRun(results)) {
    text += fmt::format("not run: {}: {}\n", Counted(n, "cell"), reason);
  }
  for (const std::string& failure : results.failures()) text += "failed: " + failure + "\n";
  return text;
}

nlohmann::json PartJson(const PartVerdict& part) {
  nlohmann::json json = {{"says", part.says},         {"published", part.published},
                         {"ours", part.ours},         {"false_if", part.false_if},
                         {"stand_in", part.stand_in}, {"outcome", OutcomeName(part.outcome)},
                         {"because", part.because},   {"unequal_memory", part.unequal_memory},
                         {"hosts", part.hosts},       {"ended_early", part.ended_early}};
  if (part.certainty) {
    json["true_share"] = part.certainty->share();
    json["true_share_common"] = part.certainty->common;
    json["true_share_by_cell"] = part.certainty->by_cell;
    json["true_at_mean"] = part.at_mean;
  }
  return json;
}

}  // namespace

size_t OpenRuns(const ResultSet& results) {
  size_t open = 0;
  for (size_t i = 0; i < results.cells().size(); ++i) {
    // Advice leaves out ways that have lost or that were not asked for. Its own text names the
    // measurements that it lacks, so only the cells without any measurement count here.
    const bool advises = results.experiment().name == "advise";
    if (advises && (results.measured(i) || !results.asked(i))) continue;
    for (int round = 1; results.cells()[i].runs() && round <= results.rounds(); ++round) {
      open += !results.finished(i, round);
    }
  }
  return open;
}

std::map<std::string, int> ReasonsNotRun(const ResultSet& results) {
  std::map<std::string, int> reasons;
  for (const Cell& cell : results.cells()) {
    if (!cell.waits_for.empty()) ++reasons["engine " + cell.waits_for + " is not in this build"];
    if (!cell.skipped.empty()) ++reasons[cell.skipped];
  }
  return reasons;
}

std::string WaitingClientsText(const ResultSet& results) {
  const Experiment& e = results.experiment();
  std::vector<std::string> names;
  for (const ExperimentMetric& metric : e.metrics) {
    const bool tail = metric.expression.find("latency_us.p") != std::string::npos ||
                      metric.expression.find("latency_us.max") != std::string::npos;
    const bool shown = std::any_of(e.tables.begin(), e.tables.end(), [&](const TableSpec& table) {
      return std::count(table.metrics.begin(), table.metrics.end(), metric.name) != 0;
    });
    if (tail && shown) names.push_back(metric.name);
  }
  if (names.empty() || results.finished_runs() == 0) return "";
  return fmt::format(
      "{}: latency from the moment at which an operation began; in a closed loop each client "
      "begins its next operation when the last has ended, so these leave out requests that would "
      "have waited meanwhile, which a rate counts (docs/rates.md)",
      fmt::join(names, ", "));
}

std::string FindingsText(const ResultSet& results) {
  std::string text;
  for (const Verdict& v : CheckFindings(results)) {
    text += fmt::format("{:<4} {}: {}\n", v.id, VerdictText(v), v.claim);
    if (!v.systems.empty()) text += fmt::format("     systems: {}\n", v.systems);
    if (!v.because.empty()) text += fmt::format("     {}\n", v.because);
    for (const PartVerdict& part : v.parts) {
      text += fmt::format("     - {}: {}\n", part.says, OutcomeText(part));
      if (!part.stand_in.empty()) {
        text += fmt::format("         measured on {}, which stands in{}\n", part.stand_in,
                            v.on_stand_in.empty() ? " and is not counted" : "");
      }
      if (!part.published.empty()) text += fmt::format("         published: {}\n", part.published);
      if (!part.ours.empty()) text += fmt::format("         ours: {}\n", part.ours);
      if (!part.false_if.empty()) text += fmt::format("         false if {}\n", part.false_if);
      if (!part.unequal_memory.empty()) text += fmt::format("         {}\n", part.unequal_memory);
      if (!part.ended_early.empty()) text += fmt::format("         {}\n", part.ended_early);
      for (const std::string& line : part.hosts) text += fmt::format("         {}\n", line);
    }
    if (!v.held.empty()) text += fmt::format("     memory held: {}\n", v.held);
    for (const std::string& mechanism : v.mechanisms) text += fmt::format("     {}\n", mechanism);
  }
  if (text.empty()) return text;
  const std::string looks = LooksText(results.looks());
  return "\nFindings\n" + (looks.empty() ? "" : "! " + looks + "\n") + text;
}

nlohmann::json FindingsJson(const ResultSet& results) {
  const Circumstances& at = results.circumstances();
  const nlohmann::json foreign_cpu = {{"runs_known", at.foreign_known},
                                      {"runs_notable", at.foreign_runs},
                                      {"most", at.foreign_most}};
  nlohmann::json all = nlohmann::json::array();
  for (const Verdict& v : CheckFindings(results)) {
    nlohmann::json parts = nlohmann::json::array();
    for (const PartVerdict& part : v.parts) parts.push_back(PartJson(part));
    all.push_back({{"experiment", results.experiment().name},
                   {"scale", results.scale()},
                   {"rounds", results.rounds()},
                   {"looked_at", results.looks()},
                   {"foreign_cpu", foreign_cpu},
                   {"machines", at.machines},
                   {"versions", at.versions},
                   {"mixed", MixedTexts(results)},
                   {"id", v.id},
                   {"claim", v.claim},
                   {"systems", v.systems},
                   {"verdict", VerdictText(v)},
                   {"on_stand_in", v.on_stand_in},
                   {"because", v.because},
                   {"held", v.held},
                   {"parts_holding", v.holding},
                   {"parts_undecided", v.undecided},
                   {"parts_counted", v.counted},
                   {"parts", parts},
                   {"mechanisms", v.mechanisms}});
  }
  return all;
}

std::string ExperimentText(const ResultSet& results, const ReportStyle& style) {
  const Experiment& e = results.experiment();
  std::string grades;
  for (const auto& [grade, n] : results.Grades()) {
    grades += fmt::format("{}{} of grade {}", grades.empty() ? "" : ", ", Counted(n, "run"), grade);
  }
  const std::string rounds =
      results.rounds() > 1
          ? fmt::format(" in {} rounds; ± is half of the 95 % interval of their mean",
                        results.rounds())
          : "";
  const std::string foreign = ForeignCpuText(results.circumstances());
  std::string head =
      fmt::format("{}: {}\n{}{} of {}{}{}{}\n", e.name, e.title, ScaleText(results),
                  Count(results.finished_runs()), Counted(results.planned_runs(), "cell"), rounds,
                  grades.empty() ? "" : "; " + grades, foreign.empty() ? "" : "\n" + foreign);
  for (const std::string& mixed : MixedTexts(results)) head += "! " + mixed + "\n";
  const std::string waiting = WaitingClientsText(results);
  const std::string foot =
      FindingsText(results) + "\n" + (waiting.empty() ? "" : waiting + "\n") + NotRunText(results);
  const std::string tables = TablesText(results, style);
  // The advice is not wrapped, because it has lines for the configuration files of servers.
  const std::string advice = Advises(results) ? AdviceText(results) : "";
  if (style.markdown) return SeveralLines(Fenced(head) + "\n" + tables + Fenced(foot + advice));
  return SeveralLines(Wrapped(head, style.most()) + tables + Wrapped(foot, style.most()) + advice);
}

}  // namespace testbed
