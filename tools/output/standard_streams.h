// Standard output and standard error of the program, whose readers may go away: `testbed ... |
// head` closes the pipe while a run goes on.
//
//   int main() {
//     StandardStreams streams;      // before anything is printed
//     int code = Run();             // prints by stdout and stderr as usual
//     return streams.Close(code);
//   }
//
// Replaces the C streams `stdout` and `stderr` by streams whose writes never fail: what nobody can
// read is dropped, and the program goes on to its results files. The program's handler of SIGPIPE
// (SignalGuard) makes such a write return EPIPE. A forked child inherits the streams. At most one
// object lives at a time. stdout and stderr are as thread-safe as they were.
#ifndef TESTBED_TOOLS_OUTPUT_STANDARD_STREAMS_H_
#define TESTBED_TOOLS_OUTPUT_STANDARD_STREAMS_H_

#include <functional>

namespace testbed {

class StandardStreams {
 public:
  StandardStreams();
  StandardStreams(const StandardStreams&) = delete;
  StandardStreams& operator=(const StandardStreams&) = delete;
  // Writes what is still buffered. Returns `code`; when standard output could not be written for
  // another reason than a reader that went away, such as a full disk or a descriptor that was
  // closed from the start, says so on standard error and returns 1 instead of 0.
  int Close(int code);
};

// Returns whether something that was printed could not be written to standard output, for another
// reason than a reader that went away. What is still buffered is not known here: flush stdout
// first. It is for commands whose exit code 1 says something else; the sentence for the user is
// Close's.
bool StandardOutputLost();

// Returns the exit code of `command`, whose code 1 is a judgement, such as that a condition holds,
// and means nothing else. So it returns 2 in place of any code but 1 when printed text is lost
// (StandardOutputLost). An error that would end the program with 1, such as an output on a full
// disk or want of memory, is thrown as Error (kUsage), which ends it with 2.
int JudgedOrFailed(const std::function<int()>& command);

}  // namespace testbed

#endif  // TESTBED_TOOLS_OUTPUT_STANDARD_STREAMS_H_
