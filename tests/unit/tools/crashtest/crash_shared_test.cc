// Tests what the child processes of crashtest tell their parent.
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "tools/crashtest/crash_process.h"

namespace testbed {
namespace {

// The parent kills the clients as soon as it sees that one has failed, and prints what it finds.
TEST(CrashSharedTest, AFailureThatIsSeenHasItsWholeSentence) {
  CrashShared* const shared = CrashShared::New();
  const std::string sentence(CrashShared::kMessage - 1, 'x');
  constexpr int kRounds = 300;
  int cut = 0;
  for (int i = 0; i < kRounds; ++i) {
    shared->StartRound();
    std::thread client([&] {
      shared->NoteFailure(sentence.c_str());
      shared->NoteFailure("a later failure");
    });
    while (!shared->writer_failed.load()) {
    }
    cut += shared->failure[CrashShared::kMessage - 2] != 'x';
    client.join();
    cut += shared->failure != sentence;
    shared->failure[CrashShared::kMessage - 2] = '\0';
  }
  EXPECT_EQ(cut, 0);
  shared->Delete();
}

}  // namespace
}  // namespace testbed
