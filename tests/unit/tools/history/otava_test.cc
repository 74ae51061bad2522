#include "tools/history/otava.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "device/os/temporary_dir.h"

namespace testbed {
namespace {

std::string Read(const std::string& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

HistorySeries Series(const std::string& metric, const std::vector<double>& values) {
  HistorySeries series;
  series.title = "btree point-read, it's {all} 100%";
  series.metric = metric;
  for (size_t i = 0; i < values.size(); ++i) {
    HistoryPoint point;
    point.started = "2026-10-1" + std::to_string(i) + "T02:00:00Z";
    point.commit = "c" + std::to_string(i);
    point.result = i;
    point.value.mean = values[i];
    series.points.push_back(point);
  }
  return series;
}

// The branch and the title hold what SQL, YAML, Otava's driver and Python's format read as their
// own.
TEST(OtavaTest, TheScriptAndTheTestsForPostgresQuoteWhatTheyName) {
  const TemporaryDir directory(testing::TempDir());
  const std::vector<HistorySeries> series = {Series("rate", {1000.5, 930}), Series("p99", {30})};
  const std::vector<std::string> files = WriteOtavaDatabase(series, "o'h", directory.path());
  ASSERT_EQ(files.size(), 2u);
  const std::string yaml = Read(files[0]), sql = Read(files[1]);
  for (const std::string& file : files) std::remove(file.c_str());
  EXPECT_NE(sql.find("DELETE FROM testbed_history WHERE branch = 'o''h';\n"), std::string::npos)
      << sql;
  EXPECT_NE(sql.find("VALUES ('o''h', 'btree point-read, it''s {all} 100%', 1, "
                     "'2026-10-11T02:00:00Z', 'c1', 'rate', 930);\n"),
            std::string::npos)
      << sql;
  EXPECT_NE(yaml.find("(WHERE metric = ''rate''), ''NaN'') AS rate, "), std::string::npos) << yaml;
  EXPECT_NE(yaml.find("WHERE branch = %{BRANCH} AND series = ''btree point-read, it''''s {all} "
                      "100%%'' GROUP BY time"),
            std::string::npos)
      << yaml;
  EXPECT_NE(yaml.find("series = ''btree point-read, it''''s {{all}} 100%%'' AND metric = "
                      "''{metric}'' AND result = {result}'"),
            std::string::npos)
      << yaml;
}

}  // namespace
}  // namespace testbed
