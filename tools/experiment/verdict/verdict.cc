#include "tools/experiment/verdict/verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "device/error.h"
#include "engines/registry.h"
#include "tools/experiment/verdict/again.h"
#include "tools/experiment/verdict/equal_terms.h"
#include "tools/output/table.h"

namespace testbed {
namespace {

// Returns a text that names those of the engines that this build lacks, and of which there are no
// results either; an empty string when there is none.
std::string Missing(const ResultSet& results, const std::vector<std::string>& engines) {
  std::set<std::string> known;
  for (const EngineInfo& info : Engines()) known.insert(info.name);
  for (size_t i = 0; i < results.cells().size(); ++i) {
    const auto engine = results.cells()[i].options.find("engine");
    if (engine == results.cells()[i].options.end() || !results.measured(i)) continue;
    known.insert(engine->second.substr(0, engine->second.find_first_of(":@")));
  }
  std::vector<std::string> missing;
  for (const std::string& engine : engines) {
    if (!known.contains(engine)) missing.push_back(engine);
  }
  return missing.empty() ? "" : fmt::format("engine {}", fmt::join(missing, ", "));
}

// Returns the axes in which the cells of the groups differ. An axis over which the mean is taken is
// left out, because each group has the same labels there.
std::string OpenAxes(const std::vector<Cell>& cells, const Statement::Groups& groups) {
  std::vector<std::string> open;
  for (const auto& [axis, label] : cells[groups[0][0]].labels) {
    std::set<std::set<std::string>> found;
    for (const std::vector<size_t>& group : groups) {
      std::set<std::string> labels;
      for (size_t cell : group) labels.insert(cells[cell].labels.at(axis));
      found.insert(std::move(labels));
    }
    if (found.size() > 1) open.push_back(axis);
  }
  return fmt::format("{}", fmt::join(open, ", "));
}

// Returns the names of the systems that stand in for the published one, when all parts are about
// stand-ins; an empty string when a part is about the published system.
std::string StandInsAlone(const std::vector<PartVerdict>& parts) {
  std::set<std::string> names;
  for (const PartVerdict& part : parts) {
    if (part.stand_in.empty()) return "";
    names.insert(part.stand_in);
  }
  return fmt::format("{}", fmt::join(names, "; "));
}

// Returns the expressions of the finding's parts that are asked at this scale, and of its
// mechanisms.
std::vector<std::string> AskedExpressions(const Experiment& experiment, const std::string& scale,
                                          const Finding& finding) {
  std::vector<std::string> all;
  const auto add_all = [&](const std::string& expression, const std::string& text) {
    if (!expression.empty()) all.push_back(expression);
    for (std::string& shown : ExpressionsIn(text)) all.push_back(std::move(shown));
  };
  for (const FindingPart& part : finding.parts) {
    if (!IsOneOf(experiment, scale, part.scales)) continue;
    add_all(part.holds, part.ours);
    add_all(part.needs, "");
  }
  for (const Mechanism& mechanism : finding.mechanisms) add_all(mechanism.when, mechanism.says);
  return all;
}

class Checker {
 public:
  explicit Checker(const ResultSet& results) : results_(results) {}

  Verdict Check(const Finding& finding) const {
    Verdict verdict;
    verdict.id = finding.id;
    verdict.claim = finding.claim;
    verdict.systems = finding.systems;
    std::vector<size_t> cells;
    for (const FindingPart& part : finding.parts) {
      verdict.parts.push_back(Check(part));
      const std::vector<size_t>& of_part = verdict.parts.back().cells;
      cells.insert(cells.end(), of_part.begin(), of_part.end());
    }
    verdict.held = HeldText(results_, cells);
    Conclude(finding, &verdict);
    if (verdict.kind == Verdict::kNotReproduced || verdict.kind == Verdict::kInPart ||
        (verdict.kind == Verdict::kOneRound &&
         verdict.holding + verdict.undecided < verdict.counted)) {
      for (const Mechanism& mechanism : finding.mechanisms) {
        const std::optional<double> when = Value(mechanism.when);
        if (when && *when != 0) verdict.mechanisms.push_back(Fill(mechanism.says));
      }
    }
    return verdict;
  }

