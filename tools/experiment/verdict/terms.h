// Splits a statement into its terms, so that each term can be judged by itself.
//
// A statement like "a > b && b > c" asserts several things at once. When a, b and c are equal, each
// term is true in half of the resampled figures, but both together only in a sixth. So the share of
// the whole says little about whether the statement is false. The terms are found by the form of
// the text:
//
//   x && y                          both
//   x || y                          one of them
//   within(a, b, share)             a >= b - share * |b|, and a <= b + share * |b|
//   a > max(b, c), min(b, c) > a    a > b, and a > c (also >=, <, <=; 0.9 * max(b, c))
//   a > min(b, c), max(b, c) > a    one of them
//   argmax(a, b, c, 4, 8, 16) == 8  b >= a, and b >= c
//
// Any other text is a single term.
//
// A conjunction is true for sure when all of its terms are true for sure (an intersection-union
// test: Berger, "Multiparameter hypothesis testing and acceptance sampling", Technometrics 24,
// 1982). It is false for sure when one of its n terms is false at the level 1 - (1 - sure) / n
// (Bonferroni). For a disjunction it is the other way round. So a chain "a > b > c > d > e" of
// equal figures is called false in at most 5 of 100 experiments, whereas the share of the whole
// would call it false in 94.
#ifndef TESTBED_TOOLS_EXPERIMENT_VERDICT_TERMS_H_
#define TESTBED_TOOLS_EXPERIMENT_VERDICT_TERMS_H_

#include <string>
#include <vector>

#include "tools/experiment/verdict/resample.h"

namespace testbed {

struct Term {
  enum Kind { kOne, kAll, kAny };
  Kind kind = kOne;
  std::string text;         // the expression of a kOne
  std::vector<Term> parts;  // the two or more parts of a kAll or kAny
};

// Returns the terms of an expression for muParser, in which selections have been replaced by their
// arguments.
Term TermsOf(const std::string& expression);

// Returns both sides of the comparison that the text of a kOne is; none when it is no comparison.
std::vector<std::string> SidesOf(const std::string& text);

// A term by which a statement is true or false for sure, or is not: of terms that must all be sure,
// the one that is the least sure; of terms one of which must be, the one that is the most sure.
struct DecisiveTerm {
  std::string text;  // expression of the term, which is a kOne
  double share = 0;  // share of draws in which it is true, in the less sure way of drawing
  double asked = 0;  // share from which on it is true for sure, or up to which it is false
};

// Returns the term that decides whether the whole is true (`truth`) or false for sure, at the level
// `sure`.
// `certainties` has an entry for each term of the kind kOne, in their order.
DecisiveTerm Decisive(const Term& term, bool truth, const std::vector<Certainty>& certainties,
                      double sure = SureAtLook());

// These return whether the term is true or false for sure, at the level `sure`. `certainties` are
// those of Decisive.
bool TrueForSure(const Term& term, const std::vector<Certainty>& certainties,
                 double sure = SureAtLook());
bool FalseForSure(const Term& term, const std::vector<Certainty>& certainties,
                  double sure = SureAtLook());

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_VERDICT_TERMS_H_
