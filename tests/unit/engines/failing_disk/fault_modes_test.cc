// Tests that the databases of the sweep of failing calls come to what the sweep is to fail, and
// that the sweep finds a commit that is there by half.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "device/log/log_reader.h"
#include "engines/log/log_engine.h"
#include "tests/unit/engines/failing_disk/acknowledged.h"
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

// Rows in memory.
class FaultRows : public FaultDatabase {
 public:
  void Open(const std::string&, bool) override {}
  void Commit(const std::map<std::string, FaultRow>& rows) override {
    for (const auto& [key, value] : rows) rows_[key] = value;
  }
  FaultRow Get(const std::string& key) override { return rows_[key]; }
  void Checkpoint() override {}
  void Close() override {}
  bool Exists(const std::string&) const override { return true; }
  std::string Check(const std::string&) override { return ""; }

 private:
  std::map<std::string, FaultRow> rows_;
};

// The third commit was not acknowledged. It replaces a row, inserts one and erases one.
TEST(FaultModesTest, ACommitThatIsThereByHalfIsFound) {
  using Rows = std::map<std::string, FaultRow>;
  const Rows first = {{"a", "1:"}, {"c", "1:"}}, second = {{"d", "2:"}};
  const Rows third = {{"a", "3:"}, {"b", "3:"}, {"c", std::nullopt}};
  const auto lost = [&](const Rows& there, const Rows& fourth) {
    Acknowledged known;
    FaultRows database;
    int number = 0;
    for (const Rows& rows : {first, second, third, fourth}) {
      known.Begin(++number, rows);
      if (number == 3) {
        database.Commit(there);
        continue;
      }
      database.Commit(rows);
      known.End(number);
    }
    return known.Lost(&database);
  };
  const std::pair<int, int> nothing = {0, 0}, half = {0, 1};
  EXPECT_EQ(lost({}, {}), nothing);
  EXPECT_EQ(lost(third, {}), nothing);
  EXPECT_EQ(lost({{"a", "3:"}, {"c", std::nullopt}}, {}), half) << "without the new row";
  EXPECT_EQ(lost({{"b", "3:"}, {"c", std::nullopt}}, {}), half) << "without the replaced row";
  EXPECT_EQ(lost({{"a", "3:"}, {"b", "3:"}}, {}), half) << "without the erased row";
  EXPECT_EQ(lost(third, {{"b", std::nullopt}}), nothing) << "a later commit has erased it";
  EXPECT_EQ(lost(third, {{"c", "4:"}}), nothing) << "a later commit has inserted it";
}

}  // namespace
}  // namespace testbed
