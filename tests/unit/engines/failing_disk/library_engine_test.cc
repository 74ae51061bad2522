// Tests what the adapters of libraries must do on a failing disk, because the libraries do not.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>

#include "device/error.h"
#include "device/file/file.h"
#include "device/file/file_faults.h"
#include "engines/registry.h"
#include "tests/unit/engines/failing_disk/failing_disk.h"
#ifdef TESTBED_HAVE_SQLITE
#include "engines/sqlite/vfs.h"
#endif

namespace testbed {
namespace {

namespace fs = std::filesystem;

class LibraryEngineTest : public testing::Test {
 protected:
  LibraryEngineTest() {
    std::string pattern = fs::current_path() / "library_engine_XXXXXX";
    base_ = ::mkdtemp(pattern.data());
    dir_ = base_ + "/disk";
    fs::create_directory(dir_);
  }
  ~LibraryEngineTest() override {
    Close();
    fs::remove_all(base_);
  }
  static bool Has(const std::string& engine) {
    return std::any_of(Engines().begin(), Engines().end(),
                       [&](const EngineInfo& info) { return info.name == engine; });
  }
  void Open(const std::string& engine, const std::string& dir,
            Durability durability = Durability::kSync) {
    Close();
    EngineOptions options = DefaultEngineOptions(FindEngine(engine));
    options.durability = durability;
    options.lazy_interval_ms = 1;
    engine_ = OpenEngine(engine, dir, options);
    table_ = engine_->OpenTable("t");
    session_ = engine_->NewSession();
  }
  void Close() {
    session_.reset();
    engine_.reset();
  }
  void Put(const std::string& key) { session_->Put(table_, key, std::string(3000, 'v')); }
  template <typename Action>
  static bool Refused(const Action& action) {
    try {
      action();
      return false;
    } catch (const Error&) {
      return true;
    }
  }
  bool HasRow(const std::string& key) {
    std::string_view value;
    return session_->Get(table_, key, &value);
  }

