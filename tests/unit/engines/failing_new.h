// Lets one allocation of the calling thread fail, as for want of memory.
//
//   FailingNew::Set(17);  // the 18th `new` from here on throws std::bad_alloc
//   ...
//   const bool failed = FailingNew::Clear();
#ifndef TESTBED_TESTS_UNIT_ENGINES_FAILING_NEW_H_
#define TESTBED_TESTS_UNIT_ENGINES_FAILING_NEW_H_

#include <cstdint>

namespace testbed {

// FailingNew counts allocations by `new` without an explicit alignment. Each thread has its own
// count.
class FailingNew {
 public:
  static void Set(
      int64_t allocations);  // number of allocations that succeed before the failing one
  static bool Clear();       // returns whether an allocation has failed since Set
};

}  // namespace testbed

#endif  // TESTBED_TESTS_UNIT_ENGINES_FAILING_NEW_H_
