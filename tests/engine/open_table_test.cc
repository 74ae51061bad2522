// Tests that tables are opened while a thread writes, with the libraries that let one thread write
// at a time: lmdb and mdbx.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "device/error.h"
#include "engines/registry.h"
#include "tests/engine/engine_test.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

class OpenTableTest : public testing::TestWithParam<std::string> {
 protected:
  OpenTableTest() {
    std::string pattern = fs::current_path() / "open_table_test_XXXXXX";
    dir_ = ::mkdtemp(pattern.data());
  }
  ~OpenTableTest() override {
    engine_.reset();
    std::error_code ignored;
    fs::remove_all(dir_, ignored);
  }
  void SetUp() override {
    const bool here = std::any_of(Engines().begin(), Engines().end(),
                                  [](const EngineInfo& info) { return info.name == GetParam(); });
    if (!here) GTEST_SKIP() << "not in this build";
    Open();
  }
  void Open() {
    engine_.reset();
    EngineOptions options = DefaultEngineOptions(FindEngine(GetParam()));
    options.durability = Durability::kNone;
    engine_ = OpenEngine(GetParam(), dir_, options);
  }

  std::string dir_;
  std::unique_ptr<Engine> engine_;
};

TEST_P(OpenTableTest, AThreadThatWritesDoesNotWaitForAThreadThatOpensATable) {
  ::alarm(60);  // the process ends when the threads wait for each other
  const TableId table = engine_->OpenTable("t");
  const auto session = engine_->NewSession();
  session->Begin();
  session->Put(table, "k", "v");
  std::atomic<bool> opened{false};
  TableId made = 0;
  std::thread opening([&] {
    made = engine_->OpenTable("new");  // waits for the end of the transaction
    opened = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_FALSE(opened.load());
  EXPECT_EQ(engine_->OpenTable("t"), table);
  for (const std::string name : {"new", "newer"}) {
    const std::string sentence = ErrorOf(Error::kRun, [&] { engine_->OpenTable(name); });
    EXPECT_NE(sentence.find("one writer"), std::string::npos) << sentence;
  }
  session->Commit();
  opening.join();
  ::alarm(0);
  EXPECT_EQ(engine_->OpenTable("new"), made);
  EXPECT_NE(made, table);
  session->Put(made, "k", "w");
  std::string_view value;
  ASSERT_TRUE(session->Get(table, "k", &value));
  EXPECT_EQ(value, "v");
  ASSERT_TRUE(session->Get(made, "k", &value));
  EXPECT_EQ(value, "w");
}

// The tables that the file has are opened with it, so a thread that writes may name any of them.
TEST_P(OpenTableTest, AThreadThatWritesMayOpenATableOfTheFile) {
  for (const char* name : {"a", "b"}) {
    const TableId table = engine_->OpenTable(name);
    engine_->NewSession()->Put(table, "k", name);
  }
  Open();
  const TableId b = engine_->OpenTable("b");
  const auto session = engine_->NewSession();
  session->Begin();
  session->Put(b, "l", "v");
  ::alarm(60);  // as above
  std::thread opening([&] { engine_->OpenTable("new"); });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const TableId a = engine_->OpenTable("a");
  std::string_view value;
  EXPECT_TRUE(session->Get(a, "k", &value));
  EXPECT_EQ(value, "a");
  session->Commit();
  opening.join();
  ::alarm(0);
}

INSTANTIATE_TEST_SUITE_P(Libraries, OpenTableTest, testing::Values("lmdb", "mdbx"),
                         [](const testing::TestParamInfo<std::string>& info) {
                           return info.param;
                         });

}  // namespace
}  // namespace testbed