  std::string base_, dir_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Session> session_;
  TableId table_ = 0;
};

// The library makes the names of its files durable, but not the name of the directory.
TEST_F(LibraryEngineTest, TheDirectoryOfANewDatabaseIsDurable) {
  EngineInfo info;
  info.name = "library";
  info.capabilities = FindEngine("btree").capabilities;
  info.recognises = [](const std::string& dir) { return fs::exists(dir + "/data"); };
  info.open = [](const std::string& dir, const EngineOptions&) -> std::unique_ptr<Engine> {
    FileOptions options;
    options.create = FileOptions::kMayExist;
    const auto file = File::Open(dir + "/data", options);
    file->Write(0, "x", 1);
    file->Sync();
    SyncDirectory(dir);
    return nullptr;
  };
  for (uint64_t seed = 0; seed < 8; ++seed) {
    const std::string below = std::to_string(seed) + "/a/b", cut = base_ + "/cut";
    {
      FailingDisk disk(dir_);
      // Another program has made a part of the path, without a sync.
      if (seed % 2 == 0) fs::create_directories(dir_ + "/" + std::to_string(seed) + "/a");
      OpenEngine(info, dir_ + "/" + below, DefaultEngineOptions(FindEngine("btree")));
      disk.Cut(seed);
      disk.CopyTo(cut);
    }
    EXPECT_TRUE(fs::exists(cut + "/" + below + "/data")) << seed;
    fs::remove_all(cut);
  }
}

TEST_F(LibraryEngineTest, AfterACommitThatFailedLmdbAndMdbxTakeNoneUntilTheyAreOpenedAgain) {
  for (const std::string engine : {"lmdb", "mdbx"}) {
    if (!Has(engine)) continue;
    // The libraries write by calls that the disk does not see, too.
    uint64_t failed = 0;
    for (const DiskCall call : {DiskCall::kSync, DiskCall::kWrite}) {
      SCOPED_TRACE(engine + " " + std::to_string(static_cast<int>(call)));
      const std::string dir = dir_ + "/" + engine + std::to_string(static_cast<int>(call));
      FailingDisk disk(dir_);
      Open(engine, dir);
      Put("a");
      disk.Fail({call, 0, EIO});
      const bool told = Refused([&] { Put("b"); });
      disk.Heal();
      EXPECT_EQ(told, disk.failed() > 0);
      if (!told) continue;
      ++failed;
      for (int i = 0; i < 2; ++i) EXPECT_TRUE(Refused([&] { Put("c"); }));
      EXPECT_TRUE(Refused([&] { engine_->Flush(); }));
      Open(engine, dir);
      EXPECT_TRUE(HasRow("a"));
      EXPECT_FALSE(HasRow("c"));
      Put("c");
      EXPECT_TRUE(HasRow("c"));
      Close();
    }
    EXPECT_GT(failed, 0u) << engine << " made no call that could fail";
  }
}

// The process before may have been killed and have left commits in the page cache alone. libmdbx
// knows whether it has, and syncs nothing after a close in order.
TEST_F(LibraryEngineTest, WhatAnOpeningFindsIsDurable) {
  for (const std::string engine : {"lmdb", "sqlite"}) {
    if (!Has(engine)) continue;
    const std::string dir = dir_ + "/" + engine;
    FailingDisk disk(dir_);
    Open(engine, dir, Durability::kNone);
    Put("a");
    for (const DiskCall call : {DiskCall::kSync, DiskCall::kSyncDirectory}) {
      SCOPED_TRACE(engine + " " + std::to_string(static_cast<int>(call)));
      Close();
      disk.Fail({call});  // counts these calls
      Open(engine, dir, Durability::kNone);
      EXPECT_GT(disk.calls(), 0u);
    }
    Close();
  }
}

// The lazy thread's sync may wait for the thread that writes.
TEST_F(LibraryEngineTest, AThreadThatWritesMakesCommitsDurableBesideTheLazyThread) {
  for (const char* engine : {"lmdb", "mdbx"}) {
    if (!Has(engine)) continue;
    SCOPED_TRACE(engine);
    Open(engine, dir_ + "/" + engine, Durability::kLazy);
    for (int i = 0; i < 300; ++i) {
      session_->Begin();
      Put(std::to_string(i));
      engine_->Checkpoint();
      session_->Commit();
    }
  }
}

// The kernel accepts no data that a full disk refuses, so nothing is lost unless a write-back has
// failed, and there may be room later.
TEST_F(LibraryEngineTest, AfterAFullDiskLmdbGoesOn) {
  if (!Has("lmdb")) GTEST_SKIP() << "not in this build";
  FailingDisk disk(dir_);
  Open("lmdb", dir_ + "/lmdb");
  Put("a");
  disk.Fail({DiskCall::kSync, 0, ENOSPC});
  try {
    Put("b");
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_TRUE(error.disk_is_full()) << error.what();
  }
  disk.Heal();
  Put("c");
  EXPECT_TRUE(HasRow("a") && HasRow("c"));
  Close();
}

#ifdef TESTBED_HAVE_SQLITE
// After the failed sync, the page cache has frames of the log that the device lacks.
TEST_F(LibraryEngineTest, SqliteDoesNotBuildOnAFailedSyncAfterItIsOpenedAgain) {
  for (uint64_t seed = 0; seed < 4; ++seed) {
    const std::string dir = dir_ + "/" + std::to_string(seed), cut = base_ + "/cut";
    FailingDisk disk(dir_);
    Open("sqlite", dir);
    Put("a");
    disk.Fail({DiskCall::kSync, 0, EIO});
    EXPECT_THROW(Put("b"), Error);
    ASSERT_EQ(disk.failed(), 1u);
    Close();
    disk.Heal();
    ASSERT_TRUE(fs::exists(dir + "/data.sqlite-wal"));
    Open("sqlite", dir);
    Put("c");
    disk.Cut(seed);
    disk.CopyTo(cut);
    Close();
    Open("sqlite", cut + "/" + std::to_string(seed));
    EXPECT_TRUE(HasRow("a")) << seed;
    EXPECT_TRUE(HasRow("c")) << seed;
    Close();
    fs::remove_all(cut);
  }
}

// The process that made the log may have been killed before it synced the directory.
TEST_F(LibraryEngineTest, TheNameOfALogThatSqliteFindsIsDurable) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    const std::string dir = dir_ + "/" + std::to_string(seed), cut = base_ + "/cut";
    const std::string log = dir + "/data.sqlite-wal";
    FailingDisk disk(dir_);
    Open("sqlite", dir, Durability::kNone);
    Put("a");
    std::ifstream in(log, std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(in), {});
    Close();
    ASSERT_FALSE(fs::exists(log));
    FileOptions options;
    options.kind = FileKind::kLog;
    options.create = FileOptions::kMustCreate;
    File::Open(log, options)->Write(0, bytes.data(), bytes.size());
    Open("sqlite", dir);
    Put("b");
    disk.Cut(seed);
    disk.CopyTo(cut);
    Close();
    Open("sqlite", cut + "/" + std::to_string(seed));
    EXPECT_TRUE(HasRow("b")) << seed;
    Close();
    fs::remove_all(cut);
  }
}

TEST_F(LibraryEngineTest, AFileOfSqliteWhoseSyncFailedIsNotSyncedByThatNothingWasWrittenSince) {
  FileOptions options;
  options.create = FileOptions::kMayExist;
  sqlite::OpenFile file(File::Open(dir_ + "/file", options), false);
  file.Write(0, "x", 1);
  FileFaults::Set(0, 1, EIO);
  EXPECT_THROW(file.SyncIfWritten(), Error);
  FileFaults::Clear();
  EXPECT_THROW(file.SyncIfWritten(), Error);
}

// The sync that runs while the bytes are written may miss them.
TEST_F(LibraryEngineTest, WhatIsWrittenToAFileOfSqliteDuringASyncIsSyncedByTheNext) {
  FailingDisk disk(dir_);
  FileOptions options;
  options.kind = FileKind::kLog;
  options.create = FileOptions::kMayExist;
  sqlite::OpenFile file(File::Open(dir_ + "/log", options), false);
  disk.Fail({});  // counts the syncs
  std::thread writer;
  {
    const DiskPause pause;
    writer = std::thread([&file] { file.Write(0, "x", 1); });
    // The writer cannot tell when it waits for the disk, so syncs come before that and after it.
    for (int i = 0; i < 100; ++i) {
      file.SyncIfWritten();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  writer.join();
  file.SyncIfWritten();
  EXPECT_EQ(disk.calls(), 1u);
}
#endif

// A link that leads to itself cannot be examined.
TEST_F(LibraryEngineTest, InnodbDoesNotTakeWhatCannotBeExaminedForAbsent) {
  if (!Has("innodb")) GTEST_SKIP() << "not in this build";
  EXPECT_FALSE(FindEngine("innodb").recognises(dir_));
  fs::create_symlink("ibdata1", dir_ + "/ibdata1");
  EXPECT_THROW(FindEngine("innodb").recognises(dir_), Error);
}

}  // namespace
}  // namespace testbed
