// Tests Engine::Backup of each engine that has it (Capabilities::backup).
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/engine/engine_test.h"

namespace testbed {
namespace {

class BackupTest : public EngineTest {
 public:
  static bool IsFor(const EngineCase& c) { return FindEngine(c.engine).capabilities.backup; }

 protected:
  void SetUp() override {
    EngineTest::SetUp();
    copy_ = dir_ + ".backup";
  }
  void TearDown() override {
    EngineTest::TearDown();
    if (!copy_.empty()) std::filesystem::remove_all(copy_);
  }
  // Goes over to the copy.
  void OpenCopy() {
    Close();
    std::swap(dir_, copy_);
    Open();
  }
  std::string copy_;
};
TESTBED_FOR_EVERY_ENGINE(BackupTest);

TEST_P(BackupTest, HasTheRowsOfTheCallAndNoLaterOnes) {
  Open();
  Load(3000, 200);
  const std::vector<std::string> rows = Rows(table_);
  session_->Begin();
  Put("begun", "and not committed");
  engine_->Backup(copy_);
  session_->Commit();
  EXPECT_EQ(Rows(table_).size(), rows.size() + 1);
  OpenCopy();
  EXPECT_EQ(Rows(table_), rows);
}

// A transaction writes the same value to two rows that lie far apart.
TEST_P(BackupTest, HasNoPartOfATransaction) {
  Open();
  Load(5000, 200);
  Put("a pair", "0");
  Put("z pair", "0");
  std::atomic<bool> stop{false};
  std::atomic<int> committed{0};
  std::thread writer([&] {
    const auto session = engine_->NewSession();
    for (int i = 1; !stop; ++i) {
      session->Begin();
      session->Put(table_, "a pair", std::to_string(i));
      session->Put(table_, "z pair", std::to_string(i));
      session->Commit();
      committed = i;
    }
  });
  while (committed < 10) std::this_thread::yield();
  const int least = committed;
  engine_->Backup(copy_);
  stop = true;
  writer.join();
  OpenCopy();
  EXPECT_EQ(Get("a pair"), Get("z pair"));
  EXPECT_GE(std::stoi(Get("a pair")), least);
}

}  // namespace
}  // namespace testbed