 private:
  PartVerdict Check(const FindingPart& part) const {
    PartVerdict verdict;
    verdict.says = part.says;
    verdict.published = part.published;
    verdict.false_if = part.false_if;
    verdict.stand_in = part.stand_in;
    const bool asked = IsOneOf(results_.experiment(), results_.scale(), part.scales);
    // `ours` stays empty at a scale that cannot judge the part: readers would take its figures for
    // an answer.
    if (asked) verdict.ours = Fill(part.ours);
    if (!part.untestable.empty()) {
      verdict.outcome = PartVerdict::kUntestable;
      verdict.because = part.untestable;
      return verdict;
    }
    verdict.because = Missing(results_, part.waits_for);
    if (!verdict.because.empty()) {
      verdict.outcome = PartVerdict::kWaits;
      return verdict;
    }
    if (!asked) {
      verdict.outcome = PartVerdict::kAskedElsewhere;
      verdict.because = fmt::format("{}", fmt::join(part.scales, ", "));
      return verdict;
    }
    try {
      const Statement statement = StatementOf(part.holds);
      for (const Selection& selection : statement.selections()) {
        if (Needs(selection, &verdict)) return verdict;
      }
      if (!part.needs.empty() && !HasSetting(part.needs, &verdict)) return verdict;
      const std::vector<std::vector<size_t>> compared = statement.CellsOfTerms();
      for (const std::vector<size_t>& cells : compared) {
        verdict.cells.insert(verdict.cells.end(), cells.begin(), cells.end());
      }
      verdict.unequal_memory = UnequalMemory(results_, compared);
      verdict.ended_early = EndedEarlyText(results_, verdict.cells);
      verdict.hosts = HostsLinesOfTerms(results_, compared);
      Judge(statement, &verdict);
    } catch (const Error& e) {  // cells that --only added to the scale's make it ambiguous
      verdict.outcome = PartVerdict::kAmbiguous;
      verdict.because = e.what();
    }
    return verdict;
  }

  // Returns whether `needs` is true for sure, so that the runs had the published setting. Otherwise
  // the outcome and reason are set.
  bool HasSetting(const std::string& needs, PartVerdict* verdict) const {
    const Statement statement = StatementOf(needs);
    for (const Selection& selection : statement.selections()) {
      if (Needs(selection, verdict)) return false;
    }
    PartVerdict setting;
    Judge(statement, &setting);
    if (setting.outcome == PartVerdict::kHolds || setting.outcome == PartVerdict::kHoldsOnce) {
      return true;
    }
    if (setting.outcome == PartVerdict::kFigureUnknown) {
      verdict->outcome = setting.outcome;
      verdict->because = setting.because;
      return false;
    }
    verdict->outcome = PartVerdict::kWithheld;
    verdict->because = "not the published setting";
    if (setting.certainty) {
      verdict->because += fmt::format(" for sure, but in {} of resampled rounds",
                                      Percent(setting.certainty->share()));
    } else if (setting.outcome == PartVerdict::kCannotTell) {
      verdict->because += " for sure";
    }
    if (!setting.because.empty()) verdict->because += ": " + setting.because;
    return false;
  }

