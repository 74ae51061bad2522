// A ReadaheadGuard sets the readahead of the block device under a path for a run, and puts the
// earlier value back however the run ends.
//
//   for (const std::string& done : ReadaheadGuard::RestoreStale()) Say(done);   // of killed runs
//   auto readahead = ReadaheadGuard::Under(directory, 4);   // read_ahead_kb = 4
//   ... open files and run ...
//
// read_ahead_kb belongs to the whole disk, and only root may set it. The kernel reads it when a
// file is opened, so it is set before. A file system that has a readahead of its own (btrfs)
// ignores it and is refused with an Error, as is a path without a block device.
//
// The destructor puts the value back on every normal end and exception. A CrashAction does so on
// signals and exit() (SignalGuard must be installed). After SIGKILL or a power cut the next run
// does so from a state file in /run/testbed, or in /var/tmp/testbed where /run cannot be written.
// The file names the device, its attachment (diskseq: loop devices are reused), the boot, the
// owner's process id, and both values. It is also the lock on the device: a device has one guard at
// a time, which holds a lock on the file as long as it lives, so that runs in other process
// namespaces see it. Not thread-safe.
#ifndef TESTBED_DEVICE_MACHINE_READAHEAD_H_
#define TESTBED_DEVICE_MACHINE_READAHEAD_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device/os/signal_guard.h"

namespace testbed {

// ReadaheadPlaces are the files and directories that a guard uses. Tests replace them.
struct ReadaheadPlaces {
  std::string sys_block = "/sys/block";
  std::string boot_id = "/proc/sys/kernel/random/boot_id";
  std::vector<std::string> state_directories = {"/run/testbed", "/var/tmp/testbed"};
};

class ReadaheadGuard {
 public:
  // Sets the readahead of the device under `path` to `kb` KiB, a whole number of pages. Throws
  // Error: kUsage when the device cannot take the value, another run holds the device or the user
  // may not set the value; kIo when no state file can be written.
  static std::unique_ptr<ReadaheadGuard> Under(const std::string& path, uint64_t kb,
                                               const ReadaheadPlaces& places = {});
  ReadaheadGuard(const std::string& device, uint64_t kb, const ReadaheadPlaces& places = {});
  ~ReadaheadGuard();
  ReadaheadGuard(const ReadaheadGuard&) = delete;
  ReadaheadGuard& operator=(const ReadaheadGuard&) = delete;

  const std::string& device() const { return device_; }
  uint64_t kb() const { return kb_; }
  uint64_t previous_kb() const { return previous_kb_; }

  // Puts the earlier value back. Returns a sentence when another program changed the setting during
  // the run, so that the run did not have the readahead that it had asked for, or when the value
  // could not be put back; else an empty string. The destructor calls it.
  std::string Restore();

  // Puts back the values that killed runs left set. Returns a sentence for each device.
  static std::vector<std::string> RestoreStale(const ReadaheadPlaces& places = {});

 private:
  // Undo is the data of RunUndo, which runs in a signal handler and may not allocate.
  struct Undo {
    int fd = -1;         // descriptor of the file read_ahead_kb
    char text[24] = {};  // the earlier value as text
    size_t size = 0;
    char state_file[256] = {};
  };
  static void RunUndo(void* undo);
  void Set();
  void RefuseIfHeld() const;
  int CreateNote();

  const ReadaheadPlaces places_;
  const std::string device_;
  const uint64_t kb_;
  uint64_t previous_kb_ = 0;
  uint64_t disk_sequence_ = 0;
  const pid_t owner_;
  const std::string knob_;
  int note_ = -1;  // holds the lock on the state file
  Undo undo_;
  std::unique_ptr<CrashAction> on_crash_;
};

}  // namespace testbed

#endif  // TESTBED_DEVICE_MACHINE_READAHEAD_H_
