// Tests a directory that is moved while its database is open, and another database that takes its
// name. An engine of ours that must then make, rename or remove a file by name must fail and change
// nothing in the other directory, and must have lost nothing when its own directory is back.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/contents.h"
#include "tests/engine/engine_test.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

// Options with which an engine soon needs another file.
const std::map<std::string, std::vector<std::pair<std::string, std::string>>> kSmallFiles = {
    {"btree", {{"checkpoint_log", "1M"}, {"log_segment", "1M"}}},
    {"fractal", {{"checkpoint_log", "1M"}, {"log_segment", "1M"}}},
    {"mmapv1", {{"journal_file_size", "4M"}}},
};

class MovedDirectoryTest : public EngineTest {
 public:
  // The others have IO of their own.
  static bool IsFor(const EngineCase& c) { return kSmallFiles.contains(c.engine); }

 protected:
  void SetUp() override {
    EngineTest::SetUp();
    if (IsSkipped()) return;
    options_.durability = Durability::kSync;
    for (const auto& [name, value] : kSmallFiles.at(info().name)) options_.extra[name] = value;
  }
  void TearDown() override {
    Close();
    fs::remove_all(dir_ + ".moved");
    fs::remove_all(dir_ + ".other");
    EngineTest::TearDown();
  }
};
TESTBED_FOR_EVERY_ENGINE(MovedDirectoryTest);

TEST_P(MovedDirectoryTest, WhatComesToItsNameIsLeftAlone) {
  constexpr uint64_t kMost = 3000;  // rows of 16 KiB
  Open();
  Load(100, 100);
  const std::string moved = dir_ + ".moved", other = dir_ + ".other";
  fs::copy(dir_, other, fs::copy_options::recursive);
  const auto before = ContentsOf(other);
  fs::rename(dir_, moved);
  fs::rename(other, dir_);
  uint64_t acknowledged = 100;
  std::string why;
  try {
    for (; acknowledged < kMost; ++acknowledged) {
      Put(RowKey(acknowledged), RowValue(acknowledged, 16 << 10));
    }
  } catch (const Error& e) {
    why = e.what();
  }
  EXPECT_NE(why.find("was moved"), std::string::npos) << why << ", " << acknowledged << " rows";
  try {
    Close();
  } catch (const Error&) {
    // The close may fail as well, when it must write a file.
  }
  fs::rename(dir_, other);
  auto after = ContentsOf(other);
  for (const auto& [path, content] : before) {
    EXPECT_TRUE(after.contains(path)) << path;
    EXPECT_TRUE(after[path] == content) << path << " has changed";
  }
  EXPECT_EQ(after.size(), before.size());
  fs::rename(moved, dir_);
  options_.create = false;
  Open();
  for (uint64_t row = 0; row < acknowledged; ++row) {
    ASSERT_EQ(Get(RowKey(row)), RowValue(row, row < 100 ? 100 : 16 << 10)) << row;
  }
}

}  // namespace
}  // namespace testbed