  // Sets the outcome of a part whose cells are all measured.
  void Judge(const Statement& statement, PartVerdict* verdict) const {
    std::vector<Measured> figures;
    for (const Statement::Figure& figure : statement.figures()) {
      figures.push_back({figure.cell, results_.Values(figure.cell, figure.metric),
                         results_.Grain(figure.cell, figure.metric)});
      const bool known = std::isfinite(results_.Mean(figure.cell, figure.metric));
      if (known && std::isfinite(figures.back().grain)) continue;
      verdict->outcome = PartVerdict::kFigureUnknown;
      verdict->because = fmt::format("{}{} of {} is not known", known ? "the grain of " : "",
                                     figure.metric, results_.cells()[figure.cell].name);
      return;
    }
    const std::vector<double> means = Means(statement);
    const double value = statement.Evaluate(means);
    if (!std::isfinite(value) || !statement.IsKnown(means)) {
      verdict->outcome = PartVerdict::kFigureUnknown;
      verdict->because = std::isfinite(value) ? "a value that it compares is not finite"
                                              : "its value is not finite";
      return;
    }
    verdict->at_mean = value != 0;
    const std::string grains = GrainsText(statement, figures);
    if (results_.rounds() == 1) {
      const bool told = grains.empty() || Resample(statement, figures).Told();
      verdict->outcome = !told        ? PartVerdict::kCannotTell
                         : value != 0 ? PartVerdict::kHoldsOnce
                                      : PartVerdict::kFailsOnce;
      if (!told) verdict->because = grains;
      return;
    }
    const Resampled resampled = Resample(statement, figures);
    verdict->certainty = resampled.whole;
    verdict->outcome = resampled.outcome;
    if (resampled.Told()) return;
    for (Measured& figure : figures) figure.grain = 0;
    if (!grains.empty() && Resample(statement, figures).Told()) {
      verdict->because = grains;
    } else if (resampled.holds || resampled.fails) {
      const bool holds = resampled.holds;
      const DecisiveTerm term =
          Decisive(statement.terms(), holds, resampled.terms, SureAtLook(results_.looks().size()));
      const auto cell_name = [this](size_t cell) { return results_.cells()[cell].name; };
      verdict->because =
          fmt::format("the term {} is true in {} of resampled rounds, and is asked at {}{}",
                      statement.TermText(term.text, cell_name), Percent(term.share),
                      Percent(term.asked), holds ? "" : " or less");
    }
  }

  // Resampled is what resampled figures tell of a statement: that it holds, that it does not, or
  // neither.
  struct Resampled {
    PartVerdict::Outcome outcome = PartVerdict::kCannotTell;
    Certainty whole;
    std::vector<Certainty> terms;
    bool holds = false, fails = false;  // the whole statement does; neither: a term leaves it open
    bool Told() const { return outcome != PartVerdict::kCannotTell; }
  };

  Resampled Resample(const Statement& statement, const std::vector<Measured>& figures) const {
    const size_t looks = results_.looks().size();
    const double sure = SureAtLook(looks);
    // Later looks have stricter levels, so they take more draws: about 50 draws are expected beyond
    // the level.
    const int draws =
        looks < 2 ? kResamples
                  : static_cast<int>(std::clamp(50 / (1 - sure), 2.0 * kResamples, 200000.0));
    Resampled resampled;
    resampled.terms = CertaintiesOf(
        figures,
        [&](const std::vector<double>& drawn) {
          std::vector<double> values = statement.EvaluateTerms(drawn);
          values.push_back(statement.Evaluate(drawn));
          return values;
        },
        1, draws);
    resampled.whole = resampled.terms.back();
    resampled.terms.pop_back();
    resampled.holds = resampled.whole.TrueAt(sure);
    resampled.fails = resampled.whole.FalseAt(sure);
    if (resampled.holds && TrueForSure(statement.terms(), resampled.terms, sure)) {
      resampled.outcome = PartVerdict::kHolds;
    } else if (resampled.fails && FalseForSure(statement.terms(), resampled.terms, sure)) {
      resampled.outcome = PartVerdict::kDoesNotHold;
    }
    return resampled;
  }

