// Each file that an engine makes is one that its EngineInfo lists, whenever one looks: --fresh removes
// these and no others.
#include <filesystem>
#include <string>

#include "engines/databases.h"
#include "engines/registry.h"
#include "tests/engine/engine_test.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

class FilesTest : public EngineTest {
 protected:
  void ExpectKnown(const char* when) {
    for (const auto& entry : fs::recursive_directory_iterator(dir_)) {
      const std::string path = entry.path().lexically_relative(dir_);
      EXPECT_TRUE(IsEngineFile(info(), path, entry.is_directory())) << path << " " << when;
    }
  }
};
TESTBED_FOR_EVERY_ENGINE(FilesTest);

TEST_P(FilesTest, EachIsListed) {
  Open();
  ExpectKnown("when it is new");
  for (const uint64_t rows : {1000, 20000}) {
    Load(rows, 200);
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
  info.files = {"data", "log/log-#", "#.sst", "*.wt"};
  for (const char* path : {"data", "log/log-000017", "000012.sst", "a table.wt", "3/data",
                           "12/log/log-1", "0/a.wt", ".wt"}) {
    EXPECT_TRUE(IsEngineFile(info, path)) << path;
  }
  for (const char* path :
       {"", "dat", "data2", "data.bak", "log/log-", "log/log-1x", "log/data", "log-1", "x.sst",
        "1a.sst", "x/a.wt", "a.wt/x", "x3/data", "3/3/data", "log", "3"}) {
    EXPECT_FALSE(IsEngineFile(info, path)) << path;
  }
  for (const char* path : {"log", "3", "3/log"}) {
    EXPECT_TRUE(IsEngineFile(info, path, true)) << path;
  }
  for (const char* path : {"data", "log2", "mine", "3/mine", "log/log-1"}) {
    EXPECT_FALSE(IsEngineFile(info, path, true)) << path;
  }
}

}  // namespace
}  // namespace testbed
