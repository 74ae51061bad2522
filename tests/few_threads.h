// Runs code under a limit of threads and processes, as `ulimit -u` sets it.
#ifndef TESTBED_TESTS_FEW_THREADS_H_
#define TESTBED_TESTS_FEW_THREADS_H_

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <exception>
#include <functional>
#include <string>

#include "device/error.h"

namespace testbed {

// Runs `work` in a child process of a user that may have `most` threads and processes, the child
// included. Returns the sentence of the Error that `work` throws, or "none"; begins with "! " when
// it throws anything else or the child dies. The limit does not bind root, so root becomes a user
// without processes first. For another user, the other processes of that user count as well, so the
// limit may be reached earlier.
inline std::string WithFewThreads(unsigned most, const std::function<void()>& work) {
  int ends[2];
  if (::pipe(ends) != 0) return "! no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    std::string said = "none";
    try {
      const rlimit limit{most, most};
      const auto user = static_cast<uid_t>(20000 + ::getpid() % 40000);
      if (::setrlimit(RLIMIT_NPROC, &limit) != 0 || (::geteuid() == 0 && ::setuid(user) != 0)) {
        said = "! no other user";
      } else {
        work();
      }
    } catch (const Error& e) {
      said = e.what();
    } catch (const std::exception& e) {
      said = std::string("! ") + e.what();
    }
    ::_exit(::write(ends[1], said.data(), said.size()) < 0);
  }
  ::close(ends[1]);
  std::string said;
  char part[1000];
  for (ssize_t n; (n = ::read(ends[0], part, sizeof part)) > 0;) {
    said.append(part, static_cast<size_t>(n));
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return "! signal " + std::to_string(WTERMSIG(status));
  return said;
}

// Returns the number of the lowest descriptor that this process has free. It is higher after a call
// that has left a descriptor open.
inline int LowestFreeDescriptor() {
  const int fd = ::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ::close(fd);
  return fd;
}

}  // namespace testbed

#endif  // TESTBED_TESTS_FEW_THREADS_H_
