#include "tools/history/history_store.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "device/error.h"

namespace testbed {
namespace {

// Once, the first result stayed when the disk was full, and the same command was refused for it
// when there was room again.
TEST(HistoryStoreTest, OfSeveralResultsAllAreAddedOrNone) {
  const std::string directory = testing::TempDir() + "history_store_" + std::to_string(::getpid());
  std::filesystem::remove_all(directory);
  const HistoryStore store(directory);
  std::vector<HistoryEntry> entries;
  for (const size_t bytes : {size_t{10}, size_t{1} << 20}) {
    const nlohmann::json document = {{"started", "2026-11-24T20:29:31Z"},
                                     {"label", std::string(bytes, 'x')}};
    entries.push_back({"main", "c1", document});
  }
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit limit = before;
  limit.rlim_cur = 64 << 10;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  EXPECT_THROW(store.Add(entries), Error);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(store.Read("main").size(), 0u);
  EXPECT_NO_THROW(store.Add(entries));
  EXPECT_EQ(store.Read("main").size(), 2u);
  std::filesystem::remove_all(directory);
}

// A killed process leaves the entries that it has added. Once, the same command was refused for
// them.
TEST(HistoryStoreTest, WhatAKilledProcessHasLeftOutIsAddedByTheSameCall) {
  const std::string directory = testing::TempDir() + "history_rest_" + std::to_string(::getpid());
  std::filesystem::remove_all(directory);
  const HistoryStore store(directory);
  std::vector<HistoryEntry> entries;
  for (const char* label : {"a", "b", "c", "d"}) {
    const nlohmann::json document = {{"started", "2026-11-24T20:29:31Z"}, {"label", label}};
    entries.push_back({"main", "c1", document});
  }
  const HistoryEntry last = entries.back();
  entries.pop_back();
  EXPECT_EQ(store.Add({entries[0]}), 1u);
  EXPECT_EQ(store.Add(entries), 2u);
  EXPECT_EQ(store.Read("main").size(), 3u);
  EXPECT_THROW(store.Add(entries), Error) << "all are there";
  EXPECT_THROW(store.Add({entries[0]}), Error);
  entries.push_back(last);
  entries[0].commit = "c2";
  EXPECT_THROW(store.Add(entries), Error) << "for another commit";
  EXPECT_EQ(store.Read("main").size(), 3u);
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace testbed
