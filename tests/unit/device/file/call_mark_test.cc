// Tests that the kernel level can tell whose the blocks are that a call of a file makes the file
// system write. Blocks that it zeroes have no pages that lead to a file.
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <string>

#include "device/account/ledger.h"
#include "device/file/file.h"
#include "tests/refused_call.h"

namespace testbed {
namespace {

constexpr int kNotCalled = 79;

// Runs `call` in a child process up to its system call of this number, in place of which the
// kernel sends a signal. Returns KernelSlot::kind at that moment, kNotCalled, kThrew or
// kCannotRefuse.
int KindDuring(long number, const std::function<void()>& call) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGSYS, [](int) {
      ::_exit(static_cast<int>(Ledger::ThisThread().kernel->kind.load(std::memory_order_relaxed)));
    });
    sock_filter filter[] = {{BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
                            {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, static_cast<uint32_t>(number)},
                            {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_TRAP},
                            {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}};
    const sock_fprog program = {static_cast<unsigned short>(std::size(filter)), filter};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
      ::_exit(kCannotRefuse);
    }
    try {
      call();
    } catch (const std::exception&) {
      ::_exit(kThrew);
    }
    ::_exit(kNotCalled);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(CallMarkTest, EachCallThatMayWriteBlocksTellsTheKindOfItsFile) {
  std::string pattern = std::filesystem::current_path() / "call_mark_test_XXXXXX";
  const std::string directory = ::mkdtemp(pattern.data());
  FileOptions options;
  options.mode = IoMode::kBuffered;
  options.create = FileOptions::kMustCreate;
  options.kind = FileKind::kLog;
  const std::unique_ptr<File> file = File::Open(directory + "/f", options);
  struct {
    const char* what;
    long number;
    std::function<void()> call;
  } const calls[] = {{"Write", SYS_pwrite64, [&] { file->Write(0, "x", 1); }},
                     {"Truncate", SYS_ftruncate, [&] { file->Truncate(100); }},
                     {"Allocate", SYS_fallocate, [&] { file->Allocate(0, 8192); }},
                     {"Punch", SYS_fallocate, [&] { file->Punch(0, 4096); }},
                     {"Sync", SYS_fdatasync, [&] { file->Sync(); }}};
  for (const auto& [what, number, call] : calls) {
    const int kind = KindDuring(number, call);
    if (kind == kCannotRefuse) GTEST_SKIP() << kNoFilters;
    EXPECT_EQ(kind, static_cast<int>(FileKind::kLog) + 1) << what;
  }
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace testbed
