// The answers of a comparison. They are computed from its document alone (docs/results.md,
// "testbed-ab"), so that a stored comparison gives the same answers as a running one.
//
// Side "a" is the base; each other side is compared with it. The comparison is made for the rate.
// When the user or a trace has set the rate, it is made for p99, and with several kinds of
// operations for the p99 of each. These metrics are corrected together by Holm's method, over all
// sides: with two sides the rate is tested at the whole level. Each metric of --fail-if was asked
// for by the user and is tested by itself, corrected for the number of sides. All other metrics are
// corrected together by Holm's method. The conditions of --fail-if are judged apart from these
// answers (JudgeConditions). Samples of the last load are used only when every side finished it. A
// document without "seconds" belongs to a comparison that goes on: its answers are those of the
// last look (tools/statistics/looks.h).
#ifndef TESTBED_TOOLS_AB_ANSWERS_H_
#define TESTBED_TOOLS_AB_ANSWERS_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tools/statistics/comparison.h"
#include "tools/statistics/condition.h"
#include "tools/statistics/metrics.h"

namespace testbed {

// Returns the names of the metrics that the comparison was made for: the rate or, when the user or
// a trace has set the rate, p99. Metrics of --fail-if are not included.
std::set<std::string> MadeFor(const nlohmann::json& document);

struct AbAnswer {
  std::string side;  // the side that is compared with the first one
  Metric metric;
  bool asked = false;  // one of MadeFor, or a metric of --fail-if
  Answer answer;
};

// Returns the answers by side, each side's in the order of Metrics(), with the metrics of each kind
// of operation after those of all operations. Metrics that were measured on neither side, or are 0
// on both, are left out, except the rate and those that were asked for. A metric that no load has
// on both sides is answered by Reason::kNoValues. All functions here throw
// nlohmann::json::exception when the document is no comparison.
std::vector<AbAnswer> AbAnswers(const nlohmann::json& document);

// Returns the mean of a metric over all samples of a side, including those of loads that were not
// finished; NaN when there is none. It can be shown when the metric has no answer.
double MeanOfAll(const nlohmann::json& document, const std::string& side, const Metric& metric);

// Returns only the answers about the metrics that were asked for. It is faster than AbAnswers.
std::vector<AbAnswer> AskedAnswers(const nlohmann::json& document);

// The effect of a side on the rate in one load: the ratio of its rate to the first side's in that
// load. The answer about the rate is computed from these effects.
struct LoadEffect {
  int load = 0;
  double effect = kUnknownValue;  // the ratio; NaN where a side has no rate above 0 in this load
  bool counted = false;           // the answer includes this load; else the load waits for a look
};
struct SideEffects {
  std::string side;
  std::vector<LoadEffect> loads;  // the loads that all sides finished
};
// Returns the effects of each side but the first.
std::vector<SideEffects> RateByLoad(const nlohmann::json& document);

// A counter of the engine, the kernel or the process whose change per operation is sure.
struct Moved {
  std::string side, counter;
  Answer answer;
};
// Returns the counters that changed, the largest change first, with the rate of false discoveries
// controlled. Counters that a metric shows are left out, and so are those that one side lacks.
std::vector<Moved> MovedCounters(const nlohmann::json& document);

struct Judged {
  std::string side;
  Condition condition;
  Judgement judgement = Judgement::kUnknown;
};
// Judges each condition of --fail-if on each side by one-sided tests. A single condition that holds
// on one side makes the comparison fail, and it passes only when none holds on any side for sure.
// So each judgement is corrected as one of sides times conditions (JudgeOneOf).
std::vector<Judged> JudgeConditions(const nlohmann::json& document);

// Returns the answers in the form of the document's "answers", for programs that read it.
nlohmann::json AnswersJson(const nlohmann::json& document);

// Returns what was judged of --fail-if in the form of the document's "judgements": for each side
// and condition `side`, `condition` ("rate < -3 %") and `judgement` ("holds", "does not hold" or
// "cannot be told"). They are what ended the comparison; the intervals of "answers" are corrected
// for both directions, and so may be wider.
nlohmann::json JudgementsJson(const nlohmann::json& document);

// Returns whether the comparison is answered: every condition of --fail-if is judged or, without
// conditions, every metric of MadeFor has an answer that tells.
bool IsAnswered(const nlohmann::json& document);

// Returns whether more loads may decide something that was asked for and is not decided yet. They
// cannot decide a metric that no load had on both sides, such as one of a level that is not
// counted. Returns true while there are fewer than kLeastLoads loads.
bool MayStillTell(const nlohmann::json& document);

}  // namespace testbed

#endif  // TESTBED_TOOLS_AB_ANSWERS_H_
