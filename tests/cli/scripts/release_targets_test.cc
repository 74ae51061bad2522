// Tests cmake/Releases.cmake, which makes the programs of other releases of an engine, in a small
// project with an engine and a library of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/cli/command.h"
#include "tests/paths.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

constexpr char kProject[] = R"(cmake_minimum_required(VERSION 3.25)
project(trees LANGUAGES CXX)
list(APPEND CMAKE_MODULE_PATH ${MODULES})
set(CMAKE_FIND_LIBRARY_SUFFIXES .none)  # no library of the machine is found
find_package(Threads REQUIRED)
add_library(needy STATIC needy.cc)
add_library(testbed_device INTERFACE)
add_library(testbed_tools INTERFACE)
add_library(testbed_engine_oak OBJECT oak.cc)
add_library(testbed_engine_rocksdb OBJECT EXCLUDE_FROM_ALL oak.cc)
add_library(typed STATIC EXCLUDE_FROM_ALL typed.cc)
include(Releases)
)";
constexpr char kOfRelease1[] =
    R"(testbed_release(oak "1" FOLDER oak-1 PREFIX "${CMAKE_SOURCE_DIR}/oak" FROM "2024-05"))";

class ReleaseTargetsTest : public CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    MakeFile("CMakeLists.txt", kProject);
    MakeFile("tools/main.cc", "int main() {}\n");
    MakeFile("oak.cc", "int Oak() { return 1; }\n");
    MakeFile("needy.cc", "extern \"C\" int snappy_compress();\nint x = snappy_compress();\n");
    MakeFile("typed.cc",
             "namespace rocksdb {\nstruct FileSystem {\n  virtual void Open();\n};\n"
             "void FileSystem::Open() {}\n}\n");
    MakeFile("oak/lib/liboak.a", "!<arch>\n");
    MakeFile("oak/include/oak.h", "int Oak();\n");
    MakeFile("build/releases/oak-1.cmake", kOfRelease1);
  }
  void MakeFile(const std::string& name, const std::string& text) {
    fs::create_directories((directory_ / name).parent_path());
    std::ofstream(directory_ / name) << text;
  }
  // Runs the commands in the project. Returns whether they succeed, and sets said_ to what they
  // print.
  bool Shell(const std::string& commands) {
    MakeFile("script", commands);
    const std::string said = directory_ / "said";
    const std::string run = "bash script >" + said + " 2>&1 </dev/null";
    const int status = std::system(("cd " + directory_.string() + " && " + run).c_str());
    said_ = Read(said);
    return status == 0;
  }
  void Build() {
    const std::string modules = fs::path(SourceDir()) / "cmake";
    ASSERT_TRUE(Shell("cmake -G Ninja -DMODULES=" + modules + " -S . -B build\n")) << said_;
    ASSERT_TRUE(Shell("ninja -C build\n")) << said_;
    EXPECT_TRUE(fs::exists(directory_ / "build/releases/oak-1/testbed"));
    EXPECT_TRUE(HasTarget()) << said_;
  }
  bool HasTarget() { return Shell("ninja -C build -t query testbed_release_oak-1\n"); }

  std::string said_;
};

// The user may have removed the whole cache folder. The other targets are built all the same.
TEST_F(ReleaseTargetsTest, ALibraryThatIsGoneLeavesItsReleaseOut) {
  ASSERT_NO_FATAL_FAILURE(Build());
  fs::remove_all(directory_ / "oak");
  EXPECT_TRUE(Shell("ninja -C build\n")) << said_;
  EXPECT_FALSE(HasTarget()) << said_;
}

// The user may have installed the library anew with a compressor that the machine lacks.
TEST_F(ReleaseTargetsTest, ALibraryThatNeedsWhatIsMissingLeavesItsReleaseOut) {
  ASSERT_NO_FATAL_FAILURE(Build());
  EXPECT_TRUE(Shell("cp build/libneedy.a oak/lib/liboak.a\nninja -C build\n")) << said_;
  EXPECT_THAT(said_, testing::HasSubstr("liboak.a needs libraries that are missing: libsnappy"));
  EXPECT_FALSE(HasTarget()) << said_;
}

// The engine would be compiled with the headers of another release that the system has.
TEST_F(ReleaseTargetsTest, ALibraryWithoutHeadersLeavesItsReleaseOut) {
  fs::remove_all(directory_ / "oak/include");
  const std::string modules = fs::path(SourceDir()) / "cmake";
  const std::string configure = "cmake -G Ninja -DMODULES=" + modules + " -S . -B build\n";
  ASSERT_TRUE(Shell(configure)) << said_;
  EXPECT_THAT(said_, testing::HasSubstr("oak@1 is left out: there are no headers of oak in "));
  EXPECT_FALSE(HasTarget()) << said_;
  MakeFile("oak/include/oak/oak.h", "int Oak();\n");  // RocksDB's headers lie in such a folder
  ASSERT_TRUE(Shell(configure)) << said_;
  EXPECT_TRUE(HasTarget()) << said_;
}

