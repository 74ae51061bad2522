// What is of the nightly run alone. Each run of the tests has each kind of check, where it could
// fail in a way of its own. The nightly run, which sets TESTBED_EVERY_IO_MODE=1, has the rest: the
// other IO modes, engines and seeds.
//
// Cases of a suite that are of the nightly run are an instance of it that is named EveryWay
// (INSTANTIATE_TEST_SUITE_P). tools/test.sh leaves out tests of this name unless the variable is
// set, so that no process is begun for them. A test that does more nightly asks EveryWay().
#ifndef TESTBED_TESTS_EVERY_WAY_H_
#define TESTBED_TESTS_EVERY_WAY_H_

#include <cstdlib>

namespace testbed {

// Returns whether the nightly run has set that tests are to leave nothing out.
inline bool EveryWay() { return std::getenv("TESTBED_EVERY_IO_MODE") != nullptr; }

}  // namespace testbed

#endif  // TESTBED_TESTS_EVERY_WAY_H_
