// A limit of latency, as --find-rate takes it:
//
//   RateLimit limit = ParseRateLimit("--find-rate", "p99 < 5ms");
//   RateLimit of_reads = ParseRateLimit("--find-rate", "point-read p99.9 < 800us");
//
// The limit is of the latency from the intended start, which includes the wait for operations that
// were due before. Thread-safe.
#ifndef TESTBED_TOOLS_RATE_RATE_LIMIT_H_
#define TESTBED_TOOLS_RATE_RATE_LIMIT_H_

#include <cstdint>
#include <string>

namespace testbed {

struct RateLimit {
  std::string operation;  // the kind of operation that is limited; empty: all kinds
  double share = 0;       // share of them that must be faster: 0.99 for p99
  uint64_t limit_ns = 0;

  // Returns "p99", and "p99 < 5ms" with the operation before it.
  std::string PercentileName() const;
  std::string Text() const;
  // Returns how many operations a step must perform before it tells whether the limit is met, so
  // that kAbove of them are expected above the percentile. An operation is slower than the limit
  // with probability 1 - share, so of n operations about n (1 - share) are, with the root of that
  // number as standard deviation. When 100 are expected, the deviation is a tenth of them: where
  // truly 1 % are slower, a step finds 0.8 to 1.2 % (95 %).
  static constexpr double kAbove = 100;
  uint64_t OperationsNeeded() const;
};

// Parses [OPERATION] pN < TIME. Throws Error (kUsage), which names the option and what it takes.
RateLimit ParseRateLimit(const std::string& option, const std::string& text);

// Returns a time as the option takes it, in the largest unit that shows it whole: "5ms", "1500us".
std::string TimeText(uint64_t ns);

}  // namespace testbed

#endif  // TESTBED_TOOLS_RATE_RATE_LIMIT_H_
