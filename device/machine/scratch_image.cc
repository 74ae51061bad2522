#include "device/machine/scratch_image.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "device/error.h"
#include "device/file/aligned_buffer.h"
#include "device/file/direct_io.h"
#include "device/os/interrupted.h"
#include "device/os/signal_guard.h"

namespace testbed {
namespace {

// Fills memory with bytes that do not compress and are not zeros, so that even a file system that
// compresses or skips zeros allocates blocks for the image.
void FillWithNoise(char* data, size_t n) {
  uint64_t x = 0x9e3779b97f4a7c15;
  for (size_t i = 0; i + 8 <= n; i += 8) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    std::memcpy(data + i, &x, 8);
  }
}

}  // namespace

bool IsUnfinishedImage(int fd) {
  char found[4096], noise[sizeof found], zeros[sizeof found] = {};
  FillWithNoise(noise, sizeof noise);
  const ssize_t n = ::pread(fd, found, sizeof found, 0);
  return n >= 0 && (std::memcmp(found, noise, static_cast<size_t>(n)) == 0 ||
                    std::memcmp(found, zeros, static_cast<size_t>(n)) == 0);
}

void WriteImage(int fd, const std::string& path, uint64_t bytes,
                const std::function<void(uint64_t, uint64_t)>& progress) {
  // Allocating all space at once keeps the image in few extents. A file system that cannot do so is
  // fine.
  const auto allocate = [&] { return ::fallocate(fd, 0, 0, static_cast<off_t>(bytes)); };
  if (Uninterrupted(allocate) != 0 && errno == ENOSPC) {
    throw Error::Io("allocate", path, ENOSPC);
  }
  AlignedBuffer buffer(4 << 20);
  FillWithNoise(buffer.data(), buffer.size());
  for (uint64_t done = 0; done < bytes;) {
    if (StopRequested()) throw Stopped("while its scratch device was written");
    const size_t n = std::min<uint64_t>(buffer.size(), bytes - done);
    const ssize_t r =
        Uninterrupted([&] { return ::pwrite(fd, buffer.data(), n, static_cast<off_t>(done)); });
    if (r < 0) throw Error::Io("write", path, errno);
    done += static_cast<uint64_t>(r);
    if (progress) progress(done, bytes);
  }
  if (Uninterrupted([&] { return ::fsync(fd); }) != 0) throw Error::Io("fsync", path, errno);
}

uint32_t DirectBlockSize(int fd) {
  return std::clamp<uint32_t>(DirectIoOf(fd).offset_align, 512, 4096);
}

}  // namespace testbed
