// The terms that a statement is made of, so that each can be judged for itself.
//
// A statement like "a > b && b > c" asks several things at once. Of equal a, b, c each term is true
// in half of the resampled figures and both together in a sixth: the share of the whole says little
// about whether it is false. The terms are found by the form of the text:
//
//   x && y                        both
//   x || y                        one of them
//   within(a, b, share)           a >= b - share * |b|, and a <= b + share * |b|
//   a > max(b, c), min(b, c) > a  a > b, and a > c (also >=, <, <=, and a number times max or min)
//   a > min(b, c), max(b, c) > a  one of them
//   argmax(a, b, c, 4, 8, 16) == 8  b >= a, and b >= c
//
// Anything else is a term of its own.
//
// A whole is true for sure when all of its terms are (an intersection-union test: Berger,
// "Multiparameter hypothesis testing and acceptance sampling", Technometrics 24, 1982), and false
// for sure when one of n is at the level 1 - 0.05 / n (Bonferroni); of alternatives, the other way
// round. So a chain "a > b > c > d > e" of equal figures is called false in at most 5 of 100
// experiments, and not in 94, as by its share.
#ifndef TESTBED_TOOLS_EXPERIMENT_VERDICT_TERMS_H_
#define TESTBED_TOOLS_EXPERIMENT_VERDICT_TERMS_H_

#include <string>
#include <vector>

#include "tools/experiment/verdict/resample.h"

namespace testbed {

struct Term {
  enum Kind { kOne, kAll, kAny };
  Kind kind = kOne;
  std::string text;         // of kOne: an expression
  std::vector<Term> parts;  // of kAll and kAny: two or more
};

// `expression` is one that muParser takes, in which selections stand as their arguments already.
Term TermsOf(const std::string& expression);

// Of one Certainty for each term of the kind kOne, in their order.
bool TrueForSure(const Term& term, const std::vector<Certainty>& certainties);
bool FalseForSure(const Term& term, const std::vector<Certainty>& certainties);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_VERDICT_TERMS_H_
