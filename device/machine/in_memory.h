// Tells whether files lie in memory in the end, where no disk is below them. Direct IO may work
// there, but reads and writes memory, which no budget of a run bounds.
//
// Thread-safe.
#ifndef TESTBED_DEVICE_MACHINE_IN_MEMORY_H_
#define TESTBED_DEVICE_MACHINE_IN_MEMORY_H_

#include <string>

#include "device/account/block_device.h"

namespace testbed {

// Returns whether new files in the directory `path` lie in memory: on a file system in memory
// (IsInMemory of device/file/page_cache.h), on an overlay whose upper layer lies in memory, as on a
// live CD, or on a device that does. False when the system does not tell, as for an overlay whose
// upper layer this process does not see. Tests set `prefix`, which stands before /proc.
bool LiesInMemory(const std::string& path, const std::string& prefix = "");

// Returns whether the device, or one of the disks below it, is a loop device whose image lies in
// memory, or a ram disk of the kernel (brd, zram).
bool LiesInMemory(const BlockDevice& device);

}  // namespace testbed

#endif  // TESTBED_DEVICE_MACHINE_IN_MEMORY_H_
