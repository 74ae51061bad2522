// Tests that a call that the system refuses while an engine is opened becomes an Error, whichever
// call it is.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>
#include <thread>

#include "device/error.h"
#include "engines/registry.h"
#include "engines/sql/file_watch.h"
#include "tests/few_threads.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

std::string NewDirectory() {
  std::string pattern = testing::TempDir() + "refused_calls_XXXXXX";
  return ::mkdtemp(pattern.data());
}

// A link to itself cannot be examined (ELOOP), not even by root, and must not count as absent.
TEST(RefusedCallsTest, AFileThatCannotBeExaminedIsAnErrorToEachEngine) {
  const std::string dir = NewDirectory();
  fs::create_symlink("loop", dir + "/loop");
  for (const EngineInfo& info : Engines()) {
    if (info.name == "null") continue;  // has no files
    SCOPED_TRACE(info.name);
    try {
      EXPECT_TRUE(info.recognises(dir + "/loop")) << "no error";
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::kIo);
      EXPECT_NE(std::string(e.what()).find(dir + "/loop"), std::string::npos) << e.what();
    }
  }
  fs::remove_all(dir);
}

TEST(RefusedCallsTest, WhatTheLibraryOfFilesThrowsIsAnError) {
  const std::string dir = NewDirectory();
  EngineInfo info = FindEngine("log");
  info.open = [](const std::string& in, const EngineOptions&) -> std::unique_ptr<Engine> {
    throw fs::filesystem_error("list", in + "/file",
                               std::make_error_code(std::errc::permission_denied));
  };
  try {
    OpenEngine(info, dir, DefaultEngineOptions(info));
    ADD_FAILURE() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::kIo);
    EXPECT_TRUE(std::string(e.what()).starts_with("open " + dir + "/file: Permission denied"))
        << e.what();
  }
  fs::remove_all(dir);
}

TEST(RefusedCallsTest, AWatchWhoseThreadIsNotMadeLeavesNoDescriptorOpen) {
  const std::string dir = NewDirectory();
  const std::string said = WithFewThreads(1, [&dir] {
    const int before = LowestFreeDescriptor();
    try {
      const FileWatch watch(dir, [](const std::string&) { return FileKind::kData; });
    } catch (const Error& e) {
      const int left = LowestFreeDescriptor() - before;
      throw Error(e.kind(), std::to_string(left) + " left: " + e.what());
    }
  });
  EXPECT_TRUE(said.starts_with("0 left: the system does not make a thread")) << said;
  fs::remove_all(dir);
}

// The queue of inotify has room for a number of events; of those beyond it the kernel tells only
// that there were some.
TEST(FileWatchTest, FilesWhoseEventsTheKernelDroppedAreKnownToo) {
  int room = 0;
  std::ifstream("/proc/sys/fs/inotify/max_queued_events") >> room;
  if (room == 0 || room > 30000) GTEST_SKIP() << "a queue of " << room << " events";
  const std::string dir = NewDirectory();
  std::atomic<bool> stands{false}, goes_on{false}, known{false};
  {
    const FileWatch watch(dir, [&](const std::string& path) {
      if (path == "first") {
        stands.store(true);
        stands.notify_all();
        goes_on.wait(false);
      }
      if (path == "last") known.store(true);
      return FileKind::kData;
    });
    std::ofstream(dir + "/first");
    stands.wait(false);
    int made = 0;
    for (int i = 0; i < room + 100; ++i) {
      made += ::link((dir + "/first").c_str(), (dir + "/" + std::to_string(i)).c_str()) == 0;
    }
    EXPECT_EQ(made, room + 100);
    std::ofstream(dir + "/last");
    goes_on.store(true);
    goes_on.notify_all();
    for (int tries = 0; !known.load() && tries < 6000; ++tries) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_TRUE(known.load());
  }
  fs::remove_all(dir);
}

// The creation of each thread of an opening fails in turn.
TEST(RefusedCallsTest, AThreadThatIsNotMadeIsAnError) {
  // The limit counts all threads of a user. Only root can become a user who has no others.
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  const std::string base = NewDirectory();
  fs::permissions(base, fs::perms::all);
  for (const std::string engine : {"btree", "fractal", "mmapv1", "log"}) {
    SCOPED_TRACE(engine);
    EngineOptions options = DefaultEngineOptions(FindEngine(engine));
    options.cache_bytes = 16 << 20;
    options.create = true;
    std::string said;
    unsigned most = 1;
    for (; most < 10; ++most) {
      said = WithFewThreads(
          most, [&] { OpenEngine(engine, base + "/" + engine + std::to_string(most), options); });
      if (said == "none") break;
      EXPECT_NE(said.find("does not make a thread for"), std::string::npos) << most << " " << said;
    }
    EXPECT_GT(most, 1u);
    EXPECT_LT(most, 10u);
  }
  fs::remove_all(base);
}

}  // namespace
}  // namespace testbed
