// What a comparison (`testbed ab`) does with each option of a run: whether a side may have it for
// itself, or it holds for all sides, or it is refused. Each option is in one rule. A side that
// gives an option of no rule is refused, and a unit test fails that names the option.
//
//   const OptionRule* rule = FindOptionRule("record");
//   const bool refused = rule != nullptr && rule->use == OptionUse::kRefused;
//
// Names are without dashes in front. Thread-safe.
#ifndef TESTBED_TOOLS_AB_OPTION_RULES_H_
#define TESTBED_TOOLS_AB_OPTION_RULES_H_

#include <string>
#include <vector>

namespace testbed {

enum class OptionUse {
  kSide,     // A side may have the option for itself: the option is what is compared.
  kWork,     // A side may name the option; its value must be the same on all (CheckComparable).
  kCommon,   // The option holds for all sides, and is given outside of them alone.
  kRefused,  // The option is refused in a side and outside of the sides.
};

struct OptionRule {
  OptionUse use;
  // The reason for the rule. For kRefused it is the whole sentence that the user gets, which says
  // what to do. For kCommon it is the clause that the user's sentence has after "the same for all
  // sides". For kSide and kWork it is for readers of the code alone.
  const char* why;
  std::vector<const char*> names;
};

const std::vector<OptionRule>& OptionRules();

// Returns the options that make the rows. Sides that differ in one of them are not compared
// (CheckComparable), and neither are stored results (WhyNotComparable of
// tools/report/compare_terms.h). What an engine keeps beside the rows, such as indexes, may differ.
// The number of rows is the last, since it follows from the others where the user leaves it open: a
// sentence about the first one that differs names what the user gave.
const std::vector<const char*>& OptionsOfRows();

// Returns the rule that names the option; null when none does.
const OptionRule* FindOptionRule(const std::string& name);

}  // namespace testbed

#endif  // TESTBED_TOOLS_AB_OPTION_RULES_H_
