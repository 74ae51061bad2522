// Tests what lmdb and mdbx have in common: their settings and sentences, the files of an opening
// that fails, and who may write.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "device/error.h"
#include "engines/data_file/data_file.h"
#include "engines/data_file/mapped_error.h"
#include "engines/data_file/mapped_settings.h"
#include "engines/data_file/one_writer.h"
#include "engines/open_tables.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

TEST(MappedSettingsTest, NamesOfFlagsAreThoseOfTheLargest) {
  static constexpr std::pair<unsigned, const char*> kNames[] = {
      {3, "BOTH"}, {1, "ONE"}, {8, "EIGHT"}};
  EXPECT_EQ(FlagNames(0, kNames), "");
  EXPECT_EQ(FlagNames(1, kNames), "ONE");
  EXPECT_EQ(FlagNames(3, kNames), "BOTH");
  EXPECT_EQ(FlagNames(9, kNames), "ONE|EIGHT");
}

TEST(MappedSettingsTest, AreReadFromTheOptions) {
  EngineOptions options;
  options.page_size = 8192;
  options.extra = {{"map_size", "3M"}, {"max_tables", "77"}};
  const ExtraOptions extra("mdbx", options.extra);
  const MappedSettings settings = MakeMappedSettings(extra, options, 100);
  EXPECT_EQ(settings.map_size, 3u << 20);
  EXPECT_EQ(settings.max_tables, 77u);
  EXPECT_EQ(settings.page_size, 8192u);
  EXPECT_THROW(MakeMappedSettings(extra, options, 76), Error);
}

TEST(MappedErrorTest, NamesTheOptionThatIsTooSmall) {
  MappedSettings settings;
  settings.map_size = 4096;
  settings.max_tables = 7;
  const MappedFailure failure = {"mdbx", "libmdbx", "reading a row", "/d", "what it says"};
  const Error full = MappedError(MappedFault::kMapFull, failure, settings);
  EXPECT_EQ(full.kind(), Error::kRun);
  EXPECT_STREQ(full.what(),
               "mdbx failed at reading a row in /d: the database has grown to all of its 4096 "
               "bytes; give a larger --engine-option map_size");
  const Error tables = MappedError(MappedFault::kTablesFull, failure, settings);
  EXPECT_EQ(tables.kind(), Error::kUsage);
  EXPECT_STREQ(tables.what(),
               "mdbx failed at reading a row in /d: it has more than 7 tables; give a larger "
               "--engine-option max_tables");
  EXPECT_STREQ(MappedError(MappedFault::kOtherVersion, failure, settings).what(),
               "mdbx failed at reading a row in /d: another version of libmdbx wrote it; load it "
               "anew");
  const Error damaged = MappedError(MappedFault::kDamaged, failure, settings);
  EXPECT_EQ(damaged.kind(), Error::kCorruption);
  EXPECT_STREQ(damaged.what(), "mdbx failed at reading a row in /d: what it says; load it anew");
}

class DataFileOpeningTest : public testing::Test {
 protected:
  DataFileOpeningTest() {
    std::string pattern = fs::current_path() / "data_file_XXXXXX";
    dir_ = ::mkdtemp(pattern.data());
  }
  ~DataFileOpeningTest() override { fs::remove_all(dir_); }
  // Opens a database whose library makes both files.
  void Open(bool ends_well) {
    DataFileOpening opening(dir_ + "/data", dir_ + "/lock");
    for (const char* file : {"/data", "/lock"}) std::ofstream(dir_ + file) << "text";
    if (ends_well) opening.Done();
  }
  bool Has(const std::string& file) const { return fs::exists(dir_ + "/" + file); }

  std::string dir_;
};

TEST_F(DataFileOpeningTest, LeavesNothingOfANewDatabaseWhenItFails) {
  Open(false);
  EXPECT_FALSE(Has("data"));
  EXPECT_FALSE(Has("lock"));
  Open(true);
  Open(false);
  EXPECT_TRUE(Has("data")) << "it was there before";
  EXPECT_TRUE(Has("lock"));
  fs::remove(dir_ + "/lock");
  Open(false);
  EXPECT_TRUE(Has("data"));
  EXPECT_FALSE(Has("lock"));
}

