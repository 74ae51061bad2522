#include "tools/experiment/verdict/again.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

namespace testbed {
namespace {

// Returns the text without the white space around it, which may stand around each name in a
// selection (expression.cc).
std::string Bare(const std::string& text) {
  const size_t first = text.find_first_not_of(" \n\t"), last = text.find_last_not_of(" \n\t");
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

// Replaces labels in the selections of expressions, and notes by which.
class Relabeller {
 public:
  explicit Relabeller(const Again& again) : again_(again) {}

  // Returns the text, an expression or one with expressions in it, with other labels.
  std::string Relabel(const std::string& text) {
    std::string relabelled;
    size_t at = 0;
    for (;;) {
      const size_t open = text.find('[', at);
      const size_t close = open == std::string::npos ? open : text.find(']', open);
      if (close == std::string::npos) return relabelled + text.substr(at);
      relabelled += text.substr(at, open + 1 - at);
      relabelled += RelabelSelection(text.substr(open + 1, close - open - 1));
      at = close;
    }
  }
  // Return the labels of the axis in the relabelled texts: those that replaced others (used), those
  // that were replaced, and those that stayed (kept).
  const std::set<std::string>& used() const { return used_; }
  const std::set<std::string>& replaced() const { return replaced_; }
  const std::set<std::string>& kept() const { return kept_; }

 private:
  // Returns the selection, such as "io=direct|mmap, page-size=4k", with other labels of the axis.
  std::string RelabelSelection(const std::string& selection) {
    std::string relabelled;
    for (size_t at = 0; at <= selection.size();) {
      const size_t end = std::min(selection.find(',', at), selection.size());
      std::string condition = selection.substr(at, end - at);
      const size_t equals = condition.find('=');
      if (equals != std::string::npos && Bare(condition.substr(0, equals)) == again_.axis) {
        condition = condition.substr(0, equals + 1) + RelabelList(condition.substr(equals + 1));
      }
      relabelled += (at == 0 ? "" : ",") + condition;
      at = end + 1;
    }
    return relabelled;
  }

  // Takes label|label.
  std::string RelabelList(const std::string& labels) {
    std::string relabelled;
    for (size_t at = 0; at <= labels.size();) {
      const size_t end = std::min(labels.find('|', at), labels.size());
      const std::string label = Bare(labels.substr(at, end - at));
      const auto other = again_.instead.find(label);
      const bool stays = other == again_.instead.end();
      (stays ? kept_ : replaced_).insert(label);
      if (!stays) used_.insert(other->second);
      relabelled += (at == 0 ? "" : "|") + (stays ? label : other->second);
      at = end + 1;
    }
    return relabelled;
  }

  const Again& again_;
  std::set<std::string> used_, replaced_, kept_;
};

// Returns the engines that cells with these labels have.
std::set<std::string> EnginesOfLabels(const Axis& axis, const std::set<std::string>& labels) {
  std::set<std::string> engines;
  for (const AxisValue& value : axis.values) {
    const auto engine = value.options.find("engine");
    if (!labels.contains(value.label) || engine == value.options.end()) continue;
    engines.insert(engine->second.substr(0, engine->second.find_first_of(":@")));
  }
  return engines;
}

// Returns the engines without which a part cannot be judged again on other labels: the engines of
// the labels that replace others, and those of `first`, which the part waits for on its own labels.
// An engine of replaced labels alone is left out.
std::vector<std::string> WaitsAgain(const Axis& axis, const Relabeller& labels,
                                    const std::vector<std::string>& first) {
  const std::set<std::string> replaced = EnginesOfLabels(axis, labels.replaced());
  const std::set<std::string> kept = EnginesOfLabels(axis, labels.kept());
  std::set<std::string> waits = EnginesOfLabels(axis, labels.used());
  for (const std::string& engine : first) {
    if (kept.contains(engine) || !replaced.contains(engine)) waits.insert(engine);
  }
  return {waits.begin(), waits.end()};
}

}  // namespace

std::vector<Finding> FindingsAgain(const Experiment& experiment, const Again& again,
                                   const std::function<bool(const std::string&)>& is_there) {
  const Axis& axis = *experiment.FindAxis(again.axis);
  std::vector<Finding> findings;
  for (const Finding& original : experiment.findings) {
    if (std::find(again.findings.begin(), again.findings.end(), original.id) ==
        again.findings.end()) {
      continue;
    }
    Finding finding = original;
    finding.id += "." + again.name;
    finding.systems = again.on;
    finding.waits_for.clear();  // each part waits for its own engines
    finding.parts.clear();
    finding.mechanisms.clear();
    for (FindingPart part : original.parts) {
      Relabeller labels(again);
      part.holds = labels.Relabel(part.holds);
      part.needs = labels.Relabel(part.needs);
      const bool is_whole =
          !is_there || std::all_of(labels.used().begin(), labels.used().end(), is_there);
      if (labels.used().empty() || !is_whole) continue;
      part.ours = labels.Relabel(part.ours);
      std::vector<std::string> first = part.waits_for;
      first.insert(first.end(), original.waits_for.begin(), original.waits_for.end());
      part.waits_for = WaitsAgain(axis, labels, first);
      finding.parts.push_back(std::move(part));
    }
    for (Mechanism mechanism : original.mechanisms) {
      Relabeller labels(again);
      mechanism.when = labels.Relabel(mechanism.when);
      if (labels.used().empty()) continue;
      mechanism.says = labels.Relabel(mechanism.says);
      finding.mechanisms.push_back(std::move(mechanism));
    }
    if (!finding.parts.empty()) findings.push_back(std::move(finding));
  }
  return findings;
}

std::string NotJudgedAgain(const Experiment& experiment, const Again& again) {
  for (const std::string& id : again.findings) {
    Again one = again;
    one.findings = {id};
    if (FindingsAgain(experiment, one, nullptr).empty()) return id;
  }
  return "";
}

}  // namespace testbed
