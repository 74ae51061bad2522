// Tests what wiredtiger makes of the options of a log that it does not have.
#include <gtest/gtest.h>

#include <string>

#include "device/error.h"
#include "engines/registry.h"
#include "tests/engine/engine_test.h"
#include "tests/engine/wiredtiger_database.h"

#ifdef TESTBED_HAVE_WIREDTIGER

namespace testbed {
namespace {

class WiredtigerNoLogTest : public WiredtigerTest {};

// --reuse may bring these from a load that had a log.
TEST_F(WiredtigerNoLogTest, ItsOptionsSayThatTheyHaveNoEffect) {
  options_.durability = Durability::kNone;
  options_.extra = {{"log_io", "direct"}, {"log_sync", "dsync"}, {"checkpoint_log_bytes", "1M"}};
  Open();
  for (const char* name : {"log_io", "log_sync", "log_file_max", "log_prealloc", "log_zero_fill",
                           "checkpoint_log_bytes"}) {
    EXPECT_EQ(Setting(name), "no effect: --durability none has no log") << name;
  }
  for (const char* name : {"log_file_max", "log_prealloc", "log_zero_fill"}) {
    options_.extra = {{name, "no such value"}};
    EXPECT_NE(ErrorOf(Error::kUsage, [&] { Open(); }).find(name), std::string::npos);
  }
}

}  // namespace
}  // namespace testbed

#endif  // TESTBED_HAVE_WIREDTIGER
