// Splits a statement into its terms, so that each can be judged on its own.
//
// A statement like "a > b && b > c" asks several things at once. When a, b and c are equal, each
// term is true in half of the resampled figures and both together in a sixth: the share of the
// whole says little about whether it is false. The terms are recognised by the form of the text:
//
//   x && y                          both
//   x || y                          one of them
//   within(a, b, share)             a >= b - share * |b|, and a <= b + share * |b|
//   a > max(b, c), min(b, c) > a    a > b, and a > c (also >=, <, <=; 0.9 * max(b, c))
//   a > min(b, c), max(b, c) > a    one of them
//   argmax(a, b, c, 4, 8, 16) == 8  b >= a, and b >= c
//
// Any other expression is a single term.
//
// A conjunction is surely true when all of its terms are (an intersection-union test: Berger,
// "Multiparameter hypothesis testing and acceptance sampling", Technometrics 24, 1982), and surely
// false when one of its n terms is at the level 1 - 0.05 / n (Bonferroni). For alternatives the two
// are exchanged. So a chain "a > b > c > d > e" of equal figures is called false in at most 5 of
// 100 experiments, where its share alone would call it false in 94.
#ifndef TESTBED_TOOLS_EXPERIMENT_VERDICT_TERMS_H_
#define TESTBED_TOOLS_EXPERIMENT_VERDICT_TERMS_H_

#include <string>
#include <vector>

#include "tools/experiment/verdict/resample.h"

namespace testbed {

struct Term {
  enum Kind { kOne, kAll, kAny };
  Kind kind = kOne;
  std::string text;         // of kOne: the expression
  std::vector<Term> parts;  // of kAll and kAny: at least two
};

// Returns the terms of an expression for muParser in which selections are already replaced by their
// arguments.
Term TermsOf(const std::string& expression);

// `certainties` has one entry for each term of kind kOne, in their order.
bool TrueForSure(const Term& term, const std::vector<Certainty>& certainties);
bool FalseForSure(const Term& term, const std::vector<Certainty>& certainties);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_VERDICT_TERMS_H_
