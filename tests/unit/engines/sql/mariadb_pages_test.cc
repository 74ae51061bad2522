// Tests how a MariaDB server is made to write its pages, with a stand-in for the server.
#include "engines/sql/mariadb_pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "device/error.h"
#include "device/os/signal_guard.h"

namespace testbed::mariadb {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::chrono::milliseconds kNever = std::chrono::hours(24);

// A stand-in for a server. Between two looks at its state sessions write, and the page cleaner
// works.
class WritingServer {
 public:
  std::vector<std::vector<std::string>> Ask(const std::string& sql) {
    said.push_back(sql);
    constexpr std::string_view kSelect = "SELECT @@GLOBAL.", kSet = "SET GLOBAL ";
    if (sql == kCheckpointNow) {
      TakeCheckpoint();
    } else if (sql.starts_with(kSelect)) {
      return {{variables.at(sql.substr(kSelect.size()))}};
    } else if (sql.starts_with(kSet)) {
      const size_t equals = sql.find(" = ");
      variables.at(sql.substr(kSet.size(), equals - kSet.size())) = sql.substr(equals + 3);
    }
    return {};
  }
  PageState Look() {
    if (looks_with_writes > 0) {
      --looks_with_writes;
      state.log_end += kWritten;
      ++state.dirty_pages;
    }
    if (variables.at("innodb_max_dirty_pages_pct") == "0.001") {
      const uint64_t reached = std::min(state.checkpoint + cleaned, state.log_end - left);
      state.checkpoint = std::max(state.checkpoint, reached);
      if (looks_with_writes == 0) state.dirty_pages -= std::min(state.dirty_pages, pages_cleaned);
    }
    return state;
  }
  // Returns the sentence with which WritePages throws; empty when it returns.
  std::string Write(std::chrono::milliseconds at_rest,
                    std::chrono::milliseconds patience = kWritePatience,
                    bool has_statement = true) {
    try {
      WritePages(
          "innodb", [this](const std::string& sql) { return Ask(sql); }, [this] { return Look(); },
          {.has_statement = has_statement, .at_rest = at_rest, .patience = patience});
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::kRun);
      return error.what();
    }
    return "";
  }

  static constexpr uint64_t kWritten = 1000;  // bytes of log between two looks
  PageState state = {.log_end = 50'000, .checkpoint = 40'000, .dirty_pages = 7};
  int looks_with_writes = 0;  // number of next looks before which sessions write
  uint64_t cleaned = 0;       // bytes of log that the page cleaner gets on by between two looks
  // `left` is the bytes at the log's end that the page cleaner's checkpoints do not reach.
  // `pages_cleaned` is the pages that it writes between two looks when no session writes.
  uint64_t left = kWritten, pages_cleaned = UINT64_MAX;
  uint64_t dirty_at_checkpoint = 0;  // dirty pages when the statement was run last
  std::map<std::string, std::string> variables = {{"innodb_io_capacity", "1000"},
                                                  {"innodb_io_capacity_max", "2000"},
                                                  {"innodb_max_dirty_pages_pct", "90.000000"},
                                                  {"innodb_max_dirty_pages_pct_lwm", "10.000000"}};
  std::vector<std::string> said;

 private:
  void TakeCheckpoint() {
    dirty_at_checkpoint = state.dirty_pages;
    state.checkpoint = state.log_end;
    state.dirty_pages = 0;
    state.log_end += 16;  // the record of the checkpoint
  }
};

TEST(MariadbPagesTest, ACleanServerIsAskedForNothing) {
  WritingServer server;
  server.state = {.log_end = 50'016, .checkpoint = 50'000, .dirty_pages = 0};
  EXPECT_EQ(server.Write(kNever), "");
  EXPECT_THAT(server.said, IsEmpty());
}

TEST(MariadbPagesTest, WhereNobodyWritesAStatementDoesIt) {
  WritingServer server;
  EXPECT_EQ(server.Write(std::chrono::milliseconds(0)), "");
  EXPECT_EQ(server.state.dirty_pages, 0u);
  EXPECT_THAT(server.said, testing::ElementsAre(kCheckpointNow));
}

// The statement for a checkpoint returns only when no session writes, and here sessions write all
// the time.
TEST(MariadbPagesTest, WhileSessionsWriteThePageCleanerDoesIt) {
  WritingServer server;
  server.looks_with_writes = 1'000'000;
  server.cleaned = 3000;
  const auto before = server.variables;
  const uint64_t wanted = server.state.log_end + WritingServer::kWritten;  // of the first look
  EXPECT_EQ(server.Write(kNever), "");
  EXPECT_GE(server.state.checkpoint, wanted);
  EXPECT_EQ(server.variables, before);
  EXPECT_THAT(server.said, Not(Contains(kCheckpointNow)));
  // When innodb_max_dirty_pages_pct is lowered, the server lowers its low-water mark, too, and does
  // not raise it again by itself.
  EXPECT_THAT(server.said, Contains("SET GLOBAL innodb_max_dirty_pages_pct_lwm = 10.000000"));
}

