// The model beneath failing_disk.h: the two states of each file. Only failing_disk*.cc includes it.
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
#include <set>
#include <string>
#include <vector>

#include "tests/unit/engines/failing_disk/failing_disk.h"

namespace testbed::disk_model {

inline constexpr size_t kBlock = 4096, kSector = 512;

struct DeviceFile {
  std::string path;                 // the last known path
  std::string bytes;                // contents on the device
  std::map<uint64_t, bool> blocks;  // blocks that differ from the page cache; false: lost, clean
  std::map<uint64_t, std::string> earlier;  // what dirty blocks had before they were written again
  bool is_mapped = false;          // has a writable shared mapping: changes show by comparing
  std::set<uint64_t> written;      // blocks that have reached the device since they were allocated
  std::set<uint64_t> direct;       // blocks whose last write passed by the page cache
  std::set<uint64_t> stuck;        // blocks that no sync writes while their page is in the cache
  uint64_t write_back_errors = 0;  // errors of the kernel's own write-backs
};
using FileRef = std::shared_ptr<DeviceFile>;

// What a name in a directory leads to.
struct DeviceName {
  FileRef file;            // null: it is a subdirectory
  uint64_t directory = 0;  // the number of that
};
using Names = std::map<std::string, DeviceName>;

struct Mapping {
  char* begin;
  size_t bytes;
  FileRef file;
  int fd;  // descriptor that was mapped
};

// The state of the disk. `mutex` protects all members.
struct Model {
  std::mutex mutex;
  std::string dir;
  std::map<ino_t, FileRef> files;
  // The durable names of each directory, by its number, which it keeps when it is renamed.
  std::map<uint64_t, Names> names;
  // The changes of names that are not durable yet, in their order: the names that the directories
  // of a change have after it.
  std::vector<std::map<uint64_t, Names>> name_changes;
  static constexpr uint64_t kTop = 1;     // number of `dir`
  std::map<ino_t, uint64_t> directories;  // numbers of the subdirectories that are there
  uint64_t last_directory = kTop;         // the last number that was given
  std::set<std::string> renamed_between;  // directories between which files were renamed
  std::vector<Mapping> mappings;
  DiskFault fault;
  // By descriptor: the number of write-back errors of its file that were reported to it, or had
  // happened before it was opened.
  std::map<int, uint64_t> told;
  uint64_t calls = 0, failed = 0, all_calls = 0, cut_at = UINT64_MAX, cut_seed = 0;
  uint64_t most_bytes = UINT64_MAX;  // limit of all files together
  bool is_cut = false, whole_blocks = false;

  bool Has(const std::string& path) const { return path.starts_with(dir + "/"); }
  FileRef FileAt(const std::string& path);  // null unless it is a regular file of the directory
  void Forget(const std::string& path);     // forgets the inode, whose number may be used again
  // Counts a call. Returns whether it must fail, and then sets errno to fault.error, which may be
  // 0.
  bool Fails(DiskCall call, const std::string& path = "");
  // Returns how many of the `n` bytes at `at` fit: the file has space for them, or the disk has
  // some left.
  uint64_t Fitting(const std::string& path, uint64_t at, uint64_t n) const;
  void MarkDirty(DeviceFile* file, uint64_t from, uint64_t end);
  // Keeps the contents of the dirty blocks that a write is about to change.
  void KeepEarlier(DeviceFile* file, uint64_t from, uint64_t end);
  void FindMappedChanges(DeviceFile* file);
  // Copies the dirty blocks to the device or, when the sync fails, marks them clean.
  void Sync(DeviceFile* file, bool fails);
  // Makes the names of a directory durable. A rename between two directories is durable in both of
  // them, or in neither, as in a file system with a journal.
  void SyncNames(const std::string& directory);
  // Takes note that the names in these directories were changed by one call.
  void NoteNames(const std::set<std::string>& changed);
  // Returns the number of a directory; 0 when there is none.
  uint64_t NumberOf(const std::string& directory);
  // Takes note of a rename that was done.
  void NoteRename(const std::string& from, const std::string& to);
  // Returns whether a write-back error was not reported to the descriptor yet, and marks it as
  // reported.
  bool TellsOfWriteBack(int fd, const DeviceFile& file);
  // Drops the clean pages from the page cache. Pages of a mapping stay unless `mapped_too` is set,
  // as when the kernel reclaims their memory.
  void DropCleanPages(DeviceFile* file, bool mapped_too = false);
  void NoteFreed(DeviceFile* file, uint64_t from,
                 uint64_t end);  // the space of these blocks was freed
  void Cut(uint64_t seed);

 private:
  Names NamesNow(const std::string& directory);
  void CutNames(std::mt19937_64* random);
  void CutFile(DeviceFile* file, std::mt19937_64* random);
};

extern std::atomic<bool> on;
Model& TheModel();
// Holds the model's lock. Calls that the thread makes meanwhile go to the system unchanged.
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
uint64_t SizeOf(const std::string& path);
uint64_t SizeOfAll(const std::string& dir);
std::string PathOf(int fd);  // empty when the file has no name
// Watches the mapped pages that a failed sync has marked clean; a write makes them dirty again.
void WatchLostPages(DeviceFile* file);

// The real system calls.
ssize_t RealPwrite(int fd, const void* data, size_t n, off_t at);
ssize_t RealPread(const std::string& path, void* to, size_t n, off_t at);

}  // namespace testbed::disk_model

#endif  // TESTBED_TESTS_UNIT_ENGINES_FAILING_DISK_FAILING_DISK_MODEL_H_
