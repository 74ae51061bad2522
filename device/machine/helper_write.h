// Writes to a file of the kernel whose write(2) may not return for long, or never, such as
// memory.force_empty of a cgroup whose dirty pages cannot be written. A helper process makes the
// call, because a process in such a call ends only by SIGKILL, and the caller must go on.
#ifndef TESTBED_DEVICE_MACHINE_HELPER_WRITE_H_
#define TESTBED_DEVICE_MACHINE_HELPER_WRITE_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace testbed {

enum class WriteEnd : uint8_t {
  kDone,
  kRefused,  // the kernel refused the write or a signal ended it, or there was no helper to make it
  kStuck,    // the helper was killed, and the kernel may still be busy with its write
};

// Writes `text` to the file, whose `path` is absolute, in one write(2). `left` returns how much of
// its work the write has still to do. The helper is killed when this value has not fallen by a 64th
// of its first value for the time `stall`. The function does not wait for a helper that the kernel
// does not let end.
WriteEnd WriteInHelper(const std::string& path, const std::string& text,
                       std::chrono::milliseconds stall, const std::function<uint64_t()>& left);

}  // namespace testbed

#endif  // TESTBED_DEVICE_MACHINE_HELPER_WRITE_H_
