// Tests a database with a file that is missing, empty, cut, full of zeros, exchanged for another
// one, or from another database. The opening must be refused and change nothing, or find every row,
// both after a close and after a crash.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>

#include "device/error.h"
#include "device/log/log_reader.h"
#include "engines/log/log_engine.h"
#include "engines/registry.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

using Contents = std::map<std::string, std::string>;  // files of a directory, by path in it

constexpr int kRows = 400, kVersions = 4;

Contents Load(const std::string& dir) {
  Contents all;
  for (const auto& entry : fs::recursive_directory_iterator(dir)) {
    if (!entry.is_regular_file()) continue;
    std::ostringstream text;
    text << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    all[fs::relative(entry.path(), dir)] = text.str();
  }
  return all;
}

std::string Value(char database, int row, int version) {
  std::string value = std::string(1, database) + std::to_string(row) + ":";
  value += std::to_string(version) + ":";
  return value + std::string(1400, static_cast<char>('a' + row % 20));
}

struct Mode {
  const char* name;
  const char* engine;
  std::map<std::string, std::string> extra;
};

class ForeignFileTest : public testing::TestWithParam<Mode> {
 protected:
  ForeignFileTest() {
    std::string pattern = fs::current_path() / "foreign_file_XXXXXX";
    base_ = ::mkdtemp(pattern.data());
    dir_ = base_ + "/db";
    options_ = DefaultEngineOptions(FindEngine(engine()));
    options_.durability = Durability::kSync;
    options_.cache_bytes = 4 << 20;
    options_.extra = GetParam().extra;
    Make('a', &crashed_, &closed_);
    Make('b', &other_crashed_, &other_closed_);
  }
  ~ForeignFileTest() override { fs::remove_all(base_); }
  static std::string engine() { return GetParam().engine; }

  // Makes a database. Sets *crashed and *closed to the contents of its files before and after its
  // close.
  void Make(char name, Contents* crashed, Contents* closed) {
    fs::remove_all(dir_);
    fs::create_directories(dir_);
    {
      const auto database = OpenEngine(engine(), dir_, options_);
      const TableId table = database->OpenTable("t");
      const auto session = database->NewSession();
      for (int i = 0; i < kRows * kVersions; ++i) {
        if (i % 20 == 0) session->Begin();
        session->Put(table, "key" + std::to_string(i % kRows), Value(name, i % kRows, i / kRows));
        if (i % 20 == 19) session->Commit();
        if (i == kRows) database->Checkpoint();
      }
      *crashed = Load(dir_);
    }
    *closed = Load(dir_);
  }

  // Returns how many rows the database has as they were written last.
  int RightRows() {
    int right = 0;
    const auto note = [&](const std::string& key, std::string_view value) {
      const int row = std::stoi(key.substr(3));
      right += value == Value('a', row, kVersions - 1) ? 1 : 0;
    };
    const auto database = OpenEngine(engine(), dir_, options_);
    const TableId table = database->OpenTable("t");
    if (!FindEngine(engine()).capabilities.reads) {
      std::map<std::string, std::string> rows;
      LogReader reader(append_log::LogDirectory(dir_));
      LogRecord record;
      while (reader.Next(&record)) {
        append_log::Row row;
        for (std::string_view rest = record.bytes; append_log::NextRow(&rest, &row);) {
          if (row.table == table) rows[std::string(row.key)] = row.value;
        }
      }
      for (const auto& [key, value] : rows) note(key, value);
      return right;
    }
    const auto session = database->NewSession();
    for (int i = 0; i < kRows; ++i) {
      const std::string key = "key" + std::to_string(i);
      std::string_view value;
      if (session->Get(table, key, &value)) note(key, value);
    }
    return right;
  }

  void ExpectRefusedOrRight(const Contents& files, const std::string& what) {
    SCOPED_TRACE(what);
    ++tried_;
    fs::remove_all(dir_);
    fs::create_directories(dir_);
    for (const auto& [name, bytes] : files) {
      fs::create_directories((dir_ / fs::path(name)).parent_path());
      std::ofstream(dir_ + "/" + name, std::ios::binary) << bytes;
    }
    try {
      EXPECT_EQ(RightRows(), kRows);
    } catch (const Error& error) {
      ++refused_;
      Contents now = Load(dir_);
      // The opening may have made an empty lock file.
      std::erase_if(now, [&](const auto& file) {
        return file.second.empty() && !files.contains(file.first);
      });
      EXPECT_TRUE(now == files) << "it was refused, but something was changed: " << error.what();
    }
  }

  void TryEachFile(const Contents& files, const std::string& state) {
    const std::pair<const std::string, std::string>* before = nullptr;
    for (const auto& file : files) {
      const auto& [name, bytes] = file;
      const auto with = [&](const std::string& instead, const std::string& how) {
        Contents changed = files;
        changed[name] = instead;
        ExpectRefusedOrRight(changed, state + ": " + name + " " + how);
      };
      for (const bool create : {true, false}) {
        options_.create = create;
        Contents without = files;
        without.erase(name);
        ExpectRefusedOrRight(without, state + ": without " + name);
      }
      with("", "is empty");
      with(bytes.substr(0, bytes.size() / 2), "is cut");
      with(std::string(bytes.size(), '\0'), "is zeros");
      if (other_crashed_.contains(name)) with(other_crashed_.at(name), "is a crashed database's");
      if (other_closed_.contains(name)) with(other_closed_.at(name), "is a closed database's");
      if (before != nullptr &&
          fs::path(before->first).parent_path() == fs::path(name).parent_path()) {
        with(before->second, "is a copy of " + before->first);
        Contents exchanged = files;
        exchanged[name] = before->second;
        exchanged[before->first] = bytes;
        ExpectRefusedOrRight(exchanged,
                             state + ": " + name + " and " + before->first + " exchanged");
      }
      before = &file;
    }
  }

  std::string base_, dir_;
  EngineOptions options_;
  Contents crashed_, closed_, other_crashed_, other_closed_;
  int tried_ = 0, refused_ = 0;
};

TEST_P(ForeignFileTest, IsRefusedOrDoesNoHarm) {
  ExpectRefusedOrRight(crashed_, "crashed");
  ExpectRefusedOrRight(closed_, "closed");
  ASSERT_EQ(refused_, 0);
  TryEachFile(crashed_, "crashed");
  TryEachFile(closed_, "closed");
  EXPECT_GT(refused_, tried_ / 5) << "of " << tried_;
}

const std::map<std::string, std::string> kSmallLog = {{"log_segment", "1M"}};

std::string ModeName(const testing::TestParamInfo<Mode>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(
    EveryWay, ForeignFileTest,
    testing::Values(Mode{
        "btree_change_buffer", "btree", {{"log_segment", "1M"}, {"change_buffer_pct", "20"}}}),
    ModeName);

INSTANTIATE_TEST_SUITE_P(
    Engines, ForeignFileTest,
    testing::Values(
        Mode{"btree", "btree", kSmallLog},
        Mode{"btree_images", "btree", {{"log_segment", "1M"}, {"torn_page", "full_page_image"}}},
        Mode{"fractal", "fractal", kSmallLog},
        Mode{"log", "log", {{"log_segment", "1M"}, {"log_keep", "2M"}}},
        Mode{"mmapv1",
             "mmapv1",
             {{"small_files", "on"},
              {"first_file_size", "1M"},
              {"ns_size", "64k"},
              {"journal_file_size", "1M"}}}),
    ModeName);

}  // namespace
}  // namespace testbed
