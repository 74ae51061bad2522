// Tests that the databases of the sweep of failing calls come to what the sweep is to fail.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <string>

#include "device/log/log_reader.h"
#include "engines/log/log_engine.h"
#include "tests/unit/engines/failing_disk/disk_fault_database.h"

namespace testbed {
namespace {

// The making of a segment, the change to it and the syncs of two segments are calls that can fail.
TEST(FaultModesTest, TheLogGoesOnInASecondSegmentAndKeepsTheFirst) {
  int logs = 0;
  for (const FaultMode& mode : FaultModes()) {
    SCOPED_TRACE(mode.name);
    const std::unique_ptr<FaultDatabase> database = mode.make();
    if (database->reads()) continue;
    ++logs;
    std::string dir = std::filesystem::current_path() / "fault_modes_XXXXXX";
    ASSERT_NE(::mkdtemp(dir.data()), nullptr);
    database->Open(dir, true);
    for (int i = 0; i < database->commits(); ++i) {
      database->Commit({{"key" + std::to_string(i), std::to_string(i) + ":value"}});
    }
    database->Close();
    LogReader reader(append_log::LogDirectory(dir));
    LogRecord record;
    int records = 0;
    while (reader.Next(&record)) ++records;
    EXPECT_EQ(records, database->commits());
    EXPECT_GT(reader.tail().segment, 1u);
    std::filesystem::remove_all(dir);
  }
  EXPECT_GT(logs, 0);
}

}  // namespace
}  // namespace testbed
