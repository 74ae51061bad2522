// Sets the readahead of the block device under a path for a run, and puts it back whatever happens.
//
//   for (const std::string& done : ReadaheadGuard::RestoreStale()) Say(done);   // of killed runs
//   auto readahead = ReadaheadGuard::Under(directory, 4);   // read_ahead_kb = 4
//   ... open files and run ...
//
// read_ahead_kb belongs to the whole disk and needs root. The kernel takes it when a file is
// opened: set it before. A file system that has a readahead of its own (btrfs) ignores it and is
// refused with an Error, as is a path without a block device.
//
// Put back by the destructor, so on every normal end and exception; by a CrashAction on signals and
// exit() (SignalGuard must be installed); and after SIGKILL or a power cut by the next run, from a
// state file in /run/testbed, or in /var/tmp/testbed where /run cannot be written. It names the
// device, its attachment (diskseq: loop devices are reused), the boot, the owner's process id, which
// is for the reader, and both values. The file is also the lock: a device has one guard at a time,
// which holds a lock on the file as long as it lives, so that runs in other process namespaces know.
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

// Where the guard finds and keeps things; tests put directories of their own here.
struct ReadaheadPlaces {
  std::string sys_block = "/sys/block";
  std::string boot_id = "/proc/sys/kernel/random/boot_id";
  std::vector<std::string> state_directories = {"/run/testbed", "/var/tmp/testbed"};
};

class ReadaheadGuard {
 public:
  // The device under `path`, set to `kb` KiB (whole pages). Throws Error: kUsage when the device
  // cannot take it, another run holds it or the user may not set it.
  static std::unique_ptr<ReadaheadGuard> Under(const std::string& path, uint64_t kb,
                                               const ReadaheadPlaces& places = {});
  ReadaheadGuard(const std::string& device, uint64_t kb, const ReadaheadPlaces& places = {});
  ~ReadaheadGuard();
  ReadaheadGuard(const ReadaheadGuard&) = delete;
  ReadaheadGuard& operator=(const ReadaheadGuard&) = delete;

  const std::string& device() const { return device_; }
  uint64_t kb() const { return kb_; }
  uint64_t previous_kb() const { return previous_kb_; }

  // Puts the earlier value back. Returns a sentence when someone changed the setting during the
  // run, which then did not have the readahead it asked for, or when it could not be put back; else
  // an empty string. The destructor calls it.
  std::string Restore();

  // Puts back what runs that were killed left behind. Returns a sentence for each.
  static std::vector<std::string> RestoreStale(const ReadaheadPlaces& places = {});

 private:
  // What a signal handler needs, with nothing to allocate.
  struct Undo {
    int fd = -1;         // of read_ahead_kb
    char text[24] = {};  // the earlier value
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
