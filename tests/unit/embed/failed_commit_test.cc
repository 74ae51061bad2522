// Tests the C API on engines that fail: one whose commit fails and leaves its transaction open, and
// one that refuses to roll back and to take a checkpoint. Tests it on one whose checkpoint waits,
// too.
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "device/error.h"
#include "embed/testbed/testbed_engine.h"
#include "engines/registry.h"
#include "tests/own_dir.h"

namespace testbed {
namespace {

using StickyRows = std::map<std::string, std::string>;

class StickySession : public Session {
 public:
  explicit StickySession(StickyRows* rows) : rows_(rows) {}
  void Begin() override { own_ = *rows_; }
  void Commit() override { throw Error(Error::kIo, "the disk is gone", EIO); }
  void Rollback() override { own_.reset(); }
  bool Get(TableId, std::string_view key, std::string_view* value) override {
    const StickyRows& rows = own_ ? *own_ : *rows_;
    const auto at = rows.find(std::string(key));
    if (at != rows.end()) *value = at->second;
    return at != rows.end();
  }
  void Put(TableId, std::string_view key, std::string_view value) override {
    (own_ ? *own_ : *rows_)[std::string(key)] = value;
  }
  void Erase(TableId, std::string_view key) override {
    (own_ ? *own_ : *rows_).erase(std::string(key));
  }
  std::unique_ptr<Cursor> NewCursor(TableId) override { return nullptr; }

 private:
  StickyRows* const rows_;
  std::optional<StickyRows> own_;  // rows of the open transaction
};

class StickyEngine : public Engine {
 public:
  std::string name() const override { return "sticky"; }
  TableId OpenTable(const std::string&) override { return 0; }
  std::unique_ptr<Session> NewSession() override { return std::make_unique<StickySession>(&rows_); }
  void Flush() override {}
  void Checkpoint() override {}
  void Settle() override {}
  std::vector<std::pair<std::string, std::string>> EffectiveSettings() const override { return {}; }
  EngineCounters Counters() const override { return {}; }
  DiskSize SizeOnDisk() const override { return {}; }

 private:
  StickyRows rows_;
};

class RefusingSession : public StickySession {
 public:
  using StickySession::StickySession;
  void Rollback() override { throw Error(Error::kUsage, "it stays"); }
};

class RefusingEngine : public StickyEngine {
 public:
  std::unique_ptr<Session> NewSession() override {
    return std::make_unique<RefusingSession>(&rows_);
  }
  void Checkpoint() override { throw Error(Error::kUsage, "no checkpoint now"); }

 private:
  StickyRows rows_;
};

// Its first checkpoint waits for `goes_on`.
class WaitingEngine : public StickyEngine {
 public:
  void Checkpoint() override {
    if (waits.exchange(true)) return;
    waits.notify_all();
    goes_on.wait(false);
  }
  static inline std::atomic<bool> waits{false}, goes_on{false};
};

template <typename OfTest>
void AddEngineOfTest(const char* name) {
  EngineInfo info = FindEngine("null");
  info.name = name;
  info.recognises = [](const std::string&) { return false; };
  info.open = [](const std::string&, const EngineOptions&) -> std::unique_ptr<Engine> {
    return std::make_unique<OfTest>();
  };
  AddEngine(info);
}

// After TESTBED_USAGE a caller closes the rest and tries again, with a handle that would be gone.
TEST(CApiFailedClose, SaysThatTheHandleIsGone) {
  AddEngineOfTest<RefusingEngine>("refusing");
  const OwnDir dir;
  testbed_engine* engine = nullptr;
  testbed_session* session = nullptr;
  ASSERT_EQ(testbed_open("refusing", dir.path().c_str(), nullptr, &engine), TESTBED_OK)
      << testbed_error();
  ASSERT_EQ(testbed_session_open(engine, &session), TESTBED_OK);
  EXPECT_EQ(testbed_begin(session), TESTBED_OK);
  EXPECT_EQ(testbed_close(engine), TESTBED_USAGE) << "a session is open";
  EXPECT_EQ(testbed_session_close(session), TESTBED_FAILED);
  EXPECT_STREQ(testbed_error(), "it stays");
  EXPECT_EQ(testbed_close(engine), TESTBED_FAILED);
  EXPECT_STREQ(testbed_error(), "no checkpoint now");
}

// The engine would be freed under the call. A program closes a database while its backup is made.
TEST(CApiFailedClose, IsThatOfADatabaseWithACallOfAnotherThread) {
  AddEngineOfTest<WaitingEngine>("waiting");
  const OwnDir dir;
  testbed_engine* engine = nullptr;
  ASSERT_EQ(testbed_open("waiting", dir.path().c_str(), nullptr, &engine), TESTBED_OK)
      << testbed_error();
  testbed_status checkpoint = TESTBED_FAILED;
  std::thread other([&] { checkpoint = testbed_checkpoint(engine); });
  WaitingEngine::waits.wait(false);
  const testbed_status refused = testbed_close(engine);
  EXPECT_EQ(refused, TESTBED_USAGE);
  EXPECT_STREQ(testbed_error(), "another thread is in a call on the database: let it end first");
  WaitingEngine::goes_on = true;
  WaitingEngine::goes_on.notify_all();
  other.join();
  EXPECT_EQ(checkpoint, TESTBED_OK);
  if (refused == TESTBED_USAGE) {
    EXPECT_EQ(testbed_close(engine), TESTBED_OK) << testbed_error();
  }
}

TEST(CApiFailedCommit, TakesNoLaterWriteWithIt) {
  AddEngineOfTest<StickyEngine>("sticky");
  const OwnDir dir;
  testbed_engine* engine = nullptr;
  testbed_session *writer = nullptr, *reader = nullptr;
  ASSERT_EQ(testbed_open("sticky", dir.path().c_str(), nullptr, &engine), TESTBED_OK)
      << testbed_error();
  ASSERT_EQ(testbed_session_open(engine, &writer), TESTBED_OK);
  ASSERT_EQ(testbed_session_open(engine, &reader), TESTBED_OK);
  EXPECT_EQ(testbed_begin(writer), TESTBED_OK);
  EXPECT_EQ(testbed_put(writer, 0, "a", 1, "1", 1), TESTBED_OK);
  EXPECT_EQ(testbed_commit(writer), TESTBED_IO);
  EXPECT_STREQ(testbed_error(), "the disk is gone");
  EXPECT_EQ(testbed_error_number(), EIO);
  EXPECT_EQ(testbed_put(writer, 0, "b", 1, "2", 1), TESTBED_OK);
  const char* value = nullptr;
  size_t size = 0;
  EXPECT_EQ(testbed_get(reader, 0, "a", 1, &value, &size), TESTBED_NOT_FOUND);
  EXPECT_EQ(testbed_get(reader, 0, "b", 1, &value, &size), TESTBED_OK) << "a lost write";
  EXPECT_EQ(testbed_session_close(writer), TESTBED_OK);
  EXPECT_EQ(testbed_session_close(reader), TESTBED_OK);
  EXPECT_EQ(testbed_close(engine), TESTBED_OK);
}

}  // namespace
}  // namespace testbed
