// The examples in the help of `testbed experiment`.
#ifndef TESTBED_TOOLS_EXPERIMENT_SWEEP_EXAMPLES_H_
#define TESTBED_TOOLS_EXPERIMENT_SWEEP_EXAMPLES_H_

#include <string>

namespace testbed {

// Returns the examples of `testbed experiment WORD`, where `word` is list, show, plan, cells or
// run. Returns those of the whole command for any other word, such as the name of an experiment.
std::string ExperimentExamples(const std::string& word);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_SWEEP_EXAMPLES_H_
