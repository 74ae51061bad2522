// Tests that a file is replaced as a whole, and that no other file is overwritten or removed for
// it.
#include <errno.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "device/error.h"
#include "device/file/file_faults.h"
#include "tools/output/output_file.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

class ReplaceFileTest : public testing::Test {
 protected:
  ReplaceFileTest() {
    std::string pattern = fs::current_path() / "replace_file_test_XXXXXX";
    dir_ = std::string(::mkdtemp(pattern.data())) + "/";
  }
  ~ReplaceFileTest() override {
    FileFaults::Clear();
    fs::remove_all(dir_);
  }
  std::string Contents(const std::string& name) const {
    std::ifstream in(dir_ + name);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  long Files() const { return std::distance(fs::directory_iterator(dir_), {}); }

  std::string dir_;
};

// The other file may even begin like the new text, such as a copy that the user made of the old
// file.
TEST_F(ReplaceFileTest, AFileBesideItStaysWhateverItsName) {
  const std::string text = "{\n  \"schema\": 2}";
  for (const std::string& theirs : {text, std::string(), std::string("theirs")}) {
    std::ofstream(dir_ + "a.json.new") << theirs;
    ReplaceFile(dir_ + "a.json", text);
    EXPECT_EQ(Contents("a.json"), text);
    EXPECT_TRUE(fs::exists(dir_ + "a.json.new"));
    EXPECT_EQ(Contents("a.json.new"), theirs);
  }
  EXPECT_EQ(Files(), 2);
}

TEST_F(ReplaceFileTest, WhatCannotBeWrittenLeavesTheOldFileAndNothingElse) {
  ReplaceFile(dir_ + "a.json", "old");
  for (uint64_t call = 0; call < 3; ++call) {
    FileFaults::Set(call, call + 1, EIO);
    EXPECT_THROW(ReplaceFile(dir_ + "a.json", "new"), Error);
    FileFaults::Clear();
    EXPECT_EQ(Contents("a.json"), "old");
    EXPECT_EQ(Files(), 1);
  }
}

TEST_F(ReplaceFileTest, TheNameOfAnUnfinishedFileTellsWhichItReplaces) {
  EXPECT_EQ(ReplacedBy("a.json.0123456789abcdef.new"), "a.json");
  for (const char* other :
       {"a.json.new", "a.json", ".0123456789abcdef.new", "a.0123456789ABCDEF.new",
        "a.0123456789abcde.new", "a.0123456789abcdef.new.new"}) {
    EXPECT_EQ(ReplacedBy(other), "") << other;
  }
}

}  // namespace
}  // namespace testbed
