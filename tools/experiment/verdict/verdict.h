// Decides on each finding of an experiment: which parts of the claim the measurements confirm.
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
    kCannotTell,  // the rounds vary too much to decide
    kHoldsOnce,   // in the only round
    kFailsOnce,
    kNotMeasured,
    kNotAtScale,
    kAskedElsewhere,  // only at other scales
    kWithheld,        // settings that it needs were refused
    kWaits,
    kUntestable
  };
  std::string says, published, ours, false_if;
  std::string stand_in;  // not empty: shown, but not counted
  Outcome outcome = kNotMeasured;
  std::string because;  // the missing cell, the refused setting, the missing engine, ...
  // With several rounds: how often the statement was true in resampled rounds (resample.h), and
  // whether it is true at the mean figures.
  std::optional<Certainty> certainty;
  bool at_mean = false;
};
const char* OutcomeName(PartVerdict::Outcome outcome);
// Returns the outcome's name with the reason.
std::string OutcomeText(const PartVerdict& part);

struct Verdict {
  enum Kind {
    kReproduced,
    kInPart,
    kNotReproduced,
    kCannotTell,  // the verdict depends on undecided parts
    kOneRound,
    kUntestable,
    kWaits,
    kWithheld,
    kIncomplete
  };
  std::string id, claim, systems;
  Kind kind = kIncomplete;
  std::string because;
  // Numbers of parts; parts for other scales count only in `elsewhere`.
  size_t holding = 0, undecided = 0, counted = 0, elsewhere = 0;
  std::vector<PartVerdict> parts;
  std::vector<std::string> mechanisms;  // measured facts that differ, shown when the claim is not
                                        // reproduced
};
// Returns a text such as "in part (2 of 3)" or "reproduced as far as this scale asks (3 of 5; 2
// more are asked at another scale)".
std::string VerdictText(const Verdict& verdict);

// Returns the verdict on each finding, in the order of the experiment.
std::vector<Verdict> CheckFindings(const ResultSet& results);

// Returns the first axis=label of the selection for which, together with its other conditions, no
// cell is planned. Returns "" when every label has a cell; only then can a part that names the
// selection be judged.
std::string UnplannedLabel(const std::vector<Cell>& cells, const Selection& selection);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_VERDICT_VERDICT_H_
