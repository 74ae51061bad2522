// The testbed command.
#include "device/os/signal_guard.h"
#include "tools/command/command_line.h"
#include "tools/output/standard_streams.h"

int main(int argc, char** argv) {
  const testbed::SignalGuard signals;  // outlives all writes, as they may raise SIGPIPE
  testbed::StandardStreams streams;
  return streams.Close(testbed::RunCommandLine(argc, argv));
}