  // Returns how closely the statement's metrics are known; an empty string when none has a grain.
  std::string GrainsText(const Statement& statement, const std::vector<Measured>& figures) const {
    std::map<std::string, double> grains;  // largest grain, by metric
    for (size_t i = 0; i < figures.size(); ++i) {
      double& grain = grains[statement.figures()[i].metric];
      grain = std::max(grain, figures[i].grain);
    }
    std::vector<std::string> texts;
    for (const auto& [metric, grain] : grains) {
      if (!(grain > 0)) continue;
      const std::string& unit = results_.experiment().FindMetric(metric)->unit;
      texts.push_back(fmt::format("{} is known no closer than {}{}{}", metric, Short(grain),
                                  unit.empty() ? "" : " ", unit));
    }
    return fmt::format("{}", fmt::join(texts, "; "));
  }

  // Returns whether a cell that the selection names was not measured, or not with the settings
  // asked for. The outcome and reason are then set.
  bool Needs(const Selection& selection, PartVerdict* verdict) const {
    const std::string unplanned = UnplannedLabel(results_.cells(), selection);
    if (!unplanned.empty()) {
      verdict->outcome = PartVerdict::kNotAtScale;
      verdict->because =
          fmt::format("no cell of this scale has {} in {}", unplanned, selection.text);
      return true;
    }
    Where where = selection.where;
    where.erase("mean");
    for (size_t i = 0; i < results_.cells().size(); ++i) {
      const Cell& cell = results_.cells()[i];
      if (!cell.planned() || !Matches(cell.labels, where)) continue;
      for (int round = 1; round <= results_.rounds(); ++round) {
        if (results_.finished(i, round)) continue;
        verdict->outcome = PartVerdict::kNotMeasured;
        verdict->because = "no result of " + cell.name;
        if (results_.rounds() > 1) verdict->because += fmt::format(" in round {}", round);
        if (!cell.runs()) verdict->because += ", which does not run here: " + cell.skipped;
        return true;
      }
      if (results_.not_in_force(i).empty()) continue;
      verdict->outcome = PartVerdict::kWithheld;
      verdict->because = fmt::format("in {} not in force: {}", cell.name, results_.not_in_force(i));
      return true;
    }
    return false;
  }

  void Conclude(const Finding& finding, Verdict* verdict) const {
    verdict->on_stand_in = StandInsAlone(verdict->parts);
    std::map<PartVerdict::Outcome, size_t> n;
    for (const PartVerdict& part : verdict->parts) {
      if (!part.stand_in.empty() && verdict->on_stand_in.empty()) continue;
      if (part.outcome == PartVerdict::kAskedElsewhere) {
        ++verdict->elsewhere;
        continue;
      }
      ++verdict->counted;
      ++n[part.outcome];
    }
    verdict->holding = n[PartVerdict::kHolds] + n[PartVerdict::kHoldsOnce];
    verdict->undecided = n[PartVerdict::kCannotTell];
    const bool any_fails = n[PartVerdict::kDoesNotHold] + n[PartVerdict::kUntestable] != 0;
    const std::string missing = Missing(results_, finding.waits_for);
    if (!finding.untestable.empty() ||
        (verdict->counted != 0 && n[PartVerdict::kUntestable] == verdict->counted)) {
      verdict->kind = Verdict::kUntestable;
      verdict->because = finding.untestable;
    } else if (!missing.empty()) {
      verdict->kind = Verdict::kWaits;
      verdict->because = missing;
    } else if (n[PartVerdict::kNotMeasured] != 0 || verdict->counted == 0) {
      verdict->kind = Verdict::kIncomplete;
    } else if (n[PartVerdict::kAmbiguous] != 0) {
      verdict->kind = Verdict::kAmbiguous;
    } else if (n[PartVerdict::kFigureUnknown] != 0) {
      verdict->kind = Verdict::kFigureUnknown;
    } else if (n[PartVerdict::kNotAtScale] != 0) {
      verdict->kind = Verdict::kNotAtScale;
    } else if (n[PartVerdict::kWithheld] != 0) {
      verdict->kind = Verdict::kWithheld;
    } else if (n[PartVerdict::kWaits] != 0) {
      verdict->kind = Verdict::kWaits;
    } else if (results_.rounds() == 1) {
      verdict->kind = Verdict::kOneRound;
    } else if (verdict->undecided != 0 && !(verdict->holding != 0 && any_fails)) {
      verdict->kind = Verdict::kCannotTell;
    } else if (verdict->holding == verdict->counted) {
      verdict->kind = Verdict::kReproduced;
    } else {
      verdict->kind = verdict->holding == 0 ? Verdict::kNotReproduced : Verdict::kInPart;
    }
  }

