// Tests that a database whose creation did not end is made anew, and nothing else is: a log with
// records belongs to a database whose data file is missing.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "device/error.h"
#include "engines/registry.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

class UnfinishedCreationTest : public testing::TestWithParam<std::string> {
 protected:
  UnfinishedCreationTest() {
    std::string pattern = fs::current_path() / "unfinished_creation_XXXXXX";
    dir_ = ::mkdtemp(pattern.data());
    data_ = dir_ + "/" + GetParam() + ".data";
    log_ = dir_ + "/" + GetParam() + ".log";
  }
  ~UnfinishedCreationTest() override { fs::remove_all(dir_); }

  std::unique_ptr<Engine> Open() {
    EngineOptions options = DefaultEngineOptions(FindEngine(GetParam()));
    options.durability = Durability::kSync;
    return OpenEngine(GetParam(), dir_, options);
  }
  void Write(const std::string& key) {
    const auto engine = Open();
    engine->NewSession()->Put(engine->OpenTable("t"), key, "value");
  }
  bool Has(const std::string& key) {
    const auto engine = Open();
    std::string_view value;
    return engine->NewSession()->Get(engine->OpenTable("t"), key, &value);
  }

  std::string dir_, data_, log_;
};

TEST_P(UnfinishedCreationTest, ALogWithRecordsIsKept) {
  Write("a");
  fs::rename(data_, data_ + ".away");
  std::ofstream(data_ + ".new") << "unfinished";
  try {
    Open();
    FAIL() << "it was made anew";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::kCorruption);
    EXPECT_NE(std::string(e.what()).find(log_ + "/log-"), std::string::npos) << e.what();
  }
  fs::rename(data_ + ".away", data_);
  EXPECT_TRUE(Has("a"));
}

TEST_P(UnfinishedCreationTest, ALogThatWasNeverWrittenToIsMadeAnewAndOtherFilesStay) {
  std::ofstream(data_ + ".new") << "unfinished";
  fs::create_directory(log_);
  std::ofstream(log_ + "/log-000001") << "half a header";
  std::ofstream(log_ + "/notes") << "theirs";
  Write("a");
  EXPECT_TRUE(Has("a"));
  EXPECT_TRUE(fs::exists(log_ + "/notes"));
  EXPECT_FALSE(fs::exists(data_ + ".new"));
}

INSTANTIATE_TEST_SUITE_P(Engines, UnfinishedCreationTest, testing::Values("btree", "fractal"));

}  // namespace
}  // namespace testbed
