// Tests how innodb changes the size of its buffer pool, with a stand-in for the server.
#ifdef TESTBED_HAVE_INNODB
#include "engines/innodb/pool_resize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "device/error.h"
#include "device/os/signal_guard.h"

namespace testbed::innodb {
namespace {

constexpr uint64_t kPool = 4 << 20;
constexpr std::chrono::milliseconds kNoPatience(0);

class ResizingServer {
 public:
  std::vector<std::vector<std::string>> Ask(const std::string& sql) {
    said.push_back(sql);
    constexpr std::string_view kSelect = "SELECT @@GLOBAL.", kSet = "SET GLOBAL ";
    if (sql.starts_with("SHOW GLOBAL STATUS")) return TellState();
    if (sql.starts_with(kSelect)) return {{variables.at(sql.substr(kSelect.size()))}};
    if (!sql.starts_with(kSet)) return {};
    const size_t equals = sql.find(" = ");
    const std::string name = sql.substr(kSet.size(), equals - kSet.size());
    if (name == "innodb_buffer_pool_size") Shrink(sql);
    variables.at(name) = sql.substr(equals + 3);
    return {};
  }
  // Returns the sentence with which ResizePool throws; empty when it returns.
  std::string Resize(std::chrono::milliseconds patience) {
    try {
      ResizePool([this](const std::string& sql) { return Ask(sql); }, kPool, patience);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::kRun);
      return error.what();
    }
    return "";
  }

  std::deque<std::string> refusals;  // answers to the next requests for a size
  std::deque<std::string> states;    // of the server's resize, in turn; the last one is repeated
  std::map<std::string, std::string> variables = {{"innodb_buffer_pool_size", "25165824"},
                                                  {"innodb_max_dirty_pages_pct", "90.000000"},
                                                  {"innodb_max_dirty_pages_pct_lwm", "10.000000"}};
  std::vector<std::string> said;
  std::vector<std::string> dirty_pages;  // innodb_max_dirty_pages_pct at each request for a size

 private:
  void Shrink(const std::string& sql) {
    dirty_pages.push_back(variables.at("innodb_max_dirty_pages_pct"));
    if (refusals.empty()) return;
    const std::string refusal = refusals.front();
    refusals.pop_front();
    throw Error(Error::kRun, "innodb: " + sql + ": " + refusal + " (1221)");
  }
  std::vector<std::vector<std::string>> TellState() {
    if (states.empty()) return {};
    const std::string state = states.front();
    if (states.size() > 1) states.pop_front();
    return {{"Innodb_buffer_pool_resize_status", state}};
  }
};

// The statement for a checkpoint returns only when no session writes. During a resize sessions may
// write for ever, so ResizePool must not use that statement.
TEST(InnodbPoolResizeTest, AShrinkThatTheServerGaveUpIsTriedAgainWithoutACheckpoint) {
  ResizingServer server;
  server.refusals.assign(2, "innodb_buffer_pool_size change aborted");
  auto wanted = server.variables;
  wanted["innodb_buffer_pool_size"] = std::to_string(kPool);
  EXPECT_EQ(server.Resize(kResizePatience), "");
  EXPECT_THAT(server.dirty_pages, testing::ElementsAre("90.000000", "0.001", "0.001"));
  EXPECT_EQ(server.variables, wanted);
  for (const std::string& sql : server.said) EXPECT_EQ(sql.find("checkpoint"), std::string::npos);
}

TEST(InnodbPoolResizeTest, AShrinkThatIsGivenUpEachTimeEnds) {
  ResizingServer server;
  server.refusals.assign(100, "innodb_buffer_pool_size change aborted");
  const auto before = server.variables;
  EXPECT_THAT(server.Resize(kNoPatience),
              testing::AllOf(testing::HasSubstr("shrink its buffer pool to 4194304 bytes"),
                             testing::HasSubstr("change aborted")));
  EXPECT_EQ(server.dirty_pages.size(), 1u);
  EXPECT_EQ(server.variables, before);
}

TEST(InnodbPoolResizeTest, AnyOtherRefusalIsTold) {
  ResizingServer server;
  server.refusals.assign(100, "Out of memory");
  EXPECT_THAT(server.Resize(kResizePatience), testing::HasSubstr("Out of memory"));
  EXPECT_EQ(server.dirty_pages.size(), 1u);
}

// An older server reports a failed resize by a state with other words, and keeps that state.
TEST(InnodbPoolResizeTest, AStateThatStaysIsNamed) {
  ResizingServer server;
  server.states = {"Withdrawing blocks to be shrunken.", "Resizing buffer pool failed"};
  EXPECT_THAT(server.Resize(kNoPatience), testing::HasSubstr("\"Resizing buffer pool failed\""));
}

TEST(InnodbPoolResizeTest, TheEndOfAResizeIsAwaitedWhileItsStateChanges) {
  ResizingServer server;
  server.states = {"Requested to resize buffer pool.", "Withdrawing blocks to be shrunken.",
                   "Resizing hash tables.", "Completed resizing buffer pool at 230620  3:46:45."};
  EXPECT_EQ(server.Resize(kNoPatience), "");
  EXPECT_EQ(server.states.size(), 1u);
}

TEST(InnodbPoolResizeTest, AResizeToTheSizeThatThePoolHasEndsAtOnce) {
  ResizingServer server;
  server.states = {"Size did not change (old size = new size = 4194304. Nothing to do.)"};
  EXPECT_EQ(server.Resize(kNoPatience), "");
  server.states = {""};
  EXPECT_EQ(server.Resize(kNoPatience), "");
}

TEST(InnodbPoolResizeTest, ARequestToStopEndsIt) {
  constexpr char kStopped[] =
      "the run was stopped while innodb changed the size of its buffer pool";
  const SignalGuard signals;
  ASSERT_EQ(std::raise(SIGTERM), 0);
  ResizingServer refuses, takes_long;
  refuses.refusals.assign(100, "innodb_buffer_pool_size change aborted");
  const auto before = refuses.variables;
  EXPECT_EQ(refuses.Resize(kResizePatience), kStopped);
  EXPECT_EQ(refuses.variables, before);
  takes_long.states = {"Withdrawing blocks to be shrunken."};
  EXPECT_EQ(takes_long.Resize(kResizePatience), kStopped);
}

}  // namespace
}  // namespace testbed::innodb
#endif
