// Tests a creation of a database of the engine `log` whose last step fails, and then the removal of
// its files as well.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

#include "device/error.h"
#include "engines/log/log_engine.h"
#include "engines/registry.h"
#include "tests/unit/engines/failing_disk/failing_disk.h"

namespace testbed {

EngineInfo LogEngineInfo();

namespace {

namespace fs = std::filesystem;

class LogCreationTest : public testing::Test {
 protected:
  LogCreationTest() {
    std::string pattern = testing::TempDir() + "log_creation_XXXXXX";
    dir_ = ::mkdtemp(pattern.data());
  }
  ~LogCreationTest() override { fs::remove_all(dir_); }

  // Returns the sentence of the error; empty when there is none.
  std::string Open() const {
    const EngineInfo info = LogEngineInfo();
    EngineOptions options = DefaultEngineOptions(info);
    options.durability = Durability::kSync;
    options.extra = {{"log_keep", "1M"}, {"log_segment", "1M"}};
    try {
      const auto engine = info.open(dir_, options);
      const auto session = engine->NewSession();
      session->Put(engine->OpenTable("t"), "key", "value");
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  }

  std::string dir_;
};

// After the cut all calls fail, even the removal of the files that were made.
TEST_F(LogCreationTest, WhatIsLeftOfItIsTakenByTheNext) {
  bool made = false;
  for (uint64_t calls = 0; !made; calls += 3) {
    SCOPED_TRACE(calls);
    fs::remove_all(dir_);
    fs::create_directory(dir_);
    {
      FailingDisk disk(dir_);
      disk.CutAfter(calls, 1);
      made = Open().empty();
    }
    EXPECT_EQ(Open(), "");
  }
}

// A directory has the name of the file with the names of tables, and one removal of a file fails as
// well.
TEST_F(LogCreationTest, SoIsWhatOneFailedRemovalLeaves) {
  const std::string in_the_way = dir_ + "/append-log/tables.new";
  for (uint64_t removals = 1; removals < 9; ++removals) {
    SCOPED_TRACE(removals);
    fs::create_directories(in_the_way + "/full");
    FailingDisk disk(dir_);
    disk.Fail({DiskCall::kUnlink, removals});
    EXPECT_TRUE(Open().starts_with("remove " + in_the_way));
    disk.Heal();
    fs::remove_all(in_the_way);
    EXPECT_EQ(Open(), "");
    fs::remove_all(dir_);
  }
}

}  // namespace
}  // namespace testbed
