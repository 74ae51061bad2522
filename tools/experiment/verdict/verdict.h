// The verdict on each finding of an experiment: which parts of its claim hold for the measured
// figures.
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
    kCannotTell,  // the spread of the rounds, or a figure's grain, is too large to tell
    kHoldsOnce,   // it holds in the only round, which cannot show more
    kFailsOnce,
    kNotMeasured,     // a cell that it names is not finished
    kFigureUnknown,   // its cells are finished, but one of their figures is not known
    kAmbiguous,       // a selection names several cells where one is needed
    kNotAtScale,      // the scale has no cell that it names
    kAskedElsewhere,  // the part is checked only at other scales
    kWithheld,        // a setting was refused, or is not the published one for sure
    kWaits,           // an engine is not in this build
    kUntestable
  };
  std::string says, published, ours, false_if;
  std::string stand_in;  // a system measured in place of the published one; see on_stand_in
  Outcome outcome = kNotMeasured;
  std::string because;  // reason of the outcome: the missing cell, the refused setting, ...
  // With several rounds: the shares of resampled figures at which the statement was true
  // (resample.h), and whether it is true at the mean figures.
  std::optional<Certainty> certainty;
  bool at_mean = false;
  std::vector<size_t> cells;       // cells that the part compares; empty when it was not judged
  std::string unequal_memory;      // a line about the memory that these cells held (equal_terms.h)
  std::string ended_early;         // a line about those that ended early (equal_terms.h)
  std::vector<std::string> hosts;  // lines about the hosts on which they ran (equal_terms.h)
};
const char* OutcomeName(PartVerdict::Outcome outcome);
// Returns the outcome's name with the certainty and the reason.
std::string OutcomeText(const PartVerdict& part);

struct Verdict {
  enum Kind {
    kReproduced,
    kInPart,
    kNotReproduced,
    kCannotTell,  // the verdict depends on parts that are kCannotTell
    kOneRound,
    kUntestable,
    kWaits,
    kWithheld,
    kIncomplete,     // a cell is not finished
    kFigureUnknown,  // all cells are finished, and a figure is not known
    kAmbiguous,
    kNotAtScale  // a part names cells that the scale does not have
  };
  std::string id, claim, systems;
  Kind kind = kIncomplete;
  std::string because;
  // Numbers of parts. `counted` leaves out parts that are checked only at other scales, whose
  // number is `elsewhere`, and parts on stand-ins when other parts are of the published system.
  size_t holding = 0, undecided = 0, counted = 0, elsewhere = 0;
  // The names of the stand-ins when no part is of the published system. Parts on stand-ins are then
  // counted, and the text of the verdict says on which stand-ins it rests. Otherwise empty.
  std::string on_stand_in;
  std::vector<PartVerdict> parts;
  std::vector<std::string> mechanisms;  // measured explanations of a claim that does not hold
  std::string held;  // what each engine held in the cells of all parts (equal_terms.h)
};
// Returns a text such as "in part (2 of 3)".
std::string VerdictText(const Verdict& verdict);

// Returns the verdict on each finding, in the order of the experiment, and then on those that are
// judged again (again.h), of which there are cells.
std::vector<Verdict> CheckFindings(const ResultSet& results);

// Throws Error (kUsage) when a part that is asked at this scale, or a mechanism, cannot be judged
// on these cells, because it names several where one is needed.
void CheckSelections(const Experiment& experiment, const std::string& scale,
                     const std::vector<Cell>& cells);

// Returns the first axis=label of the selection for which no planned cell matches the rest of the
// selection; an empty string when there is a cell for each label. A statement can be judged only in
// the latter case.
std::string UnplannedLabel(const std::vector<Cell>& cells, const Selection& selection);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_VERDICT_VERDICT_H_
