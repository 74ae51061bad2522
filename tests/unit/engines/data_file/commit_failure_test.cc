// Tests what an engine does after a commit or a sync that failed.
#include "engines/data_file/commit_failure.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <string>
#include <thread>

namespace testbed {
namespace {

std::string ToldBy(const CommitFailure& failure) {
  try {
    failure.ThrowIfAny();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(CommitFailureTest, KeepsTheFirstError) {
  CommitFailure failure;
  EXPECT_FALSE(failure.AfterCommit());
  EXPECT_EQ(ToldBy(failure), "");
  failure.Note(Error(Error::kIo, "the first", EIO));
  failure.Note(Error(Error::kIo, "the second", EIO));
  EXPECT_TRUE(failure.AfterCommit());
  EXPECT_EQ(ToldBy(failure), "the first");
}

TEST(CommitFailureTest, ASyncThatFailsIsTheLast) {
  CommitFailure failure;
  int syncs = 0;
  failure.Sync([&] { ++syncs; });
  EXPECT_THROW(failure.Sync([] { throw Error(Error::kIo, "sync", EIO); }), Error);
  EXPECT_THROW(failure.Sync([&] { ++syncs; }), Error);
  EXPECT_EQ(syncs, 1);
}

// The library may let the next writer in before the failed commit has reported its error.
TEST(CommitFailureTest, TheNextWriterWaitsForTheOutcomeOfTheCommitBefore) {
  CommitFailure failure;
  std::atomic<bool> let_in{false}, asks{false};
  std::thread next([&] {
    let_in.wait(false);
    asks.store(true);
    asks.notify_one();
    EXPECT_TRUE(failure.AfterCommit());
  });
  failure.Commit([&] {
    let_in.store(true);
    let_in.notify_one();
    asks.wait(false);
    failure.Note(Error(Error::kIo, "commit", EIO));
  });
  next.join();
}

// The kernel has reported the error of the write-back to the commit, so the sync beside it would
// succeed although its data are lost as well.
TEST(CommitFailureTest, ASyncWaitsForTheOutcomeOfACommitBesideIt) {
  CommitFailure failure;
  std::atomic<bool> committing{false}, synced{false};
  std::thread flush([&] {
    committing.wait(false);
    EXPECT_THROW(failure.Sync([&] {
      synced.store(true);
      synced.notify_one();
    }),
                 Error);
  });
  failure.Commit([&] {
    committing.store(true);
    committing.notify_one();
    synced.wait(false);
    failure.Note(Error(Error::kIo, "commit", EIO));
  });
  flush.join();
}

}  // namespace
}  // namespace testbed
