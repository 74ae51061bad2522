// What a comparison's samples say (docs/results.md, "testbed-ab"): everything is found anew from
// the document, so that a stored comparison is answered as a running one.
//
// Side "a" is the base; each other side is compared with it. What the comparison was made for is
// the rate; where the user or a trace set that it is p99, of several kinds of operation that of
// each. These metrics are corrected by Holm together, over all sides: of two sides the rate is
// tested at the whole level. Each metric of --fail-if was asked for by the user and is tested by
// itself, corrected for the number of sides. All other metrics are corrected by Holm together. The
// conditions of --fail-if are judged apart from these answers (JudgeConditions). Samples of the
// last load are used only when every side finished it. A document without "seconds" is that of a
// comparison that goes on: it is answered from the last look (tools/statistics/looks.h).
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

// Returns the names of the metrics that the comparison was made for, those of --fail-if apart: the
// rate, or, of operations at a rate that the user set, p99.
std::set<std::string> MadeFor(const nlohmann::json& document);

struct AbAnswer {
  std::string side;  // compared with the first
  Metric metric;
  bool asked = false;  // one of MadeFor, or a metric of --fail-if
  Answer answer;
};

// Returns the answers by side, and for each in the order of Metrics(), with the metrics of each
// kind of operation after those of the whole; metrics that were measured on neither side, or are 0
// on both, are left out. One that no load has of both sides is answered by Reason::kNoValues. All
// functions here throw nlohmann::json::exception for what is no comparison.
std::vector<AbAnswer> AbAnswers(const nlohmann::json& document);

// Returns the mean of a metric over all samples of a side, those of loads that were not finished
// included; NaN when it has none. It is what can be shown of a side whose metric has no answer.
double MeanOfAll(const nlohmann::json& document, const std::string& side, const Metric& metric);

// Returns the answers about the metrics that were asked for, alone and quickly.
std::vector<AbAnswer> AskedAnswers(const nlohmann::json& document);

// The rate of a side in one load, against the first side's in that load: what the answer about the
// rate is made of.
struct LoadEffect {
  int load = 0;
  double effect = kUnknownValue;  // the ratio; NaN where a side has no rate above 0 in this load
  bool counted = false;           // the answer is from this load; others wait for its next look
};
struct SideEffects {
  std::string side;
  std::vector<LoadEffect> loads;  // those that all sides finished
};
// Returns the effects of each side but the first.
std::vector<SideEffects> RateByLoad(const nlohmann::json& document);

// A counter of the engine, the kernel or the process whose change per operation is sure.
struct Moved {
  std::string side, counter;
  Answer answer;
};
// Returns the counters that changed, the largest change first; false discoveries are controlled.
// Counters that a metric shows are left out, and so are those that one of the sides does not have.
std::vector<Moved> MovedCounters(const nlohmann::json& document);

struct Judged {
  std::string side;
  Condition condition;
  Judgement judgement = Judgement::kUnknown;
};
// Returns what each --fail-if says about each side, by one-sided tests, each as one of the sides
// and conditions (JudgeOneOf): one that holds makes the whole comparison fail, and the comparison
// passes only when all of them are told not to hold.
std::vector<Judged> JudgeConditions(const nlohmann::json& document);

// Returns the answers as "answers" of the document has them, for programs that read it.
nlohmann::json AnswersJson(const nlohmann::json& document);

// Returns whether nothing is left to ask: every --fail-if is judged, or, without one,
// the metrics of MadeFor are told.
bool IsAnswered(const nlohmann::json& document);

// Returns whether more loads may tell something that was asked for and is not told yet. They do not
// where no load had the metric on both sides, as that of a level that is not counted. True for
// fewer than kLeastLoads loads.
bool MayStillTell(const nlohmann::json& document);

}  // namespace testbed

#endif  // TESTBED_TOOLS_AB_ANSWERS_H_
