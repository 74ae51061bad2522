// Tests what is told of settings of the machine that do not reach a server that runs already.
#include "tools/run/surroundings.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "device/error.h"

namespace testbed {
namespace {

#ifdef TESTBED_HAVE_MYSQL
TEST(CheckServerMemoryTest, WhatDoesNotReachAServerThatRunsAlreadyIsTold) {
  RunOptions options;
  options.engine_name = "mysql";
  options.engine.extra = {{"connect", "mysql://me@h/"}};
  options.ram_bytes = 1 << 30;
  options.read_iops = 100;
  options.drop_caches = true;
  options.readahead_bytes = 4096;
  options.scratch_bytes = 1 << 30;
  const auto told = [&] {
    nlohmann::json document = {{"notes", nlohmann::json::array()},
                               {"not_in_force", nlohmann::json::array()}};
    CheckServerMemory(options, "", &document);
    std::vector<std::string> names;
    for (const auto& entry : document["not_in_force"]) names.push_back(entry["option"]);
    return names;
  };
  EXPECT_EQ(told(),
            (std::vector<std::string>{"ram", "read-iops", "drop-caches", "readahead", "scratch"}));
  options.ram_bytes = options.read_iops = 0;
  options.drop_caches = false;
  options.readahead_bytes.reset();
  options.strict = true;
  EXPECT_THROW(told(), Error);
  options.scratch_bytes = 0;
  EXPECT_TRUE(told().empty());
  options.scratch_bytes = 1 << 30;
  options.engine.extra.clear();
  EXPECT_TRUE(told().empty()) << "the run's own server is on the scratch device";
}
#endif

}  // namespace
}  // namespace testbed
