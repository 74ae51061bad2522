// The command line of the program: parses it and runs its command. An error becomes one line and an
// exit code here, and nowhere else.
#ifndef TESTBED_TOOLS_COMMAND_COMMAND_LINE_H_
#define TESTBED_TOOLS_COMMAND_COMMAND_LINE_H_

namespace testbed {

// Returns the exit code of the process. Throws nothing.
int RunCommandLine(int argc, char** argv);

}  // namespace testbed

#endif  // TESTBED_TOOLS_COMMAND_COMMAND_LINE_H_
