// The image is the file below a scratch device (device/machine/scratch.h). These functions write it
// and recognise an image that was left half-written.
#ifndef TESTBED_DEVICE_MACHINE_SCRATCH_IMAGE_H_
#define TESTBED_DEVICE_MACHINE_SCRATCH_IMAGE_H_

#include <cstdint>
#include <functional>
#include <string>

namespace testbed {

// Writes `bytes` bytes of noise to the file, so that every part of it has a block, and syncs it.
// Calls `progress` with bytes done and bytes in all. Throws Error (kIo) when the system refuses,
// and Stopped when the user asks the run to stop meanwhile.
void WriteImage(int fd, const std::string& path, uint64_t bytes,
                const std::function<void(uint64_t, uint64_t)>& progress);

// Returns whether the file begins as WriteImage leaves it: with the noise, or with zeros where the
// noise was not written yet. So a file of another user that has the name of an image is not taken
// for one. A finished image has no name, so an image that has a name is unfinished.
bool IsUnfinishedImage(int fd);

// Returns the unit of direct IO on the image in bytes, which the loop device's block size must not
// be below.
uint32_t DirectBlockSize(int fd);

}  // namespace testbed

#endif  // TESTBED_DEVICE_MACHINE_SCRATCH_IMAGE_H_
