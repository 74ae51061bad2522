// Tests what --live shows of a run's seconds, and the addresses that --metrics takes.
#include "tools/live/live_lines.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "device/error.h"
#include "tools/live/live_options.h"

namespace testbed {
namespace {

SecondReport SecondOf(double end, uint64_t operations, double max_us = 900) {
  SecondReport second{.phase = "mixed"};
  second.seconds = end;
  second.length = 1;
  second.fraction = end / 60;
  second.operations = operations;
  second.p50_us = 10;
  second.p99_us = 500;
  second.p999_us = 700;
  second.max_us = max_us;
  BlockCounts kernel{.reads = 1200, .read_bytes = 1200 << 12, .writes = 3, .write_bytes = 12288};
  second.causes = {{"update", "foreground", {}, {.reads = 1, .read_bytes = 4096}},
                   {"checkpoint", "background", {}, kernel}};
  second.counts_in_kernel = true;
  second.device = kernel;
  second.memory = {64 << 20, 30 << 20, 20 << 20, 1 << 20, 4, 5};
  return second;
}

// Returns the state of a run after so many seconds.
LiveState StateAfter(int seconds) {
  LiveState state;
  state.Begin("btree, 8 threads", "mixed", 0);
  for (int i = 1; i <= seconds; ++i) state.Add(SecondOf(i, 1000), i);
  return state;
}

std::string Joined(const std::vector<LiveLine>& lines) {
  std::string text;
  for (const LiveLine& line : lines) text += line.text + "\n";
  return text;
}

TEST(LiveLinesTest, TheScreenHasRateLatencyLedgerAndMemory) {
  const std::string text = Joined(LiveLines(StateAfter(12), 12.1, {.columns = 80, .rows = 24}));
  EXPECT_NE(text.find("btree, 8 threads   mixed   [####----------------] 20 %, 12 s, 48 s left\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("1,000 ops/s   p50 10 us   p99 500 us   p99.9 700 us   slowest 900 us\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("ops/s   ████████████  0 to 1,000\n"), std::string::npos) << text;
  EXPECT_NE(
      text.find("of 64M: process 30M, page cache 20M, kernel 1M\n        4 reclaims, 5 pages"),
      std::string::npos)
      << text;
  const size_t checkpoint = text.find("  checkpoint (background)        1,200");
  EXPECT_NE(checkpoint, std::string::npos) << text;
  EXPECT_LT(checkpoint, text.find("  update  ")) << "the heaviest first\n" << text;
  EXPECT_NE(text.find("  the whole device"), std::string::npos) << text;
}

TEST(LiveLinesTest, MemoryThatIsNotKnownIsNotShown) {
  LiveState state = StateAfter(2);
  SecondReport second = SecondOf(3, 1000);
  second.memory.reset();
  second.resident_bytes = 3 << 20;
  state.Add(second, 3);
  const LiveLook look{.columns = 80, .rows = 24};
  EXPECT_NE(Joined(LiveLines(state, 3, look)).find("memory  process 3M\n"), std::string::npos);
  second.resident_bytes = 0;
  state.Add(second, 4);
  EXPECT_NE(Joined(LiveLines(state, 4, look)).find("memory  process -\n"), std::string::npos);
}

// Once, such a thread had 18,446,744,073,709,551,615 reads.
TEST(LiveLinesTest, AThreadMayHaveFewerRequestsThanNone) {
  LiveState state = StateAfter(2);
  SecondReport second = SecondOf(3, 1000);
  second.causes[0].kernel.reads = ~uint64_t{0};
  state.Add(second, 3);
  const std::string text = Joined(LiveLines(state, 3, {.columns = 80, .rows = 24}));
  EXPECT_NE(text.find("  update" + std::string(28, ' ') + "-1"), std::string::npos) << text;
}

TEST(LiveLinesTest, AStallIsSeenAtItsSecondAndARunThatStandsStillWhileItDoes) {
  LiveState state = StateAfter(10);
  EXPECT_FALSE(state.StandsStill(11.9));
  EXPECT_TRUE(state.StandsStill(12.5));
  const std::vector<LiveLine> still = LiveLines(state, 12.5, {});
  EXPECT_EQ(still[1].text, "the run stands still: no report for 2 s");
  EXPECT_EQ(still[1].kind, LiveLine::Kind::kAlarm);
  EXPECT_EQ(LiveSummary(state, 12.5),
            "btree, 8 threads mixed: after 10.0 s stands still, no report for 2 s");
  state.Add(SecondOf(11, 2, 3e6), 13);
  EXPECT_TRUE(state.stalled());
  EXPECT_NE(Joined(LiveLines(state, 13, {})).find("stalled           !\n"), std::string::npos)
      << Joined(LiveLines(state, 13, {}));
  EXPECT_TRUE(LiveSummary(state, 13).ends_with(", stalled")) << LiveSummary(state, 13);
  state.Add(SecondOf(12, 1000), 14);
  EXPECT_FALSE(state.stalled());
  EXPECT_EQ(state.Stalls().size(), 1u);
}

TEST(LiveLinesTest, APhaseThatEndedDoesNotStandStill) {
  LiveState state = StateAfter(3);
  SecondReport rest = SecondOf(3.2, 100);
  rest.length = 0.2;
  rest.ended = true;
  state.Add(rest, 3.2);
  EXPECT_FALSE(state.StandsStill(20)) << "the counters are read when the device is at rest";
  state.Begin("btree, 8 threads", "settle", 8);
  EXPECT_FALSE(state.StandsStill(20)) << "a step without operations reports no seconds";
  EXPECT_NE(Joined(LiveLines(state, 20, {})).find("settle   for 12 s"), std::string::npos);
}

// Once, the line above the curve had the rate, and the curve was empty and went from "0 to 0".
TEST(LiveLinesTest, APhaseWithinASecondHasItsRateInTheCurve) {
  LiveState state;
  state.Begin("btree, 8 threads", "mixed", 0);
  SecondReport whole = SecondOf(0.2, 100);
  whole.length = 0.2;
  whole.ended = true;
  state.Add(whole, 0.2);
  const std::string text = Joined(LiveLines(state, 0.3, {}));
  EXPECT_NE(text.find("\n500 ops/s "), std::string::npos) << text;
  EXPECT_NE(text.find("\nops/s   █  0 to 500\n"), std::string::npos) << text;
}

TEST(LiveLinesTest, LinesFitTheTerminal) {
  LiveState state;
  state.Begin(std::string(300, 'x') + "\x1b[31m", "mixed", 0);
  for (int i = 1; i <= 200; ++i) state.Add(SecondOf(i, 1000), i);
  for (const size_t columns : {1u, 20u, 80u, 200u}) {
    for (const size_t rows : {1u, 5u, 24u}) {
      for (const bool ascii : {false, true}) {
        const auto lines =
            LiveLines(state, 200, {.columns = columns, .rows = rows, .ascii = ascii});
        EXPECT_LE(lines.size(), rows);
        for (const LiveLine& line : lines) {
          size_t characters = 0;
          for (const char c : line.text) {
            characters += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
            if (ascii) {
              EXPECT_LT(static_cast<unsigned char>(c), 0x80) << line.text;
            }
          }
          EXPECT_LE(characters, columns) << line.text;
          EXPECT_EQ(line.text.find('\x1b'), std::string::npos);
        }
      }
    }
  }
}

TEST(LiveOptionsTest, AnAddressIsAPortAloneOrAfterAnAddress) {
  const auto text = [](const std::string& given) {
    return ParseListenAddress("--metrics", given).Text();
  };
  EXPECT_EQ(text("9100"), "127.0.0.1:9100");
  EXPECT_EQ(text("0"), "127.0.0.1:0");
  EXPECT_EQ(text("localhost:65535"), "127.0.0.1:65535");
  EXPECT_EQ(text("0.0.0.0:80"), "0.0.0.0:80");
  for (const char* wrong :
       {"", "99999", "65536", "-1", "x", "80x", "1.2.3:1", "1.2.3.4:", ":80", "1.2.3.4.5:1",
        "[::1]:9100", "::1:80", "[1.2.3.4]:80", "host:80", "1e3"}) {
    try {
      text(wrong);
      ADD_FAILURE() << wrong << " is accepted";
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::kUsage);
      EXPECT_NE(std::string(e.what()).find("--metrics"), std::string::npos) << e.what();
      EXPECT_NE(std::string(e.what()).find("a port from 0 to 65535"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace testbed
