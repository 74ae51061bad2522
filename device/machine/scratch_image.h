// The file below a scratch device: how it is written, and how one that was left half-written is
// recognised.
#ifndef TESTBED_DEVICE_MACHINE_SCRATCH_IMAGE_H_
#define TESTBED_DEVICE_MACHINE_SCRATCH_IMAGE_H_

#include <cstdint>
#include <functional>
#include <string>

namespace testbed {

// Writes `bytes` of noise to the file, so that each has a block, and syncs it. Throws Error (kIo).
// `progress` is called with bytes done and bytes in all.
void WriteImage(int fd, const std::string& path, uint64_t bytes,
                const std::function<void(uint64_t, uint64_t)>& progress);

// Whether the file is an image that was being written, rather than somebody's of such a name: it
// begins with that noise, or with zeros where that was not written yet. An image has a name no
// longer than that.
bool IsUnfinishedImage(int fd);

// The unit of direct IO on the image, which the loop device's block size must not be below.
uint32_t DirectBlockSize(int fd);

}  // namespace testbed

#endif  // TESTBED_DEVICE_MACHINE_SCRATCH_IMAGE_H_
