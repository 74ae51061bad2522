#include "tools/ab/ab_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "device/error.h"
#include "tools/ab/measured_time.h"
#include "tools/command/command_words.h"
#include "tools/output/json_text.h"
#include "tools/output/table.h"
#include "tools/report/figures.h"
#include "tools/report/report.h"
#include "tools/statistics/sentence.h"

namespace testbed {
namespace {

using nlohmann::json;

constexpr size_t kMostMoved = 12;  // counters shown
constexpr int kHolds = 3, kFailed = 1, kStopped = 130;

std::string JudgementText(const Judged& judged) {
  const std::string condition =
      fmt::format("{} of {}", ConditionText(judged.condition), judged.side);
  switch (judged.judgement) {
    case Judgement::kHolds:
      return condition + ": holds for sure";
    case Judgement::kDoesNotHold:
      return condition + ": does not hold, for sure";
    case Judgement::kUnknown:
      break;
  }
  return condition + ": cannot be told";
}

// Returns the command that would make enough loads, when there were too few for a metric that was
// asked for; "" otherwise, and for a comparison that failed or was stopped, which did not end for
// want of loads.
std::string FewLoadsText(const json& document, const std::vector<AbAnswer>& answers) {
  constexpr int kLoads = 5;  // kLeastLoads are enough only when they agree well
  const bool few = std::any_of(answers.begin(), answers.end(), [](const AbAnswer& answer) {
    return answer.asked && answer.answer.reason == Reason::kFewLoads;
  });
  const auto words = document.value("command", std::vector<std::string>());
  if (!few || words.empty() || document.at("partial") || !document.at("errors").empty()) return "";
  std::vector<std::string> command = WithoutOption(words, "--loads");
  if (const double each = document.value("seconds_per_load", 0.0); each > 0) {
    command = WithoutOption(command, "--time");
    command.insert(command.end(),
                   {"--time", fmt::format("{:.0f}s", std::ceil(WithSpareTime(kLoads * each)))});
  }
  command.insert(command.end(), {"--loads", std::to_string(kLoads)});
  return fmt::format("{} loads of each side would be enough, where they agree:\n  testbed {}\n",
                     kLoads, ShellLine(command));
}

std::string SettingsText(const json& side) {
  std::string settings = side.at("settings");
  const auto words = side.value("words", std::vector<std::string>());
  if (!words.empty()) settings += " (" + ShellLine(words) + ")";
  if (settings.find("engine=") == std::string::npos) {
    settings = "engine=" + side.at("options").at("engine").get<std::string>() +
               (settings.empty() ? "" : " ") + settings;
  }
  return settings;
}

std::string WayText(const json& document) {
  const int loads = document.at("loads");
  return fmt::format(
      "{} by {}{}: {} of each side in {:.0f} s; {}", document.at("workload").get<std::string>(),
      document.at("way").get<std::string>(),
      document.at("slice_seconds").is_number()
          ? fmt::format(" in slices of {} s", document.at("slice_seconds").get<double>())
          : "",
      Counted(loads, "load"), document.at("seconds").get<double>(),
      document.at("assumes").get<std::string>());
}

std::string HeadText(const AbWords& words) {
  std::string text;
  for (const AbWords::SideWords& side : words.sides) {
    text += OneLine(fmt::format("{}: {}", side.label, side.settings)) + "\n";
  }
  text += OneLine(words.way) + "\n";
  for (const std::string& note : words.notes) text += OneLine(note) + "\n";
  return text;
}

// Returns why nothing is known about a metric that no finished load has on both sides.
std::string NoValuesText(const json& document, const AbAnswer& answer) {
  const int whole = document.at("loads");
  if (whole == 0) return "cannot be told: no load was finished by all sides";
  const std::string& metric = answer.metric.name;
  std::string lacking;
  for (const std::string& side :
       {document.at("sides")[0].at("label").get<std::string>(), answer.side}) {
    const json& samples = document.at("samples");
    if (std::any_of(samples.begin(), samples.end(), [&](const json& sample) {
          return sample.at("side") == side && sample.at("load") < whole &&
                 sample.at("metrics").contains(metric);
        })) {
      continue;
    }
    lacking += (lacking.empty() ? "" : " and ") + side;
  }
  if (lacking.empty()) return fmt::format("cannot be told: no load has {} on both sides", metric);
  return fmt::format("cannot be told: {} was not measured on {}", metric, lacking);
}

std::string AnswerText(const json& document, const AbAnswer& answer) {
  return answer.answer.reason == Reason::kNoValues
             ? NoValuesText(document, answer)
             : Sentence(answer.answer, answer.metric, answer.side);
}

// Returns the number of a sample's operations that tell a percentile: all operations, or those of
// its kind, unless the sample says how many have a latency.
double OperationsOf(const json& sample, const std::string& metric) {
  const auto told = sample.find("told");
  if (told != sample.end() && told->contains(metric)) return told->at(metric).get<double>();
  const std::string kind = KindOf(metric);
  if (kind.empty()) return Number(sample, "/count", 0);
  return sample.at("metrics").value(kind + ".rate", 0.0) * Number(sample, "/seconds", 0);
}

// Returns a note on the percentiles for which the slices or runs of most loads have too few
// operations; "" when there are none. Such a percentile is set by the slowest few operations, so it
// grows with the number of a side's operations even if no operation takes longer.
std::string FewOperationsNote(const json& document) {
  // By percentile, the operations of a side in a load.
  std::map<std::string, std::map<std::string, double>> operations;
  for (const json& sample : document.at("samples")) {
    const std::string load = FigureText(sample, "/side") + " " + FigureText(sample, "/load");
    for (const auto& [metric, value] : sample.at("metrics").items()) {
      if (PercentileShare(metric) > 0) operations[metric][load] += OperationsOf(sample, metric);
    }
  }
  std::string names;
  for (const auto& [metric, loads] : operations) {
    size_t few = 0;
    for (const auto& [load, count] : loads) few += !TellsPercentile(count, PercentileShare(metric));
    if (2 * few > loads.size()) names += (names.empty() ? "" : ", ") + metric;
  }
  if (names.empty()) return "";
  const bool in_slices = document.at("slice_seconds").is_number();
  return fmt::format(
      "{}: the {} of most loads had too few operations for such a percentile, which then rises "
      "with the rate of a side; give {}",
      names, in_slices ? "slices" : "runs",
      in_slices ? "fewer --loads or more --time"
                : "longer runs (--seconds, --operations or --rows)");
}

// Returns a note on the percentiles of a closed loop, which has no intended starts; "" when each
// side that has percentiles has those from the intended start, too.
std::string ClosedLoopNote(const json& document) {
  const json& samples = document.at("samples");
  const bool closed = std::any_of(samples.begin(), samples.end(), [](const json& sample) {
    bool any = false, intended = false;
    for (const auto& [metric, value] : sample.at("metrics").items()) {
      if (PercentileShare(metric) == 0) continue;
      any = true;
      intended = intended || metric.find("intended_") != std::string::npos;
    }
    return any && !intended;
  });
  return closed ? "closed loop: each client begins its next operation when the last has ended, so "
                  "the percentiles leave out requests that would have waited meanwhile; --rate "
                  "counts them (docs/rates.md)"
                : "";
}

// Returns how much of what a metric counts is in the counters; 0 for a metric that is not a count
// of the side's own work. What the device did during a side's rest was the work of other sides.
// `counts_asks`: the engine counts what its cache is asked for (EngineMisses of figures.h).
double CountOf(const std::string& metric, const json& counters, bool counts_asks) {
  const auto count = [&](const std::string& name) { return counters.value(name, 0.0); };
  if (metric == "cpu_us") return count("cpu_user_seconds") + count("cpu_system_seconds");
  if (metric == "engine_asks") return count("block_requests");
  if (metric == "engine_misses") {
    return counts_asks ? count("block_requests") - count("block_hits") : count("block_reads");
  }
  for (const char* level : {"file_", "kernel_", "wire_"}) {
    if (metric.starts_with(level)) return count(metric);
  }
  return 0;
}

// Returns whether the side was at rest between the sample's slice and the one before. Before its
// first slice it waits until the others are loaded, which is no rest.
bool HasRest(const json& sample) { return sample.contains("rest") && sample.at("block") != 0; }

// Returns which share of its work a side did at rest; the metric says what counts as work.
double ShareAtRest(const json& document, const std::string& side, const std::string& metric) {
  const int whole = document.at("loads");
  double in_slices = 0, at_rest = 0;
  for (const json& sample : document.at("samples")) {
    const int load = sample.at("load");
    if (sample.at("side") != side || load >= whole || !HasRest(sample)) continue;
    // A rest has no counters that are 0, so the slice tells what the engine counts.
    const json& counters = sample.at("counters");
    const bool counts_asks = counters.contains("block_requests");
    in_slices += CountOf(metric, counters, counts_asks);
    at_rest += CountOf(metric, sample.at("rest"), counts_asks);
  }
  return at_rest > 0 ? at_rest / (in_slices + at_rest) : 0;
}

// Returns a sentence for each side that did more than a hundredth of its work at rest, by a metric
// that has an answer. That answer leaves out the work at rest, so it may be wrong for the whole.
std::vector<std::string> RestWarnings(const json& document, const std::vector<AbAnswer>& answers) {
  constexpr double kMostAtRest = 0.01;
  const json& sides = document.at("sides");
  std::vector<std::string> warnings;
  for (const json& side : sides) {
    const std::string label = side.at("label");
    std::set<std::string> seen;
    std::string shares;
    for (const AbAnswer& answer : answers) {
      const std::string& metric = answer.metric.name;
      const bool of_side = answer.side == label || sides[0].at("label") == label;
      if (!of_side || !seen.insert(metric).second) continue;
      const double share = ShareAtRest(document, label, metric);
      if (!(share > kMostAtRest)) continue;
      shares +=
          fmt::format("{}{} % of its {}", shares.empty() ? "" : ", ", PercentText(share), metric);
    }
    if (shares.empty()) continue;
    warnings.push_back(
        fmt::format("side {} did {} in the rests between its slices, which the metrics leave out; "
                    "--way rounds counts them",
                    label, shares));
  }
  return warnings;
}

// Returns a sentence when sides of different engines held memory more than a tenth apart; "" when
// they did not, or when that is not known. With direct IO an engine holds its cache and what it
// takes beside it, which differs from engine to engine.
std::string UnequalMemoryText(const json& document) {
  constexpr double kApart = 0.1;
  const Metric& held = *FindMetric("memory_held");
  std::set<std::string> engines;
  std::string each;
  double least = HUGE_VAL, most = 0;
  for (const json& side : document.at("sides")) {
    const std::string label = side.at("label");
    const double bytes = MeanOfAll(document, label, held);
    if (!std::isfinite(bytes)) return "";
    engines.insert(FigureText(side, "/options/engine"));
    least = std::min(least, bytes);
    most = std::max(most, bytes);
    each += fmt::format("{}{} {}", each.empty() ? "" : ", ", label, Size(bytes));
  }
  if (engines.size() < 2 || least >= (1 - kApart) * most) return "";
  return "sides of different engines held memory more than 10 % apart: " + each;
}

// Returns whether the note is about a setting that was asked for and is not in force.
bool IsNotInForce(const json& document, const std::string& note) {
  for (const json& setting : document.value("not_in_force", json::array())) {
    const std::string of_side =
        setting.contains("side") ? fmt::format("side {}: ", FigureText(setting, "/side")) : "";
    if (note.starts_with(fmt::format("{}--{} ", of_side, FigureText(setting, "/option")))) {
      return true;
    }
  }
  return false;
}

// Adds the notes of the document. Notes on the terms on which the answer holds go with the answer.
void AddNotes(const json& document, const std::vector<AbAnswer>& answers, AbWords* words) {
  for (const json& one : document.at("notes")) {
    const auto note = one.get<std::string>();
    if (IsNotInForce(document, note)) {
      words->sentences.push_back({note, true});
    } else {
      words->notes.push_back(note);
    }
  }
  for (std::string& warning : RestWarnings(document, answers)) {
    words->sentences.push_back({std::move(warning), true});
  }
  if (std::string unequal = UnequalMemoryText(document); !unequal.empty()) {
    words->sentences.push_back({std::move(unequal), true});
  }
  if (std::string note = FewOperationsNote(document); !note.empty()) {
    words->notes.push_back(std::move(note));
  }
  if (std::string note = ClosedLoopNote(document); !note.empty()) {
    words->notes.push_back(std::move(note));
  }
}

}  // namespace

AbWords WordsOfAb(const json& document, const std::vector<AbAnswer>& answers) {
  AbWords words;
  const std::set<std::string> made_for = MadeFor(document);
  for (const AbAnswer& answer : answers) {
    if (!answer.asked) continue;
    const bool first = document.at("sides").size() == 2 && made_for.contains(answer.metric.name);
    words.sentences.push_back(
        {(first ? "" : answer.side + " against a: ") + AnswerText(document, answer), false});
  }
  for (const Judged& judged : JudgeConditions(document)) {
    words.sentences.push_back({JudgementText(judged), judged.judgement == Judgement::kHolds});
  }
  if (auto text = document.value("time_too_short", std::string()); !text.empty()) {
    words.sentences.push_back({std::move(text), true});
  }
  for (const json& error : document.at("errors")) {
    words.sentences.push_back({FailureText(error), true});
  }
  if (document.at("partial")) {
    words.sentences.push_back({"stopped by a signal; the answer is from what there was", true});
  }
  for (const json& side : document.at("sides")) {
    words.sides.push_back({side.at("label"), SettingsText(side)});
  }
  words.way = WayText(document);
  AddNotes(document, answers, &words);
  return words;
}

Table MetricsOfAb(const json& document, const std::vector<AbAnswer>& answers) {
  std::vector<std::string> columns = {"metric"};
  const bool two = document.at("sides").size() == 2;
  if (!two) columns.emplace_back("side");
  for (const char* name : {"a", "side", "change", "answer"}) columns.emplace_back(name);
  if (two) columns[2] = document.at("sides")[1].at("label");
  Table table(two ? "Metrics, b against a" : "Metrics, each side against a", columns);
  for (const AbAnswer& a : answers) {
    const auto shown = [&](double of_answer, const std::string& side) {
      return Short(std::isfinite(of_answer) ? of_answer : MeanOfAll(document, side, a.metric));
    };
    std::vector<std::string> row = {a.metric.name};
    if (!two) row.push_back(a.side);
    row.push_back(shown(a.answer.a, "a"));
    row.push_back(shown(a.answer.b, a.side));
    row.push_back(EffectText(a.answer));
    row.push_back(OutcomeText(a.answer, a.metric));
    table.Row(std::move(row));
  }
  return table;
}

Table MovedOfAb(const json& document) {
  const std::vector<Moved> moved = MovedCounters(document);
  const bool in_slices = document.at("slice_seconds").is_number();
  std::string title = fmt::format("What moved with it{}, per operation (facts, not causes)",
                                  in_slices ? " in the slices" : "");
  if (moved.size() > kMostMoved) {
    title += fmt::format(": the {} of {} that moved furthest", kMostMoved, moved.size());
  }
  Table table(title, {"counter", "side", "a", "side's", "change"});
  for (size_t i = 0; i < std::min(kMostMoved, moved.size()); ++i) {
    const Moved& m = moved[i];
    table.Row({m.counter, m.side, Short(m.answer.a), Short(m.answer.b), EffectText(m.answer)});
  }
  return table;
}

Table RestOfAb(const json& document) {
  std::map<std::string, std::map<std::string, double>> sums;
  std::map<std::string, std::set<std::string>> counted;  // by side, the counters of its slices
  for (const json& sample : document.at("samples")) {
    if (!HasRest(sample)) continue;
    const std::string side = sample.at("side");
    for (const auto& [name, value] : sample.at("rest").items()) {
      sums[side][name] += value.get<double>();
    }
    for (const auto& [name, value] : sample.at("counters").items()) counted[side].insert(name);
  }
  Table table("At rest, between its slices",
              {"side", "seconds", "processors", "file reads/s", "file writes/s", "kernel reads/s",
               "kernel writes/s"});
  for (auto& [side, sum] : sums) {
    const double seconds = sum["seconds"];
    if (!(seconds > 0)) continue;
    std::vector<std::string> row = {
        side, Short(seconds),
        Short((sum["cpu_user_seconds"] + sum["cpu_system_seconds"]) / seconds)};
    for (const char* name : {"file_reads", "file_writes", "kernel_reads", "kernel_writes"}) {
      // A rest has no counters that are 0, so the slices tell which ones are known.
      row.push_back(counted[side].contains(name) ? Short(sum[name] / seconds) : "-");
    }
    table.Row(std::move(row));
  }
  return table;
}

std::string FailureText(const json& error) {
  const std::string who = error.contains("side") ? "side " + error.at("side").get<std::string>()
                                                 : std::string("the comparison");
  return fmt::format("{} failed: {}", who, error.at("sentence").get<std::string>());
}

bool IsAbDocument(const json& document) {
  return document.is_object() && document.value("schema", json()) == kAbSchema;
}

void CheckAbDocument(const json& document, const std::string& path) {
  // The document is accepted if its whole report can be printed.
  try {
    (void)AbReportText(document);
    (void)AbExitCode(document);
  } catch (const json::exception& e) {
    throw Error(Error::kUsage, fmt::format("{} is damaged, or not a comparison of this version: {}",
                                           path, JsonErrorText(e)));
  }
}

std::string AbReportText(const json& document, const ReportStyle& style) {
  const std::vector<AbAnswer> answers = AbAnswers(document);
  const AbWords words = WordsOfAb(document, answers);
  std::string text;
  for (const AbWords::Saying& sentence : words.sentences) text += OneLine(sentence.text) + "\n";
  text += FewLoadsText(document, answers) + "\n" + HeadText(words);
  if (style.markdown) text = Fenced(text);
  const auto shown = [&](const Table& table) {
    return style.markdown ? table.Markdown(true) : table.Text();
  };
  text += "\n" + shown(MetricsOfAb(document, answers));
  if (const Table moved = MovedOfAb(document); !moved.empty()) text += shown(moved);
  if (const Table rest = RestOfAb(document); !rest.empty()) text += shown(rest);
  return text;
}

int AbExitCode(const json& document) {
  if (document.at("partial")) return kStopped;
  const bool failed = !document.at("errors").empty();
  if (document.at("fail_if").empty()) return failed ? kFailed : 0;
  const std::vector<Judged> judged = JudgeConditions(document);
  const auto any = [&](Judgement judgement) {
    return std::any_of(judged.begin(), judged.end(),
                       [&](const Judged& j) { return j.judgement == judgement; });
  };
  if (any(Judgement::kHolds)) return kHolds;
  return failed || any(Judgement::kUnknown) ? kAbCannotBeTold : 0;
}

}  // namespace testbed
