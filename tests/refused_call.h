// Makes the kernel refuse a system call, as an older kernel or a container's filter does
// (seccomp(2)). A filter lasts as long as its process, so the code under it runs in a child
// process.
#ifndef TESTBED_TESTS_REFUSED_CALL_H_
#define TESTBED_TESTS_REFUSED_CALL_H_

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iterator>

namespace testbed {

constexpr int kCannotRefuse = 77, kThrew = 78;
constexpr char kNoFilters[] = "this system lets no process filter its system calls";

// Calls `function` in a child process in which the system call fails with errno `code`, unless its
// second argument is more than `most`. Returns what `function` returns, from 0 to 76; kCannotRefuse
// where no filter is permitted, kThrew when it throws, and -1 when a signal ended the child.
template <typename Function>
int ExitCodeWithout(long call, int code, Function function, uint32_t most = UINT32_MAX) {
  const pid_t child = ::fork();
  if (child == 0) {
    // The filter sees the lower half of the argument alone.
    constexpr uint32_t kSecondArgument =
        offsetof(seccomp_data, args) + 8 + (std::endian::native == std::endian::big ? 4 : 0);
    sock_filter filter[] = {
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
        {BPF_JMP | BPF_JEQ | BPF_K, 0, 3, static_cast<uint32_t>(call)},  // other calls pass
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, kSecondArgument},
        {BPF_JMP | BPF_JGT | BPF_K, 1, 0, most},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | static_cast<uint32_t>(code)},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}};
    const sock_fprog program = {static_cast<unsigned short>(std::size(filter)), filter};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
      ::_exit(kCannotRefuse);
    }
    try {
      ::_exit(function());
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      ::_exit(kThrew);
    }
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace testbed

#endif  // TESTBED_TESTS_REFUSED_CALL_H_
