// Expects that `commit` throws the error of a database whose disk is full.
#ifndef TESTBED_TESTS_UNIT_ENGINES_FAILING_DISK_EXPECT_REFUSED_H_
#define TESTBED_TESTS_UNIT_ENGINES_FAILING_DISK_EXPECT_REFUSED_H_

#include <gtest/gtest.h>

#include <string>

#include "device/error.h"

namespace testbed {

template <typename Commit>
void ExpectRefused(const Commit& commit) {
  try {
    commit();
    ADD_FAILURE() << "no error";
  } catch (const Error& e) {
    EXPECT_TRUE(e.disk_is_full());
    EXPECT_NE(std::string(e.what()).find("takes no commits while its disk is full"),
              std::string::npos)
        << e.what();
  }
}

}  // namespace testbed

#endif  // TESTBED_TESTS_UNIT_ENGINES_FAILING_DISK_EXPECT_REFUSED_H_
