// Tests that engines which take checkpoints share one rule for the log between two of them: it is
// as long as the memory (docs/engines/settings.md). So engines that are compared write their pages
// equally often.
#include <map>
#include <string>

#include "tests/engine/engine_test.h"
#include "tests/engine/setting_in_force.h"

namespace testbed {
namespace {

class LogRuleTest : public AnyIoModeTest {};
TESTBED_FOR_EVERY_ENGINE(LogRuleTest);

TEST_P(LogRuleTest, TheLogBetweenCheckpointsIsAsLongAsTheMemory) {
  static const std::map<std::string, std::string> kSettings = {
      {"btree", "checkpoint_log"},
      {"fractal", "checkpoint_log"},
      {"wiredtiger", "checkpoint_log_bytes"},
      {"innodb", "innodb_log_file_size"}};
  const auto setting = kSettings.find(info().name);
  if (setting == kSettings.end()) GTEST_SKIP() << info().name << " has another rule";
  options_.extra.erase("log_file_size");  // the fixture's
  options_.ram_bytes = 80 * kMiB;
  Open();
  EXPECT_EQ(SettingInForce(*engine_, setting->second), std::to_string(80 * kMiB));
}

}  // namespace
}  // namespace testbed
