// Sentences on runs that differ though their figures are averaged or compared.
#ifndef TESTBED_TOOLS_EXPERIMENT_VERDICT_MIXED_TEXTS_H_
#define TESTBED_TOOLS_EXPERIMENT_VERDICT_MIXED_TEXTS_H_

#include <string>
#include <vector>

#include "tools/experiment/results.h"

namespace testbed {

// Returns a sentence for each thing that differs between runs whose figures are averaged or
// compared: their machines, builds of testbed and versions of an engine, the memory, rows or device
// of a cell's rounds, and whether their engines' libraries have assertions.
std::vector<std::string> MixedTexts(const ResultSet& results);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_VERDICT_MIXED_TEXTS_H_
