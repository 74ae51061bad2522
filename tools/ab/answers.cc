#include "tools/ab/answers.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "tools/output/json_text.h"
#include "tools/statistics/corrections.h"
#include "tools/statistics/sentence.h"

namespace testbed {
namespace {

using nlohmann::json;

// A Figure computes one number of each sample, and says how samples are weighed against each other.
struct Figure {
  std::function<double(const json& sample)> value;  // NaN when the sample has none
  const char* weight = "count";  // the member of a sample that weighs its value (Sample::weight)
  double resolution = 0, grain = 0;  // see CompareOptions
};

Figure FigureOf(const Metric& metric) {
  const auto value = [name = metric.name](const json& sample) {
    const json& metrics = sample.at("metrics");
    const auto found = metrics.find(name);
    return found != metrics.end() && found->is_number() ? found->get<double>() : kUnknownValue;
  };
  // A rate is weighed by seconds. Every other metric is per operation, or has one value in all
  // slices of a load, so it is weighed by operations.
  const bool rate = metric.name == "rate" || metric.name.ends_with(".rate");
  return {value, rate ? "seconds" : "count", metric.resolution, metric.grain};
}

using LabelSet = std::set<std::string>;  // labels of sides

// Returns a counter per operation, those that got no answer included, as metrics of the account
// are. A sample without the counter had 0 of it when its side is one of `having`, which have the
// counter in other samples. The counter is unknown on a side whose samples all lack it: its engine
// does not count it.
Figure FigureOfCounter(const std::string& name, const LabelSet& having) {
  const auto value = [name, having](const json& sample) {
    const double count = sample.value("charged", sample.at("count").get<double>());
    if (!(count > 0) || !having.contains(sample.at("side").get<std::string>())) {
      return kUnknownValue;
    }
    return sample.at("counters").value(name, 0.0) / count;
  };
  return {.value = value};
}

// Returns whether a metric shows the counter already: one of its name, or engine_asks.
bool IsShown(const std::string& counter) {
  return counter == "block_requests" || FindMetric(counter) != nullptr;
}

std::vector<std::string> Labels(const json& document) {
  std::vector<std::string> labels;
  for (const json& side : document.at("sides")) labels.push_back(side.at("label"));
  return labels;
}

// Returns the samples of both sides in the loads that all sides finished.
std::vector<Sample> SamplesOf(const json& document, const std::string& a, const std::string& b,
                              const Figure& figure) {
  std::vector<Sample> samples;
  const int whole = document.at("loads");
  for (const json& sample : document.at("samples")) {
    const std::string& side = sample.at("side").get_ref<const std::string&>();
    const int load = sample.at("load");
    if ((side != a && side != b) || load >= whole) continue;
    samples.push_back({.side = side == a ? kA : kB,
                       .load = load,
                       .run = 0,
                       .block = sample.at("block"),
                       .value = figure.value(sample),
                       .weight = sample.at(figure.weight)});
  }
  return samples;
}

Answer CompareSides(const json& document, const std::string& a, const std::string& b,
                    const Figure& figure) {
  return Compare(SamplesOf(document, a, b, figure),
                 {.margin = document.at("until"),
                  .pairing = Pairing::kLoads,
                  .sequential = true,
                  .ended = document.contains("seconds"),  // the end of the session sets "seconds"
                  .resolution = figure.resolution,
                  .grain = figure.grain,
                  .seconds_per_load = document.value("seconds_per_load", 0.0)});
}

std::vector<Condition> Conditions(const json& document) {
  std::vector<Condition> conditions;
  for (const json& text : document.at("fail_if")) {
    conditions.push_back(ParseCondition("--fail-if", text));
  }
  return conditions;
}

std::set<std::string> Asked(const json& document) {
  std::set<std::string> names = MadeFor(document);
  for (const Condition& condition : Conditions(document)) names.insert(condition.metric);
  return names;
}

// Applies `correct` to the answers for which `choose` is true, as one family.
template <typename Answers, typename Choose>
void Correct(Answers* all, Choose choose, void (*correct)(std::span<Answer>)) {
  std::vector<Answer> chosen;
  for (const auto& one : *all) {
    if (choose(one)) chosen.push_back(one.answer);
  }
  correct(chosen);
  size_t next = 0;
  for (auto& one : *all) {
    if (choose(one)) one.answer = chosen[next++];
  }
}

// Returns, by metric, the sides that have a value of it other than 0 in any sample, that of a load
// which was not finished included.
std::map<std::string, LabelSet> Measured(const json& document) {
  std::map<std::string, LabelSet> measured;
  for (const json& sample : document.at("samples")) {
    for (const auto& [name, value] : sample.at("metrics").items()) {
      if (value.is_number() && value != 0) measured[name].insert(sample.at("side"));
    }
  }
  return measured;
}

// Returns the metrics of the whole workload, and after them those of kinds of operation that are
// asked for or, unless `asked_alone`, that a sample has.
std::vector<Metric> MetricsIn(const json& document, const std::set<std::string>& asked,
                              bool asked_alone) {
  std::set<std::string> names = asked;
  if (!asked_alone) {
    for (const json& sample : document.at("samples")) {
      for (const auto& [name, value] : sample.at("metrics").items()) names.insert(name);
    }
  }
  std::set<std::string> kinds;
  for (const std::string& name : names) kinds.insert(KindOf(name));
  kinds.erase("");
  std::vector<Metric> metrics = Metrics();
  for (const std::string& kind : kinds) {
    for (const Metric& metric : Metrics()) {
      const std::optional<Metric> own = MetricNamed(kind + "." + metric.name);
      if (own && names.contains(own->name)) metrics.push_back(*own);
    }
  }
  return metrics;
}

// Returns the answers, each tested at the whole level: not corrected for their number.
std::vector<AbAnswer> Uncorrected(const json& document, bool asked_alone) {
  const std::vector<std::string> labels = Labels(document);
  const std::set<std::string> asked = Asked(document);
  const std::vector<Metric> metrics = MetricsIn(document, asked, asked_alone);
  std::map<std::string, LabelSet> measured;
  if (!asked_alone) measured = Measured(document);
  std::vector<AbAnswer> answers;
  for (size_t i = 1; i < labels.size(); ++i) {
    for (const Metric& metric : metrics) {
      const bool is_asked = asked.contains(metric.name);
      if (asked_alone && !is_asked) continue;
      const LabelSet& having = measured[metric.name];
      const bool has = having.contains(labels[0]) || having.contains(labels[i]);
      // The rate is always answered, because RateByLoad shows the loads by it.
      if (!is_asked && !has && metric.name != "rate") continue;
      answers.push_back({labels[i], metric, is_asked,
                         CompareSides(document, labels[0], labels[i], FigureOf(metric))});
    }
  }
  return answers;
}

std::vector<AbAnswer> Answers(const json& document, bool asked_alone) {
  std::vector<AbAnswer> answers = Uncorrected(document, asked_alone);
  const std::set<std::string> made_for = MadeFor(document);
  const auto is_made_for = [&](const AbAnswer& a) { return made_for.contains(a.metric.name); };
  Correct(&answers, is_made_for, CorrectByHolm);
  for (const std::string& name : Asked(document)) {
    if (made_for.contains(name)) continue;
    Correct(&answers, [&](const AbAnswer& a) { return a.metric.name == name; }, CorrectByHolm);
  }
  Correct(&answers, [](const AbAnswer& a) { return !a.asked; }, CorrectByHolm);
  return answers;
}

}  // namespace

std::set<std::string> MadeFor(const json& document) {
  return document.value("asked", std::set<std::string>{"rate"});
}

double MeanOfAll(const json& document, const std::string& side, const Metric& metric) {
  const Figure figure = FigureOf(metric);
  double sum = 0, weights = 0;
  for (const json& sample : document.at("samples")) {
    const double value = figure.value(sample), weight = sample.at(figure.weight);
    if (sample.at("side") != side || !std::isfinite(value)) continue;
    sum += value * weight;
    weights += weight;
  }
  return weights > 0 ? sum / weights : kUnknownValue;
}

std::vector<AbAnswer> AbAnswers(const json& document) { return Answers(document, false); }

std::vector<AbAnswer> AskedAnswers(const json& document) { return Answers(document, true); }

std::vector<SideEffects> RateByLoad(const json& document) {
  const std::vector<std::string> labels = Labels(document);
  const Figure rate = FigureOf(*FindMetric("rate"));
  std::vector<SideEffects> sides;
  for (size_t i = 1; i < labels.size(); ++i) {
    std::map<int, std::vector<Sample>> loads;
    for (const Sample& sample : SamplesOf(document, labels[0], labels[i], rate)) {
      loads[sample.load].push_back(sample);
    }
    const Answer whole = CompareSides(document, labels[0], labels[i], rate);
    SideEffects side{labels[i], {}};
    int compared = 0;
    for (const auto& [load, samples] : loads) {
      // An answer about a single load has an effect, but no interval.
      const Answer one = Compare(samples, {.pairing = Pairing::kLoads});
      const bool ratio = one.scale == Scale::kRatio && std::isfinite(one.effect);
      const bool counted = one.loads_a > 0 && compared++ < whole.loads_a;
      side.loads.push_back({load, ratio ? one.effect : kUnknownValue, counted});
    }
    sides.push_back(std::move(side));
  }
  return sides;
}

std::vector<Moved> MovedCounters(const json& document) {
  std::map<std::string, LabelSet> names;
  for (const json& sample : document.at("samples")) {
    for (const auto& [name, value] : sample.at("counters").items()) {
      if (!IsShown(name)) names[name].insert(sample.at("side"));
    }
  }
  const std::vector<std::string> labels = Labels(document);
  std::vector<Moved> moved;
  for (size_t i = 1; i < labels.size(); ++i) {
    for (const auto& [name, having] : names) {
      moved.push_back(
          {labels[i], name,
           CompareSides(document, labels[0], labels[i], FigureOfCounter(name, having))});
    }
  }
  Correct(&moved, [](const Moved&) { return true; }, ControlFalseDiscoveries);
  std::erase_if(moved, [](const Moved& m) {
    return m.answer.outcome != Outcome::kLess && m.answer.outcome != Outcome::kMore;
  });
  const auto size = [](const Moved& m) {
    return m.answer.scale == Scale::kRatio ? std::abs(std::log(m.answer.effect)) : HUGE_VAL;
  };
  std::stable_sort(moved.begin(), moved.end(),
                   [&](const Moved& x, const Moved& y) { return size(x) > size(y); });
  return moved;
}

std::vector<Judged> JudgeConditions(const json& document) {
  const std::vector<Condition> conditions = Conditions(document);
  std::vector<Judged> judged;
  if (conditions.empty()) return judged;
  const size_t n = conditions.size() * (Labels(document).size() - 1);
  for (const AbAnswer& answer : Uncorrected(document, true)) {
    for (const Condition& condition : conditions) {
      if (condition.metric != answer.metric.name) continue;
      judged.push_back({answer.side, condition, JudgeOneOf(n, condition, answer.answer)});
    }
  }
  return judged;
}

json AnswersJson(const json& document) {
  json all = json::array();
  for (const AbAnswer& a : AbAnswers(document)) {
    all.push_back({{"side", a.side},
                   {"metric", a.metric.name},
                   {"asked", a.asked},
                   {"answer", OutcomeText(a.answer, a.metric)},
                   {"a", FiniteJson(a.answer.a)},
                   {"b", FiniteJson(a.answer.b)},
                   {"p", a.answer.p},
                   {"loads", a.answer.loads_a}});
    all.back().update(EffectJson(a.answer));
  }
  return all;
}

json JudgementsJson(const json& document) {
  json all = json::array();
  for (const Judged& judged : JudgeConditions(document)) {
    all.push_back({{"side", judged.side},
                   {"condition", ConditionText(judged.condition)},
                   {"judgement", JudgementWords(judged.judgement)}});
  }
  return all;
}

bool IsAnswered(const json& document) {
  const std::vector<Judged> judged = JudgeConditions(document);
  if (!judged.empty()) {
    return std::none_of(judged.begin(), judged.end(),
                        [](const Judged& j) { return j.judgement == Judgement::kUnknown; });
  }
  const std::vector<AbAnswer> answers = AskedAnswers(document);
  return std::all_of(answers.begin(), answers.end(),
                     [](const AbAnswer& a) { return a.answer.told(); });
}

bool MayStillTell(const json& document) {
  if (document.at("loads").get<int>() < kLeastLoads) return true;
  const std::vector<Judged> judged = JudgeConditions(document);
  const auto is_open = [&](const AbAnswer& a) {
    if (judged.empty()) return !a.answer.told();
    return std::any_of(judged.begin(), judged.end(), [&](const Judged& j) {
      return j.side == a.side && j.condition.metric == a.metric.name &&
             j.judgement == Judgement::kUnknown;
    });
  };
  const std::vector<AbAnswer> answers = AskedAnswers(document);
  return std::any_of(answers.begin(), answers.end(), [&](const AbAnswer& a) {
    return is_open(a) && a.answer.reason != Reason::kNoValues;
  });
}

}  // namespace testbed
