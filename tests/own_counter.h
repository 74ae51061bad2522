// Finds one of the counters that have the engine's own names.
#ifndef TESTBED_TESTS_OWN_COUNTER_H_
#define TESTBED_TESTS_OWN_COUNTER_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "engines/engine.h"

namespace testbed {

// Returns the value of the counter among EngineCounters::more and EngineCounters::now. The test
// fails when it is in neither.
inline uint64_t OwnCounter(const EngineCounters& counters, const std::string& wanted) {
  for (const auto* list : {&counters.more, &counters.now}) {
    for (const auto& [name, value] : *list) {
      if (name == wanted) return value;
    }
  }
  ADD_FAILURE() << "no counter " << wanted;
  return 0;
}

}  // namespace testbed

#endif  // TESTBED_TESTS_OWN_COUNTER_H_
