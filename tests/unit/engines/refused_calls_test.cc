// Tests that a call that the system refuses while an engine is opened becomes an Error, whichever
// call it is.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

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