  Statement StatementOf(const std::string& expression) const {
    return Statement(
        expression,
        [this](const std::string& name) {
          return results_.experiment().FindMetric(name) != nullptr;
        },
        [this](const Selection& selection) { return results_.Select(selection.where); },
        [this](const Statement::Groups& groups) { return OpenAxes(results_.cells(), groups); });
  }

  std::vector<double> Means(const Statement& statement) const {
    std::vector<double> means;
    for (const Statement::Figure& figure : statement.figures()) {
      means.push_back(results_.Mean(figure.cell, figure.metric));
    }
    return means;
  }

  // Returns the expression's value at the mean figures; nothing when a figure is not known, or the
  // expression is ambiguous.
  std::optional<double> Value(const std::string& expression) const {
    try {
      const Statement statement = StatementOf(expression);
      const std::vector<double> means = Means(statement);
      if (std::any_of(means.begin(), means.end(), [](double v) { return !std::isfinite(v); })) {
        return std::nullopt;
      }
      const double value = statement.Evaluate(means);
      return std::isfinite(value) ? std::optional<double>(value) : std::nullopt;
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  std::string Fill(const std::string& text) const {
    return FillExpressions(text, [this](const std::string& expression) {
      const std::optional<double> value = Value(expression);
      return value ? Short(*value) : std::string("?");
    });
  }

  const ResultSet& results_;
};

}  // namespace

std::string UnplannedLabel(const std::vector<Cell>& cells, const Selection& selection) {
  Where where = selection.where;
  where.erase("mean");
  for (const auto& [axis, labels] : where) {
    for (const std::string& label : labels) {
      Where one = where;
      one[axis] = {label};
      if (std::none_of(cells.begin(), cells.end(), [&](const Cell& cell) {
            return cell.planned() && Matches(cell.labels, one);
          })) {
        return axis + "=" + label;
      }
    }
  }
  return "";
}

void CheckSelections(const Experiment& experiment, const std::string& scale,
                     const std::vector<Cell>& cells) {
  const auto is_metric = [&](const std::string& name) {
    return experiment.FindMetric(name) != nullptr;
  };
  const auto runs = [&](size_t i) { return cells[i].runs() && cells[i].round == cells[0].round; };
  const auto cells_of = [&](const Selection& selection) {
    return MatchingGroups(cells, selection.where, runs);
  };
  const auto open_axes = [&](const Statement::Groups& groups) { return OpenAxes(cells, groups); };
  for (const Finding& finding : experiment.findings) {
    for (const std::string& expression : AskedExpressions(experiment, scale, finding)) {
      try {
        const Statement parsed(expression, is_metric, cells_of, open_axes);
      } catch (const Error& e) {
        throw Error(Error::kUsage, fmt::format("finding {}: {}", finding.id, e.what()));
      }
    }
  }
}

std::vector<Verdict> CheckFindings(const ResultSet& results) {
  std::vector<Verdict> verdicts;
  const Checker checker(results);
  const Experiment& experiment = results.experiment();
  for (const Finding& finding : experiment.findings) verdicts.push_back(checker.Check(finding));
  for (const Again& again : experiment.again) {
    const auto is_there = [&](const std::string& label) {
      return std::any_of(results.cells().begin(), results.cells().end(),
                         [&](const Cell& cell) { return cell.labels.at(again.axis) == label; });
    };
    for (const Finding& finding : FindingsAgain(experiment, again, is_there)) {
      verdicts.push_back(checker.Check(finding));
    }
  }
  return verdicts;
}

}  // namespace testbed
