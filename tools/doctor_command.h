// `testbed doctor`: what this machine can and cannot measure, and how to change that.
#ifndef TESTBED_TOOLS_DOCTOR_COMMAND_H_
#define TESTBED_TOOLS_DOCTOR_COMMAND_H_

#include <string>

namespace testbed {

// `directory` is where databases would be.
std::string DoctorText(const std::string& directory);

}  // namespace testbed

#endif  // TESTBED_TOOLS_DOCTOR_COMMAND_H_
