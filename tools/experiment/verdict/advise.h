// `testbed advise` recommends the page size, IO mode and cache share that serve a workload best on
// this machine. It measures them, and shows the evidence.
#ifndef TESTBED_TOOLS_EXPERIMENT_VERDICT_ADVISE_H_
#define TESTBED_TOOLS_EXPERIMENT_VERDICT_ADVISE_H_

#include <string>
#include <vector>

#include "tools/experiment/results.h"

namespace testbed {

// Returns the advice from the results of the experiment "advise": the options of the fastest cell,
// the rates of the next ones relative to it, and the reads and CPU time that explain them. It is
// from the whole rounds alone, those which all ways, or all finalists, finished. Without a finished
// cell, returns only the list of missing measurements. When a setting of a way was not in force,
// returns only that there is no advice, and why.
std::string AdviceText(const ResultSet& results);

// Returns the sentences of that advice on ways that cannot be told from the best one, and on
// measurements that it lacks; none when it is sure, or there is no advice.
std::vector<std::string> AdviceDoubts(const ResultSet& results);

// Returns whether the results are of the experiment "advise", with the metrics that the advice is
// from. Another experiment may have its name.
bool Advises(const ResultSet& results);

// The rounds in which all ways are measured before the finalists are measured on.
constexpr int kAdviseRounds = 3;

// Returns the names of the cells that cannot be told from the fastest by the first `rounds` rounds,
// as if there were no more; empty when the fastest is decided, or `rounds` is less than two. A cell
// that lacks one of these rounds is left out.
std::vector<std::string> Finalists(const ResultSet& results, int rounds);

// The ways are looked at after each round from the third on, and those that have lost are left out
// of the next. Each look is at a small level of its own, so that in at most 5 of 100 sessions of
// equal ways any two are told apart at some look, however many rounds there are. LookLevel returns
// it: 5 % / 8 up to the ninth round, the last of a session unless the user asks for more; the looks
// of all later rounds share the remaining eighth. It is 0 before the third round: from two rounds
// nothing is told.
double LookLevel(size_t rounds);

// Returns which of the ways with the most rounds cannot be told from the one of them with the
// largest mean, itself among them, by their indexes. `values` is indexed by way and round. Ways
// with fewer rounds had lost by then.
std::vector<size_t> NotToldFromBest(const std::vector<std::vector<double>>& values);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_VERDICT_ADVISE_H_
