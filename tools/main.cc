// The testbed command.
#include "device/os/signal_guard.h"
#include "tools/command/command_line.h"
#include "tools/output/standard_streams.h"

int main(int argc, char** argv) {
  const testbed::SignalGuard signals;  // until all is written: it makes a closed pipe no death
  testbed::StandardStreams streams;
  return streams.Close(testbed::RunCommandLine(argc, argv));
}
