// The kinds of crashes of `testbed crashtest`, and the draws of what they hit.
#ifndef TESTBED_TOOLS_CRASHTEST_CRASH_KIND_H_
#define TESTBED_TOOLS_CRASHTEST_CRASH_KIND_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/crashtest/crash_process.h"
#include "tools/crashtest/crashtest.h"
#include "workloads/random.h"

namespace testbed {

enum class Crash : uint8_t { kKill, kPowerCut, kDiskCut, kDiskError };

// Returns the crash in words, such as "power cut during checkpoints".
std::string Describe(Crash crash, CrashPlace place);

// Returns the crash of the round, which is counted from 0: first come the kills, then the power
// cuts, the power cuts of the disk, and the disk errors.
Crash CrashOf(const CrashtestOptions& options, int round);

// Draws whether the check of a round, which is counted from 1, closes the database. A database that
// is not closed after its recovery must recover once more, which the check leaves to half of the
// rounds that another kill follows. Before a power cut the database is always closed: a commit that
// the check counts as found must be durable.
bool ClosesAfterCheck(const CrashtestOptions& options, int round, Random* random);

// Returns the clients that commit in a round, which is counted from 1: all of them, but in every
// eighth round one alone, whose commits share no sync with those of others.
std::vector<int> ClientsOf(const CrashtestOptions& options, int round);

// Draws the activity that a crash interrupts.
CrashPlace AnyPlace(Random* random);

// Draws a file in the directory `dir` and returns its path; an empty string when no file there has
// contents.
std::string AnyFileIn(const std::string& dir, Random* random);

}  // namespace testbed

#endif  // TESTBED_TOOLS_CRASHTEST_CRASH_KIND_H_
