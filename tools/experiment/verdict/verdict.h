// The verdict on each finding of an experiment: which parts of the claim hold in what was measured.
#ifndef TESTBED_TOOLS_EXPERIMENT_VERDICT_VERDICT_H_
#define TESTBED_TOOLS_EXPERIMENT_VERDICT_VERDICT_H_

#include <optional>
#include <string>
#include <vector>

#include "tools/experiment/results.h"
#include "tools/experiment/verdict/resample.h"

namespace testbed {

struct PartVerdict {
  enum Outcome {
    kHolds,
    kDoesNotHold,
    kCannotTell,  // the rounds differ by more than what is asked
    kHoldsOnce,   // in the only round there is
    kFailsOnce,
    kNotMeasured,
    kNotAtScale,
    kAskedElsewhere,  // at other scales alone
    kWithheld,        // settings that it needs were refused
    kWaits,
    kUntestable
  };
  std::string says, published, ours, false_if;
  std::string stand_in;  // not empty: shown, and not counted for the verdict
  Outcome outcome = kNotMeasured;
  std::string because;  // which cell is missing, what was refused, what it waits for, ...
  // Of several rounds: how often the statement held when they were resampled (resample.h), and
  // whether it holds at the mean figures.
  std::optional<Certainty> certainty;
  bool at_mean = false;
};
const char* OutcomeName(PartVerdict::Outcome outcome);
// With the reason.
std::string OutcomeText(const PartVerdict& part);

struct Verdict {
  enum Kind {
    kReproduced,
    kInPart,
    kNotReproduced,
    kCannotTell,  // parts that cannot be told decide
    kOneRound,
    kUntestable,
    kWaits,
    kWithheld,
    kIncomplete
  };
  std::string id, claim, systems;
  Kind kind = kIncomplete;
  std::string because;
  // Parts; those that other scales ask are not counted.
  size_t holding = 0, undecided = 0, counted = 0, elsewhere = 0;
  std::vector<PartVerdict> parts;
  std::vector<std::string> mechanisms;  // what changed, as measured
};
// "in part (2 of 3)", "reproduced as far as this scale asks (3 of 5 parts)"
std::string VerdictText(const Verdict& verdict);

std::vector<Verdict> CheckFindings(const ResultSet& results);

// The first axis=label of the selection for which no cell is planned, with the rest of it; empty
// when there is a cell for each: only then can what names it be judged.
std::string UnplannedLabel(const std::vector<Cell>& cells, const Selection& selection);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_VERDICT_VERDICT_H_
