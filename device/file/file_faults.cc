#include "device/file/file_faults.h"

#include <cerrno>

#include "device/os/mutex.h"

namespace testbed {
namespace {

Mutex mutex;  // protects the four numbers below
uint64_t calls GUARDED_BY(mutex) = 0,
               fail_first GUARDED_BY(mutex) = 0, fail_last GUARDED_BY(mutex) = 0;
int fail_error GUARDED_BY(mutex) = 0;

}  // namespace

void FileFaults::Set(uint64_t first, uint64_t last, int error) {
  LockGuard lock(mutex);
  calls = 0;
  fail_first = first;
  fail_last = last;
  fail_error = error;
  armed_.store(true);
}

uint64_t FileFaults::Clear() {
  LockGuard lock(mutex);
  armed_.store(false);
  return calls;
}

int FileFaults::Count(bool can_need_space) {
  LockGuard lock(mutex);
  if (fail_error == ENOSPC && !can_need_space) return 0;
  const uint64_t call = calls++;
  return call >= fail_first && call < fail_last ? fail_error : 0;
}

}  // namespace testbed