TEST_F(DataFileOpeningTest, RefusesALockFileAlone) {
  std::ofstream(dir_ + "/lock") << "text";
  EXPECT_THROW(Open(true), Error);
  EXPECT_TRUE(Has("lock"));
}

TEST(TableNameTest, HasAllowedBytes) {
  EXPECT_NO_THROW(CheckTableName("lmdb", std::string(8, 'n'), 8));
  for (const std::string& name : {std::string(), std::string(9, 'n'), std::string("a\0b", 3)}) {
    EXPECT_THROW(CheckTableName("lmdb", name, 8), Error);
  }
}

TEST(OneWriterTest, KnowsItsThread) {
  OneWriter writer("lmdb");
  EXPECT_NO_THROW(writer.CheckOther());
  EXPECT_THROW(writer.CheckThis(), Error);
  writer.Begin();
  EXPECT_THROW(writer.CheckOther(), Error);
  EXPECT_NO_THROW(writer.CheckThis());
  std::thread([&] {
    EXPECT_NO_THROW(writer.CheckOther());
    EXPECT_THROW(writer.CheckThis(), Error);
  }).join();
  writer.End();
  EXPECT_FALSE(writer.IsThisThread());
}

TEST(OpenTablesTest, OpensEachTableOnce) {
  OpenTables<int> tables;
  int opened = 0;
  const auto open = [&] { return 10 + opened++; };
  EXPECT_EQ(tables.Find("a", open), 0u);
  EXPECT_EQ(tables.Find("b", open), 1u);
  EXPECT_EQ(tables.Find("a", open), 0u);
  EXPECT_THROW(tables.Find("c", []() -> int { throw Error(Error::kRun, "no"); }), Error);
  EXPECT_EQ(tables.count(), 2u);
  EXPECT_EQ(tables.Handles(), (std::vector<int>{10, 11}));
}

// The thread that opens a table may wait for a transaction of the thread that asks.
TEST(OpenTablesTest, AKnownTableAndARefusalDoNotWaitForAnotherThreadsOpening) {
  OpenTables<int> tables;
  tables.Add("known", 7);
  std::promise<void> began, end;
  auto opening = std::async(std::launch::async, [&] {
    return tables.Find("new", [&] {
      began.set_value();
      end.get_future().wait();
      return 8;
    });
  });
  began.get_future().wait();
  auto asking = std::async(std::launch::async, [&] {
    const auto refuse = [] { throw Error(Error::kRun, "this thread writes"); };
    EXPECT_EQ(tables.Find("known", refuse, [] { return 9; }), 0u);
    EXPECT_THROW(tables.Find("new", refuse, [] { return 9; }), Error);
    EXPECT_THROW(tables.Find("newer", refuse, [] { return 9; }), Error);
  });
  EXPECT_EQ(asking.wait_for(std::chrono::seconds(60)), std::future_status::ready);
  end.set_value();
  EXPECT_EQ(opening.get(), 1u);
  asking.get();
  EXPECT_EQ(tables.Handles(), (std::vector<int>{7, 8}));
}

TEST(OpenTablesTest, TwoThreadsOpenATableOnce) {
  OpenTables<int> tables;
  std::promise<void> began, end;
  std::atomic<int> opened{0};
  auto first = std::async(std::launch::async, [&] {
    return tables.Find("a", [&] {
      began.set_value();
      end.get_future().wait();
      return ++opened;
    });
  });
  began.get_future().wait();
  auto second = std::async(std::launch::async, [&] {
    return tables.Find("a", [&] { end.set_value(); }, [&] { return ++opened; });
  });
  EXPECT_EQ(first.get(), 0u);
  EXPECT_EQ(second.get(), 0u);
  EXPECT_EQ(opened.load(), 1);
}

}  // namespace
}  // namespace testbed
