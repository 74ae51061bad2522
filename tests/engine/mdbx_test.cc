// Tests what is special to libmdbx: how its mapping is found, its advice, and its counters. The
// conformance suite tests its behaviour as an engine, and lmdb_test.cc some of what it has in
// common with LMDB.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "device/error.h"
#include "engines/registry.h"
#include "tests/engine/engine_test.h"

#ifdef TESTBED_HAVE_MDBX

namespace testbed {
namespace {

class MdbxTest : public testing::Test {
 protected:
  MdbxTest() : options_(DefaultEngineOptions(FindEngine("mdbx"))) {
    std::string pattern = std::filesystem::current_path() / "mdbx_test_XXXXXX";
    dir_ = mkdtemp(pattern.data());
    options_.durability = Durability::kNone;
  }
  ~MdbxTest() override {
    Close();
    std::error_code ignored;
    std::filesystem::remove_all(dir_, ignored);
  }

  void Open() {
    Close();
    engine_ = OpenEngine("mdbx", dir_, options_);
  }
  void Close() { engine_.reset(); }
  void Load(uint64_t rows) {
    const TableId table = engine_->OpenTable("t");
    const std::unique_ptr<Session> session = engine_->NewSession();
    for (uint64_t row = 0; row < rows;) {
      session->Begin();
      for (const uint64_t end = row + 100; row < end; ++row) {
        session->Put(table, RowKey(row), RowValue(row, 4000));
      }
      session->Commit();
    }
  }
  std::string data_file() const { return dir_ + "/mdbx.dat"; }

  // Returns the number of parts of the mapping that have the advice "random".
  int RandomParts() const {
    std::ifstream smaps("/proc/self/smaps");
    bool here = false;
    int parts = 0;
    for (std::string line; std::getline(smaps, line);) {
      if (line.find('-') < line.find(' ')) here = line.ends_with(data_file());
      if (here && line.starts_with("VmFlags:") && (line + " ").find(" rr ") != std::string::npos) {
        ++parts;
      }
    }
    return parts;
  }

  std::string dir_;
  EngineOptions options_;
  std::unique_ptr<Engine> engine_;
};

// Returns the bytes that the process has had read from devices; nothing where the kernel does not
// count them.
std::optional<uint64_t> BytesReadFromDevices() {
  std::ifstream io("/proc/self/io");
  uint64_t bytes = 0;
  for (std::string word; io >> word;) {
    if (word == "read_bytes:" && io >> bytes) return bytes;
  }
  return std::nullopt;
}

TEST_F(MdbxTest, AdviceIsThatOfTheMappingAlsoWhenTheFileHasGrown) {
  for (const Advice advice : {Advice::kNormal, Advice::kRandom}) {
    SCOPED_TRACE(AdviceName(advice));
    options_.mmap_advice = advice;
    Open();
    EXPECT_EQ(RandomParts() > 0, advice == Advice::kRandom);
    Load(8000);
    EXPECT_EQ(RandomParts() > 0, advice == Advice::kRandom);
    Close();
    std::filesystem::remove_all(dir_);
  }
}

// By itself libmdbx asks for all of a file that fits into the memory that is free.
TEST_F(MdbxTest, AnOpeningDoesNotReadTheWholeFile) {
  Open();
  Load(8000);
  Close();
  const auto size = static_cast<off_t>(std::filesystem::file_size(data_file()));
  ASSERT_GT(size, 30 << 20);
  const int fd = ::open(data_file().c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  ::fdatasync(fd);
  ::posix_fadvise(fd, 0, size, POSIX_FADV_DONTNEED);
  ::close(fd);
  const std::optional<uint64_t> before = BytesReadFromDevices();
  if (!before) GTEST_SKIP() << "the kernel does not count the reads of a process";
  Open();
  EXPECT_LT(*BytesReadFromDevices() - *before, static_cast<uint64_t>(size) * 3 / 4);
}

// The list of mappings, in which the engine finds that of the file, has a line for each.
TEST_F(MdbxTest, ADirectoryMayHaveANewlineInItsName) {
  dir_ += "/two\nlines \\012";
  for (int pass = 0; pass < 2; ++pass) {
    Open();
    Load(100);
  }
  Close();
  dir_ = std::filesystem::path(dir_).parent_path().string();
}

// A snapshot does not have the tables that are made after it.
TEST_F(MdbxTest, TablesAreMadeWhileItIsAskedForItsCounters) {
  options_.extra["max_tables"] = "3000";
  Open();
  std::atomic<bool> stop{false};
  std::string sentence;
  std::thread counting([&] {
    try {
      while (!stop.load()) engine_->Counters();
    } catch (const Error& error) {
      sentence = error.what();
    }
  });
  for (int table = 0; table < 1000; ++table) engine_->OpenTable(std::to_string(table));
  stop = true;
  counting.join();
  EXPECT_EQ(sentence, "");
}

// Tables that this run has not opened count as well, as with lmdb.
TEST_F(MdbxTest, CountersAreThoseOfAllTablesOfTheFile) {
  constexpr uint64_t kRows = 200;
  Open();
  Load(kRows);
  for (int pass = 0; pass < 2; ++pass) {
    SCOPED_TRACE(pass);
    std::map<std::string, uint64_t> now;
    for (const auto& [name, value] : engine_->Counters().now) now[name] = value;
    EXPECT_EQ(now["rows"], kRows);
    EXPECT_GE(now["depth"], 2u);
    EXPECT_GE(now["used_pages"] * options_.page_size, kRows * 4000);
    EXPECT_LE(now["used_pages"], now["file_pages"]);
    Open();
  }
}

// When no row was written, libmdbx's own pages are all that the file has.
TEST_F(MdbxTest, ItsOwnPagesAreNotFree) {
  Open();
  std::map<std::string, uint64_t> now;
  for (const auto& [name, value] : engine_->Counters().now) now[name] = value;
  EXPECT_GE(now["used_pages"], 3u);  // the meta pages
  EXPECT_LE(now["used_pages"], now["file_pages"]);
}

}  // namespace
}  // namespace testbed

#endif  // TESTBED_HAVE_MDBX
