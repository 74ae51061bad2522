#include "tools/output/progress.h"

#include <gtest/gtest.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace testbed {
namespace {

// Returns what a terminal of 30 columns gets when a progress line says the text.
std::string OnNarrowTerminal(const std::string& text) {
  const winsize size{.ws_row = 5, .ws_col = 30, .ws_xpixel = 0, .ws_ypixel = 0};
  int terminal = -1;
  const pid_t child = ::forkpty(&terminal, nullptr, nullptr, &size);
  if (child == 0) {
    ProgressLine line("what", {});
    line.Say(text);
    ::_exit(0);
  }
  std::string output;
  char bytes[512];
  for (ssize_t n; (n = ::read(terminal, bytes, sizeof bytes)) > 0;) {
    output.append(bytes, static_cast<size_t>(n));
  }
  ::waitpid(child, nullptr, 0);
  ::close(terminal);
  return output;
}

// Once, a longer line went on in the next one of the terminal, and each second left a line behind.
TEST(ProgressLineTest, ALineIsNoWiderThanTheTerminal) {
  const std::string begin = "\r\x1b[K";
  EXPECT_EQ(OnNarrowTerminal("short"), begin + "what: short");
  EXPECT_EQ(OnNarrowTerminal(std::string(100, 'x')), begin + "what: " + std::string(23, 'x'));
  std::string wide, shown;
  for (int i = 0; i < 100; ++i) wide += "\u00e9";
  for (int i = 0; i < 23; ++i) shown += "\u00e9";
  EXPECT_EQ(OnNarrowTerminal(wide), begin + "what: " + shown);
  EXPECT_EQ(OnNarrowTerminal("two\nlines\x1b[2J"), begin + "what: two lines [2J");
}

// The log of a job has a line for each time; a directory's name may have a line break.
TEST(ProgressLineTest, ALineOfALogIsOne) {
  testing::internal::CaptureStderr();
  ProgressLine("check two\nlines", {.quiet = false, .line_seconds = 1e-6}).Say("half\x1b[2J");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "check two lines: half [2J\n");
}

// A log has a line a minute, whichever cell of an experiment is running then.
TEST(ProgressLineTest, ALineOfALogBeginsWithThePlaceInThePlan) {
  testing::internal::CaptureStderr();
  ProgressLine("btree", {.quiet = false, .line_seconds = 1e-6, .before = "[9/27] "}).Say("half");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "[9/27] btree: half\n");
}

}  // namespace
}  // namespace testbed
