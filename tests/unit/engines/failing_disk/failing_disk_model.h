// What failing_disk.h has beneath it: the two states of each file. Used by failing_disk*.cc alone.
#ifndef TESTBED_TESTS_UNIT_ENGINES_FAILING_DISK_FAILING_DISK_MODEL_H_
#define TESTBED_TESTS_UNIT_ENGINES_FAILING_DISK_FAILING_DISK_MODEL_H_

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/unit/engines/failing_disk/failing_disk.h"

namespace testbed::disk_model {

inline constexpr size_t kBlock = 4096, kSector = 512;

struct DeviceFile {
  std::string path;                 // as it was last seen
  std::string bytes;                // on the device
  std::map<uint64_t, bool> blocks;  // that differ from the page cache; true = dirty
  bool is_mapped = false;           // writable and shared: what changes is found by comparing
};
using FileRef = std::shared_ptr<DeviceFile>;

struct Mapping {
  char* begin;
  size_t bytes;
  FileRef file;
};

// All of it is under the mutex.
struct Model {
  std::mutex mutex;
  std::string dir;
  std::map<ino_t, FileRef> files;
  // Of each directory: its names as they are durable. Subdirectories have no file.
  std::map<std::string, std::map<std::string, FileRef>> names;
  std::vector<Mapping> mappings;
  DiskFault fault;
  uint64_t calls = 0, failed = 0, all_calls = 0, cut_at = UINT64_MAX, cut_seed = 0;
  bool is_cut = false;

  bool Has(const std::string& path) const { return path.starts_with(dir + "/"); }
  FileRef FileAt(const std::string& path);  // null: no regular file of the directory
  void Forget(const std::string& path);     // its name goes; its number may be used again
  // Counts a call. Returns whether it must fail, having set errno; `fault.error` may be 0.
  bool Fails(DiskCall call);
  void MarkDirty(DeviceFile* file, uint64_t from, uint64_t end);
  void FindMappedChanges(DeviceFile* file);
  // The dirty blocks go to the device or, if it fails, are taken for clean.
  void Sync(DeviceFile* file, bool fails);
  void SyncNames(const std::string& directory);
  void DropCleanPages(DeviceFile* file);
  void Cut(uint64_t seed);

 private:
  void CutFile(DeviceFile* file, std::mt19937_64* random);
};

extern std::atomic<bool> on;
Model& TheModel();
// Holds the model; calls that its thread makes meanwhile are those of the system.
class Hold {
 public:
  Hold() : lock_(TheModel().mutex) { holds = true; }
  ~Hold() { holds = false; }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  static bool IsFree() { return on.load() && !holds; }

 private:
  static inline thread_local bool holds = false;
  std::lock_guard<std::mutex> lock_;
};
std::string PathOf(int fd);  // empty when it has none
// From page writes to those that a failed sync took for clean: they are dirty anew.
void WatchLostPages(DeviceFile* file);

// The real system calls.
ssize_t RealPwrite(int fd, const void* data, size_t n, off_t at);
ssize_t RealPread(const std::string& path, void* to, size_t n, off_t at);

}  // namespace testbed::disk_model

#endif  // TESTBED_TESTS_UNIT_ENGINES_FAILING_DISK_FAILING_DISK_MODEL_H_
