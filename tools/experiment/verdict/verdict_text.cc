// The words of verdicts.
#include <fmt/format.h>

#include <string>

#include "tools/experiment/verdict/verdict.h"
#include "tools/output/table.h"

namespace testbed {

const char* OutcomeName(PartVerdict::Outcome outcome) {
  static constexpr const char* kNames[] = {"holds",
                                           "does not hold",
                                           "cannot be told from these figures",
                                           "holds in one round",
                                           "does not hold in one round",
                                           "not measured yet",
                                           "figure not known",
                                           "ambiguous",
                                           "not measured at this scale",
                                           "asked at another scale",
                                           "withheld",
                                           "waits for an engine",
                                           "untestable"};
  return kNames[outcome];
}

std::string OutcomeText(const PartVerdict& part) {
  std::string text = OutcomeName(part.outcome);
  if (part.certainty) {
    text += fmt::format(" (true in {} of resampled rounds", Percent(part.certainty->share()));
    if (part.outcome == PartVerdict::kCannotTell) {
      text += part.at_mean ? ", and at their mean" : ", not at their mean";
    }
    text += ")";
  }
  return part.because.empty() ? text : text + " (" + part.because + ")";
}

namespace {

std::string VerdictAlone(const Verdict& verdict) {
  static constexpr const char* kNames[] = {
      "reproduced",       "in part",          "not reproduced",      "cannot be told",
      "one round",        "untestable",       "waits for an engine", "withheld",
      "not measured yet", "figure not known", "ambiguous",           "not judged at this scale"};
  const std::string name = kNames[verdict.kind];
  const std::string elsewhere =
      verdict.elsewhere == 0 ? ""
                             : fmt::format("; {} more {} asked at another scale", verdict.elsewhere,
                                           verdict.elsewhere == 1 ? "is" : "are");
  switch (verdict.kind) {
    case Verdict::kOneRound:
      return fmt::format(
          "no verdict from one round, in which {} of {}{}{}", verdict.holding,
          Counted(verdict.counted, "part holds", "parts hold"),
          verdict.undecided == 0 ? "" : fmt::format(", {} undecided", verdict.undecided),
          elsewhere);
    case Verdict::kReproduced:
    case Verdict::kNotReproduced:
      if (elsewhere.empty()) return name;
      return fmt::format("{} as far as this scale asks ({} of {}{})", name, verdict.holding,
                         verdict.counted, elsewhere);
    case Verdict::kInPart:
    case Verdict::kCannotTell:
      return fmt::format(
          "{} ({} of {}{}{})", name, verdict.holding, verdict.counted,
          verdict.undecided == 0 ? "" : fmt::format(", {} undecided", verdict.undecided),
          elsewhere);
    case Verdict::kIncomplete:
      return verdict.counted == 0 && verdict.elsewhere != 0 ? "asked at another scale" : name;
    default:
      return name;
  }
}

}  // namespace

std::string VerdictText(const Verdict& verdict) {
  const std::string text = VerdictAlone(verdict);
  if (verdict.on_stand_in.empty()) return text;
  return fmt::format("{}, on a stand-in alone ({})", text, verdict.on_stand_in);
}

}  // namespace testbed
