// Tests that each file that an engine makes, at any moment, is one that its EngineInfo lists:
// --fresh removes these files and no others.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "engines/databases.h"
#include "engines/registry.h"
#include "tests/engine/engine_test.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

class FilesTest : public AnyIoModeTest {
 public:
  static constexpr CaseChoice kChoice = {.variants = true};

 protected:
  void ExpectKnown(const char* when) {
    const std::vector<std::string> tables = TableFilesIn(info(), dir_);
    for (const auto& entry : fs::recursive_directory_iterator(dir_)) {
      const std::string path = entry.path().lexically_relative(dir_);
      const bool of_table = std::find(tables.begin(), tables.end(), path) != tables.end();
      EXPECT_TRUE(of_table || IsEngineFile(info(), path, entry.is_directory()))
          << path << " " << when;
    }
  }
};
TESTBED_FOR_EVERY_ENGINE(FilesTest);

TEST_P(FilesTest, EachIsListed) {
  Open();
  ExpectKnown("when it is new");
  for (const uint64_t rows : {1000, 20000}) {
    Load(rows / RowsInOne(), 200 * RowsInOne());
    ExpectKnown("while it is open");
    engine_->Flush();
    engine_->Checkpoint();
    ExpectKnown("after a checkpoint");
    engine_->Settle();
    ExpectKnown("at rest");
  }
  Close();
  ExpectKnown("after it was closed");
  Open();
  Put("k", "v");
  ExpectKnown("opened again");
}

TEST_P(FilesTest, EachOfSeveralDatabasesIsListed) {
  engine_ = OpenDatabases(info().name, dir_, options_, 2);
  ExpectKnown("with two databases");
  EXPECT_FALSE(fs::is_empty(dir_));
}

TEST(IsEngineFileTest, MatchesPatterns) {
  EngineInfo info;
  info.files = {"data",        "log/log-#", "#.sst",         "*.wt",
                "wal/~~/~~~~", "tmp/\\#x*", "own/mappings/", "base/#/PG_VERSION"};
  for (const char* path :
       {"data", "log/log-000017", "000012.sst", "a table.wt", "3/data", "12/log/log-1", "0/a.wt",
        ".wt", "wal/0F/00A9", "tmp/#x-1", "base/5/PG_VERSION"}) {
    EXPECT_TRUE(IsEngineFile(info, path)) << path;
  }
  for (const char* path : {"",
                           "dat",
                           "data2",
                           "data.bak",
                           "log/log-",
                           "log/log-1x",
                           "log/data",
                           "log-1",
                           "x.sst",
                           "1a.sst",
                           "x/a.wt",
                           "a.wt/x",
                           "x3/data",
                           "3/3/data",
                           "log",
                           "3",
                           "wal/0f/00A9",
                           "wal/0F/00A90",
                           "wal/0F/00G9",
                           "tmp/1x-1",
                           "own/mappings",
                           "base/mine/PG_VERSION"}) {
    EXPECT_FALSE(IsEngineFile(info, path)) << path;
  }
  for (const char* path : {"log", "3", "3/log", "wal", "wal/0F", "own", "own/mappings", "base",
                           "base/5", "2/base/5"}) {
    EXPECT_TRUE(IsEngineFile(info, path, true)) << path;
  }
  for (const char* path : {"data", "log2", "mine", "3/mine", "log/log-1", "wal/0", "wal/0F/00A9",
                           "own/mine", "base/5/6", "base/mine"}) {
    EXPECT_FALSE(IsEngineFile(info, path, true)) << path;
  }
}

}  // namespace
}  // namespace testbed
