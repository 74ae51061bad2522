#include "tools/experiment/verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "engines/registry.h"
#include "tools/table.h"

namespace testbed {
namespace {

// Those of the engines that this build does not have.
std::string Missing(const std::vector<std::string>& engines) {
  std::vector<std::string> missing;
  for (const std::string& engine : engines) {
    if (std::none_of(Engines().begin(), Engines().end(),
                     [&](const EngineInfo& info) { return info.name == engine; })) {
      missing.push_back(engine);
    }
  }
  return missing.empty() ? "" : fmt::format("engine {}", fmt::join(missing, ", "));
}

class Checker {
 public:
  explicit Checker(const ResultSet& results) : results_(results) {}

  Verdict Check(const Finding& finding) const {
    Verdict verdict;
    verdict.id = finding.id;
    verdict.claim = finding.claim;
    verdict.systems = finding.systems;
    for (const FindingPart& part : finding.parts) verdict.parts.push_back(Check(part));
    Conclude(finding, &verdict);
    if (verdict.kind == Verdict::kNotReproduced || verdict.kind == Verdict::kInPart) {
      for (const Mechanism& mechanism : finding.mechanisms) {
        const std::optional<double> when = Value(mechanism.when);
        if (when && *when != 0) verdict.mechanisms.push_back(Fill(mechanism.says));
      }
    }
    return verdict;
  }

 private:
  PartVerdict Check(const FindingPart& part) const {
    PartVerdict verdict{part.says,     part.published, Fill(part.ours),
                        part.false_if, part.stand_in,  PartVerdict::kNotMeasured,
                        ""};
    if (!part.untestable.empty()) {
      verdict.outcome = PartVerdict::kUntestable;
      verdict.because = part.untestable;
      return verdict;
    }
    verdict.because = Missing(part.waits_for);
    if (!verdict.because.empty()) {
      verdict.outcome = PartVerdict::kWaits;
      return verdict;
    }
    const Statement statement = StatementOf(part.holds);
    for (const Selection& selection : statement.selections()) {
      if (Needs(selection, &verdict)) return verdict;
    }
    const std::vector<double> means = Means(statement);
    for (size_t i = 0; i < means.size(); ++i) {
      if (std::isfinite(means[i])) continue;
      const Statement::Figure& figure = statement.figures()[i];
      verdict.because =
          fmt::format("{} of {} is not known", figure.metric, results_.cells()[figure.cell].name);
      return verdict;
    }
    const double value = statement.Evaluate(means);
    if (!std::isfinite(value)) {
      verdict.because = "its value is not finite";
    } else {
      verdict.outcome = value != 0 ? PartVerdict::kHolds : PartVerdict::kDoesNotHold;
    }
    return verdict;
  }

  // Whether something that the selection names was not measured; the verdict then says what.
  bool Needs(const Selection& selection, PartVerdict* verdict) const {
    Where where = selection.where;
    where.erase("mean");
    for (const auto& [axis, labels] : where) {
      for (const std::string& label : labels) {
        Where one = where;
        one[axis] = {label};
        if (AnyPlanned(one)) continue;
        verdict->outcome = PartVerdict::kNotAtScale;
        verdict->because = fmt::format("no cell of this scale has {}={} in {}", axis, label,
                                       selection.text);
        return true;
      }
    }
    for (size_t i = 0; i < results_.cells().size(); ++i) {
      const Cell& cell = results_.cells()[i];
      if (!cell.runs() || !Matches(cell.labels, where)) continue;
      for (int round = 1; round <= results_.rounds(); ++round) {
        if (results_.finished(i, round)) continue;
        verdict->outcome = PartVerdict::kNotMeasured;
        verdict->because = "no result of " + cell.name;
        if (results_.rounds() > 1) verdict->because += fmt::format(" in round {}", round);
        return true;
      }
      if (results_.not_in_force(i).empty()) continue;
      verdict->outcome = PartVerdict::kWithheld;
      verdict->because =
          fmt::format("in {} not in force: {}", cell.name, results_.not_in_force(i));
      return true;
    }
    return false;
  }

  bool AnyPlanned(const Where& where) const {
    return std::any_of(results_.cells().begin(), results_.cells().end(), [&](const Cell& cell) {
      return cell.runs() && Matches(cell.labels, where);
    });
  }

  void Conclude(const Finding& finding, Verdict* verdict) const {
    size_t untestable = 0, waiting = 0, withheld = 0, unknown = 0;
    for (const PartVerdict& part : verdict->parts) {
      if (!part.stand_in.empty()) continue;
      ++verdict->counted;
      verdict->holding += part.outcome == PartVerdict::kHolds;
      untestable += part.outcome == PartVerdict::kUntestable;
      waiting += part.outcome == PartVerdict::kWaits;
      withheld += part.outcome == PartVerdict::kWithheld;
      unknown +=
          part.outcome == PartVerdict::kNotMeasured || part.outcome == PartVerdict::kNotAtScale;
    }
    const std::string missing = Missing(finding.waits_for);
    if (!finding.untestable.empty() ||
        (verdict->counted != 0 && untestable == verdict->counted)) {
      verdict->kind = Verdict::kUntestable;
      verdict->because = finding.untestable;
    } else if (!missing.empty() || (waiting != 0 && unknown == 0)) {
      verdict->kind = Verdict::kWaits;
      verdict->because = missing;
    } else if (unknown != 0 || verdict->counted == 0) {
      verdict->kind = Verdict::kIncomplete;
    } else if (withheld != 0) {
      verdict->kind = Verdict::kWithheld;
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
        [this](const Selection& selection) { return results_.Select(selection.where); });
  }

  std::vector<double> Means(const Statement& statement) const {
    std::vector<double> means;
    for (const Statement::Figure& figure : statement.figures()) {
      means.push_back(results_.Mean(figure.cell, figure.metric));
    }
    return means;
  }

  // The value at the mean figures; nothing when a figure is not known.
  std::optional<double> Value(const std::string& expression) const {
    const Statement statement = StatementOf(expression);
    const std::vector<double> means = Means(statement);
    if (std::any_of(means.begin(), means.end(), [](double v) { return !std::isfinite(v); })) {
      return std::nullopt;
    }
    const double value = statement.Evaluate(means);
    return std::isfinite(value) ? std::optional<double>(value) : std::nullopt;
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

const char* OutcomeName(PartVerdict::Outcome outcome) {
  static constexpr const char* kNames[] = {
      "holds",    "does not hold",       "not measured yet", "not measured at this scale",
      "withheld", "waits for an engine", "untestable"};
  return kNames[outcome];
}

std::string OutcomeText(const PartVerdict& part) {
  const std::string name = OutcomeName(part.outcome);
  return part.because.empty() ? name : name + " (" + part.because + ")";
}

std::string VerdictText(const Verdict& verdict) {
  static constexpr const char* kNames[] = {
      "reproduced",          "in part",  "not reproduced",  "untestable",
      "waits for an engine", "withheld", "not measured yet"};
  const std::string name = kNames[verdict.kind];
  if (verdict.kind != Verdict::kInPart) return name;
  return fmt::format("{} ({} of {})", name, verdict.holding, verdict.counted);
}

std::vector<Verdict> CheckFindings(const ResultSet& results) {
  std::vector<Verdict> verdicts;
  const Checker checker(results);
  for (const Finding& finding : results.experiment().findings) {
    verdicts.push_back(checker.Check(finding));
  }
  return verdicts;
}

}  // namespace testbed