// When no page is dirty any more, the page cleaner takes no checkpoint.
TEST(MariadbPagesTest, WhenSessionsPauseTheStatementEndsIt) {
  WritingServer server;
  server.looks_with_writes = 4;
  const auto before = server.variables;
  const uint64_t wanted = server.state.log_end + WritingServer::kWritten;  // of the first look
  EXPECT_EQ(server.Write(std::chrono::milliseconds(100)), "");
  EXPECT_GE(server.state.checkpoint, wanted);
  EXPECT_EQ(server.variables, before);
  EXPECT_THAT(server.said, Contains(kCheckpointNow));
}

// The log also stands still while sessions wait for pages to be written. They write again when the
// pages are written.
TEST(MariadbPagesTest, TheStatementWaitsUntilNoPageIsDirty) {
  WritingServer server;
  server.pages_cleaned = 2;
  EXPECT_EQ(server.Write(std::chrono::milliseconds(1)), "");
  EXPECT_THAT(server.said, Contains(kCheckpointNow));
  EXPECT_EQ(server.dirty_at_checkpoint, 0u);
}

// A checkpoint writes a record of at most 64 bytes to the log, behind the position that it covers.
TEST(MariadbPagesTest, WhatACheckpointWritesItselfIsNotWaitedFor) {
  WritingServer server;
  server.state = {.log_end = 50'064, .checkpoint = 50'000, .dirty_pages = 0};
  EXPECT_EQ(server.Write(std::chrono::milliseconds(0)), "");
  EXPECT_THAT(server.said, IsEmpty());
  server.state.log_end = 50'065;
  EXPECT_EQ(server.Write(std::chrono::milliseconds(0)), "");
  EXPECT_THAT(server.said, testing::ElementsAre(kCheckpointNow));
}

// MariaDB 10.1 has neither the statement nor the low-water mark. Its page cleaner's checkpoints
// reach the end of the log.
TEST(MariadbPagesTest, AnOldServerIsAskedForNothingThatItDoesNotKnow) {
  WritingServer server;
  server.variables.erase("innodb_max_dirty_pages_pct_lwm");
  server.cleaned = 3000;
  server.left = 0;
  server.looks_with_writes = 3;
  const auto before = server.variables;
  for (const auto at_rest : {std::chrono::milliseconds(1), std::chrono::milliseconds(0)}) {
    server.state = {.log_end = 50'000, .checkpoint = 40'000, .dirty_pages = 7};
    EXPECT_EQ(server.Write(at_rest, kWritePatience, false), "");
    EXPECT_GE(server.state.checkpoint, 50'000u);
    EXPECT_THAT(server.said, Not(Contains(kCheckpointNow)));
    EXPECT_EQ(server.variables, before);
  }
}

TEST(MariadbPagesTest, ARequestToStopEndsACheckpointWhileSessionsWrite) {
  WritingServer server;
  server.looks_with_writes = 1'000'000;
  const auto before = server.variables;
  {
    const SignalGuard signals;
    ASSERT_EQ(std::raise(SIGTERM), 0);
    EXPECT_EQ(server.Write(kNever), "the run was stopped while innodb took a checkpoint");
  }
  EXPECT_EQ(server.variables, before);
}

TEST(MariadbPagesTest, ACheckpointThatGetsNowhereEnds) {
  WritingServer server;
  server.looks_with_writes = 1'000'000;
  const auto before = server.variables;
  EXPECT_THAT(server.Write(kNever, std::chrono::milliseconds(0)),
              AllOf(HasSubstr("before log sequence number 51000"),
                    HasSubstr("a checkpoint at 40000 and 9 dirty pages")));
  EXPECT_EQ(server.variables, before);
}

TEST(MariadbPagesTest, TheStateIsThatOfTheStatus) {
  const PageState state = PageStateOf({{"lsn_current", 30},
                                       {"lsn_last_checkpoint", 20},
                                       {"buffer_pool_pages_dirty", 10},
                                       {"pages_read", 1}});
  EXPECT_EQ(state.log_end, 30u);
  EXPECT_EQ(state.checkpoint, 20u);
  EXPECT_EQ(state.dirty_pages, 10u);
  EXPECT_EQ(PageStateOf({}).log_end, 0u);
}

}  // namespace
}  // namespace testbed::mariadb
