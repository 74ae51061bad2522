// Checks whether the cells of a table, or of a part of a finding, were compared on equal terms:
// engines held the same memory, their rounds had the same length and none ended early, and a round
// ran on one host.
#ifndef TESTBED_TOOLS_EXPERIMENT_VERDICT_EQUAL_TERMS_H_
#define TESTBED_TOOLS_EXPERIMENT_VERDICT_EQUAL_TERMS_H_

#include <string>
#include <vector>

#include "tools/experiment/results.h"

namespace testbed {

// Returns lines to print under a table that shows these cells; an empty string when the terms were
// equal. Only cells that differ in nothing but the engine are compared. When one of them held more
// than 10 % less memory than another, or when their planned rows, operations or seconds, the number
// of their measured phases or an option of the workload that plans a length differ, a line names
// each cell with its figure. An engine that could have used more memory, but never filled it, is
// marked. Another line tells of cells that differ in nothing but the way of reading, such as direct
// IO with half of the memory against buffered IO with all of it.
std::string UnequalTerms(const ResultSet& results, const std::vector<size_t>& cells);

// Returns a line to print under a part of a finding, without a line break; an empty string when the
// terms were equal. `compared` has, for each term of the part's statement, the cells that it names.
// The cells of a term need not differ in the engine alone: engines that have no way of reading in
// common are each measured in their own way. So when a cell has no counterpart of another engine in
// its term, all cells of the term with the same --ram are compared.
std::string UnequalMemory(const ResultSet& results,
                          const std::vector<std::vector<size_t>>& compared);

// Returns a line for each set of several hosts that together measured the cells of a round. The
// line names these rounds. Returns no line when each round ran on one host. Comparisons take rounds
// as blocks, so differences between hosts cancel only if a round runs on one host.
std::vector<std::string> HostsLines(const ResultSet& results, const std::vector<size_t>& cells);
// Returns the HostsLines of each term of a statement, each line once. `compared` has the cells of
// each term. Cells of different terms are not compared, so they may be of different hosts.
std::vector<std::string> HostsLinesOfTerms(const ResultSet& results,
                                           const std::vector<std::vector<size_t>>& compared);

// Returns a line with those of the cells in which a phase ended early, for want of rows, without a
// line break; an empty string when none did. Their figures are of less work than the others'.
std::string EndedEarlyText(const ResultSet& results, const std::vector<size_t>& cells);

// Returns the memory that each engine held in these cells, such as "btree 100 to 128 MiB, innodb 60
// MiB"; an empty string when it is not known.
std::string HeldText(const ResultSet& results, const std::vector<size_t>& cells);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_VERDICT_EQUAL_TERMS_H_
