// The testbed command.
#include <signal.h>

#include "device/os/signal_guard.h"
#include "tools/command/command_line.h"
#include "tools/output/standard_streams.h"

int main(int argc, char** argv) {
  // The signal gets its default action, because a parent that ignores SIGCHLD hands that on, and
  // the kernel then keeps no exit status of children.
  ::signal(SIGCHLD, SIG_DFL);
  const testbed::SignalGuard signals;  // outlives all writes, as they may raise SIGPIPE
  testbed::StandardStreams streams;
  return streams.Close(testbed::RunCommandLine(argc, argv));
}
