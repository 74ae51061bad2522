// Fixtures that the tests of the mmapv1 engine share: a small database in a directory of its own.
#ifndef TESTBED_TESTS_UNIT_ENGINES_MMAPV1_TEST_UTIL_H_
#define TESTBED_TESTS_UNIT_ENGINES_MMAPV1_TEST_UTIL_H_

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <string>

#include "engines/mmapv1/check/check.h"
#include "engines/mmapv1/files/files.h"
#include "engines/mmapv1/files/settings.h"
#include "engines/mmapv1/store.h"
#include "engines/mmapv1/tree/table.h"

namespace testbed::mmapv1 {

using Rows = std::map<std::string, std::string>;

class Mmapv1Test : public testing::Test {
 protected:
  Mmapv1Test() {
    std::string pattern = std::filesystem::current_path() / "mmapv1_test_XXXXXX";
    dir_ = mkdtemp(pattern.data());
    options_.io = IoMode::kMmap;
    options_.durability = Durability::kSync;
    options_.extra = {{"small_files", "on"},      {"first_file_size", "1M"},
                      {"ns_size", "64k"},         {"journal_file_size", "1M"},
                      {"preallocate", "off"},     {"journal_commit_interval", "2"},
                      {"uncommitted_limit", "1M"}};
  }
  ~Mmapv1Test() override {
    std::error_code ignored;
    std::filesystem::remove_all(dir_, ignored);
  }

  std::unique_ptr<Store> OpenStore(const std::string& dir) {
    return std::make_unique<Store>(dir, MakeSettings(options_));
  }
  std::unique_ptr<Store> OpenStore() { return OpenStore(dir_); }

  static void Put(Store* store, TableId table, const std::string& key, const std::string& value) {
    WriteSet writes;
    writes.Set(table, key, false, value);
    store->Apply(writes);
  }
  static Rows AllRows(Store* store, TableId table) {
    Rows rows;
    PlaceHint hint;
    std::string key, found, value;
    for (bool on = store->Move(table, Motion::kFirst, {}, &hint, &found, &value); on;
         on = store->Move(table, Motion::kAfter, key, &hint, &found, &value)) {
      rows[found] = value;
      key = found;
    }
    return rows;
  }
  // Returns the first fault of a closed database; an empty string when it is sound.
  static std::string FirstFault(const std::string& dir) {
    const Inspection result = InspectDatabase(dir, {});
    return result.faults.kept.empty() ? "" : result.faults.kept.front().Text();
  }

  std::string dir_;
  EngineOptions options_;
};

// A database without threads and journal. With the shared view every change is in the files at
// once.
class Mmapv1FilesTest : public Mmapv1Test {
 protected:
  void OpenFiles(DataFile::Views views = DataFile::kSharedView) {
    options_.durability = views == DataFile::kSharedView ? Durability::kNone : Durability::kSync;
    settings_ = MakeSettings(options_);
    if (!std::filesystem::exists(NsPath(dir_))) Files::CreateNamespace(dir_, settings_);
    files_ = std::make_unique<Files>(dir_, settings_, views);
    files_->BeginOperation();
  }
  std::unique_ptr<Table> NewTable(const std::string& name) {
    const uint32_t slot = CreateTable(files_.get(), name);
    return std::make_unique<Table>(files_.get(), settings_, &counts_, slot);
  }
  void CheckSound() {
    files_.reset();
    EXPECT_EQ(FirstFault(dir_), "");
  }

  Settings settings_;
  RowCounts counts_;
  std::unique_ptr<Files> files_;
};

}  // namespace testbed::mmapv1

#endif  // TESTBED_TESTS_UNIT_ENGINES_MMAPV1_TEST_UTIL_H_
