// Tests databases of other projects' engines that lack a file. testbed looks for each file before
// it opens the engine, because an engine may write before it notices that a file is missing, or
// make a new one. The opening must be refused and change nothing, and with the file back in its
// place all rows must be found.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "engines/databases.h"
#include "tests/contents.h"
#include "tests/engine/engine_test.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kRows = 200;

// The files that testbed looks for, by engine.
const std::map<std::string, std::vector<std::string>> kNeeded = {
    {"lmdb", {"data.mdb"}},
    {"mdbx", {"mdbx.dat"}},
    {"rocksdb", {"CURRENT"}},
    {"wiredtiger",
     {"WiredTiger", "WiredTiger.turtle", "WiredTiger.wt", "WiredTigerHS.wt", "default.wt"}},
    {"innodb", {"ibdata1", "ib_logfile0", "testbed/default.frm", "testbed/default.ibd"}},
    {"mysql",
     {"cluster/ibdata1", "cluster/ib_logfile0", "cluster/testbed/default.frm",
      "cluster/testbed/default.ibd"}},
};

class MissingFileTest : public AnyIoModeTest {
 public:
  // The others have tests of their own.
  static bool IsFor(const EngineCase& c) { return kNeeded.contains(c.engine); }

 protected:
  void SetUp() override {
    EngineTest::SetUp();
    if (IsSkipped()) return;
    options_.durability = Durability::kSync;
  }
  std::vector<std::string> Needed() const {
    if (GetParam().IsMyRocks()) return {"cluster/#rocksdb/CURRENT"};
    std::vector<std::string> needed = kNeeded.at(info().name);
    if (GetParam().IsOldMariadb()) needed.emplace_back("cluster/ib_logfile1");
    return needed;
  }
  void ExpectAllRows(const std::string& when) {
    Open();
    for (uint64_t row = 0; row < kRows; ++row) {
      ASSERT_EQ(Get(RowKey(row)), RowValue(row, 100)) << when << ", row " << row;
    }
    Close();
  }
};
TESTBED_FOR_EVERY_ENGINE(MissingFileTest);

TEST_P(MissingFileTest, IsRefusedAndChangesNothing) {
  Open();
  Load(kRows, 100);
  Close();
  for (const std::string& name : Needed()) {
    const fs::path file = fs::path(dir_) / name, kept = dir_ + ".kept";
    fs::rename(file, kept);
    const auto before = ContentsOf(dir_);
    for (const bool create : {true, false}) {
      options_.create = create;
      try {
        Open();
        ADD_FAILURE() << "opened without " << name;
      } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find(create ? file.string() : dir_), std::string::npos)
            << error.what();
        EXPECT_TRUE(error.kind() == Error::kCorruption ||
                    (!create && error.kind() == Error::kUsage))
            << error.what();
      }
      Close();
      EXPECT_TRUE(before == ContentsOf(dir_)) << "changed something without " << name;
    }
    options_.create = true;
    fs::rename(kept, file);
    ExpectAllRows("with " + name + " again");
  }
}

// LMDB and libmdbx take an empty file for a new one.
TEST_P(MissingFileTest, AnEmptyDataFileIsRefused) {
  if (info().name != "lmdb" && info().name != "mdbx") GTEST_SKIP() << "of mapped files";
  Open();
  Load(kRows, 100);
  Close();
  fs::resize_file(fs::path(dir_) / kNeeded.at(info().name)[0], 0);
  const auto before = ContentsOf(dir_);
  ErrorOf(Error::kCorruption, [&] { Open(); });
  Close();
  EXPECT_TRUE(before == ContentsOf(dir_));
}

// A directory without CURRENT must be refused whichever file of RocksDB it holds.
TEST_P(MissingFileTest, AnyFileOfADatabaseWithoutCurrentIsRefused) {
  if (info().name != "rocksdb") GTEST_SKIP() << "of RocksDB";
  for (const char* name :
       {"MANIFEST-000004", "000012.sst", "000009.log", "000003.blob", "IDENTITY"}) {
    std::ofstream(dir_ + "/" + name) << "x";
    const auto before = ContentsOf(dir_);
    const std::string sentence = ErrorOf(Error::kCorruption, [&] { Open(); });
    EXPECT_NE(sentence.find("CURRENT"), std::string::npos) << sentence;
    EXPECT_TRUE(before == ContentsOf(dir_)) << name;
    fs::remove(dir_ + "/" + name);
  }
  for (const char* name : {"notes.log", "a.sst", "12", "LOG", "000001.dbtmp"}) {
    std::ofstream(dir_ + "/" + name) << "x";
  }
  Open();
}

// Until a checkpoint, only the log names the files of new tables.
TEST_P(MissingFileTest, TheFilesOfTablesAreNamedWhenTheyAreNew) {
  if (!info().table_files) GTEST_SKIP() << info().name << " names its files otherwise";
  for (const Durability durability : {Durability::kSync, Durability::kLazy, Durability::kNone}) {
    options_.durability = durability;
    Open();
    const std::string table = std::string("table_") + DurabilityName(durability);
    engine_->OpenTable(table);
    bool named = false;
    for (const std::string& file : TableFilesIn(info(), dir_)) {
      EXPECT_TRUE(fs::exists(fs::path(dir_) / file)) << file;
      named = named || fs::path(file).stem() == table;
    }
    EXPECT_TRUE(named) << table;
    Close();
  }
}

}  // namespace
}  // namespace testbed