// RocksDB's own builds leave the types out unless they are asked for. The linker would say so in
// its own words.
TEST_F(ReleaseTargetsTest, ARocksdbWithoutRunTimeTypesLeavesItsReleaseOut) {
  MakeFile("r/lib/librocksdb.a", "!<arch>\n");
  MakeFile("r/include/rocksdb/db.h", "");
  MakeFile("build/releases/rocksdb-1.cmake",
           "testbed_release(rocksdb \"/opt/r\" FOLDER rocksdb-1 PREFIX "
           "\"${CMAKE_SOURCE_DIR}/r\" FROM \"\")");
  const std::string modules = fs::path(SourceDir()) / "cmake";
  const std::string configure = "cmake -G Ninja -DMODULES=" + modules + " -S . -B build\n";
  ASSERT_TRUE(Shell(configure)) << said_;
  EXPECT_THAT(said_, testing::HasSubstr("rocksdb@/opt/r is left out: "));
  EXPECT_THAT(said_, testing::HasSubstr("; build it with USE_RTTI=1"));
  EXPECT_FALSE(Shell("ninja -C build -t query testbed_release_rocksdb-1\n")) << said_;
  ASSERT_TRUE(Shell("ninja -C build typed && cp build/libtyped.a r/lib/librocksdb.a\n")) << said_;
  ASSERT_TRUE(Shell(configure)) << said_;
  EXPECT_TRUE(Shell("ninja -C build -t query testbed_release_rocksdb-1\n")) << said_;
}

// As when a link leads to another installation from now on. Ninja compares times alone.
TEST_F(ReleaseTargetsTest, AnOlderLibraryInThePlaceOfANewerOneIsLinkedAnew) {
  ASSERT_NO_FATAL_FAILURE(Build());
  EXPECT_TRUE(Shell("touch -d @1000000000 oak/lib/liboak.a && cmake build && ninja -C build\n"))
      << said_;
  EXPECT_THAT(said_, testing::HasSubstr("testbed_release_oak-1_engine.dir/oak.cc.o"));
  EXPECT_THAT(Read(directory_ / "build/releases/oak-1/release.json"),
              testing::HasSubstr("\"made\": \"8 1000000000\""));
}

// The adapters look at the release that an installation has. WiredTiger 12 would run `--io direct`
// buffered.
TEST_F(ReleaseTargetsTest, AnInstallationThatTheAdapterIsNotForDoesNotCompile) {
  for (const char* name :
       {"advanced_cache", "cache", "db", "file_system", "filter_policy", "listener",
        "memory_allocator", "secondary_cache", "statistics", "table"}) {
    MakeFile(std::string("include/rocksdb/") + name + ".h", "");
  }
  const auto compiles = [this](const std::string& engine, const std::string& major,
                               const std::string& minor) {
    const bool rocksdb = engine == "rocksdb";
    const std::string macro = rocksdb ? "#define ROCKSDB_" : "#define WIREDTIGER_VERSION_";
    MakeFile(rocksdb ? "include/rocksdb/version.h" : "include/wiredtiger.h",
             macro + "MAJOR " + major + "\n" + macro + "MINOR " + minor + "\n");
    const std::string header = fs::path(SourceDir()) / "engines" / engine / "versions.h";
    return Shell("${CXX:-g++} -std=c++20 -x c++ -E -Iinclude " + header + " -o preprocessed\n");
  };
  EXPECT_TRUE(compiles("wiredtiger", "11", "0")) << said_;
  EXPECT_TRUE(compiles("wiredtiger", "11", "3")) << said_;
  EXPECT_FALSE(compiles("wiredtiger", "10", "0"));
  EXPECT_FALSE(compiles("wiredtiger", "12", "0"));
  EXPECT_THAT(said_, testing::HasSubstr("#error \"testbed runs WiredTiger 11.0 to 11.3: "));
  EXPECT_TRUE(compiles("rocksdb", "6", "20")) << said_;
  EXPECT_TRUE(compiles("rocksdb", "11", "8")) << said_;
  EXPECT_FALSE(compiles("rocksdb", "6", "19"));
  EXPECT_THAT(said_, testing::HasSubstr("#error \"testbed runs RocksDB 6.20 and later"));
}

}  // namespace
}  // namespace testbed
