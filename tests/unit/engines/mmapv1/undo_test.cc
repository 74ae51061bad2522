// Tests that an operation which fails for want of memory, at any of its allocations, leaves every
// byte unchanged.
#include <gtest/gtest.h>

#include <new>
#include <string>

#include "tests/unit/engines/failing_new.h"
#include "tests/unit/engines/mmapv1/test_util.h"

namespace testbed::mmapv1 {
namespace {

class Mmapv1UndoTest : public Mmapv1FilesTest {
 protected:
  ~Mmapv1UndoTest() override { FailingNew::Clear(); }
  std::string AllBytes() const {
    std::string bytes;
    for (int32_t n = kNsFile; n < files_->count(); n = n == kNsFile ? 0 : n + 1) {
      bytes.append(files_->At({n, 0}, files_->file(n).bytes()), files_->file(n).bytes());
    }
    return bytes;
  }
};

TEST_F(Mmapv1UndoTest, WithoutMemoryAnOperationLeavesNothing) {
  OpenFiles();
  NewTable("t");
  bool failed = true;
  int64_t failures = 0;
  for (; failed && failures < 200; ++failures) {
    SCOPED_TRACE(failures);
    files_.reset();
    OpenFiles();  // has no memory for an undo yet
    Table table(files_.get(), settings_, &counts_, *FindTable(*files_, "t"));
    const std::string before = AllBytes();
    files_->BeginOperation();
    FailingNew::Set(failures);
    try {
      for (int i = 0; i < 20; ++i) {
        table.Put(std::string(1, static_cast<char>('a' + i)), std::string(10 + 40 * i, 'v'));
      }
    } catch (const std::bad_alloc&) {
    }
    failed = FailingNew::Clear();
    if (!failed) break;
    files_->UndoOperation();
    ASSERT_TRUE(AllBytes() == before);
  }
  EXPECT_FALSE(failed);
  EXPECT_GT(failures, 10);
  files_->EndOperation();
  CheckSound();
}

}  // namespace
}  // namespace testbed::mmapv1
