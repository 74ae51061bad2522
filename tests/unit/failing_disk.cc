#include "tests/unit/failing_disk.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <vector>

namespace testbed {
namespace {

namespace fs = std::filesystem;
constexpr size_t kBlock = 4096;

struct DeviceFile {
  std::string bytes;                // on the device
  std::map<uint64_t, bool> blocks;  // that differ from the page cache; true = dirty
};
struct Fault {
  uint64_t at = UINT64_MAX;
  bool lasts = false;
  int error = EIO;
  bool Hits(uint64_t n) const { return lasts ? n >= at : n == at; }
};

std::atomic<bool> on{false};
std::mutex mutex;
std::string dir, only;
std::map<ino_t, DeviceFile> files;
Fault write_fault, sync_fault;
uint64_t write_calls = 0, sync_calls = 0, failed_calls = 0;

// Null when the file is none of the directory's. The mutex is held.
DeviceFile* Find(int fd, struct stat* st, bool* counts = nullptr) {
  char name[64], path[4096];
  ::snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
  const ssize_t n = ::readlink(name, path, sizeof path);
  if (n <= 0 || !std::string(path, static_cast<size_t>(n)).starts_with(dir + "/")) return nullptr;
  const std::string found(path, static_cast<size_t>(n));
  if (counts != nullptr) *counts = found.find(only, dir.size()) != std::string::npos;
  if (::fstat(fd, st) != 0 || !S_ISREG(st->st_mode)) return nullptr;
  return &files[st->st_ino];
}

// The file's own bytes, whatever mode `fd` was opened in.
size_t ReadBack(int fd, uint64_t at, char* to, size_t n) {
  const std::string name = "/proc/self/fd/" + std::to_string(fd);
  const int own = ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
  if (own < 0) return 0;
  const ssize_t got = ::pread(own, to, n, static_cast<off_t>(at));
  ::close(own);
  return got < 0 ? 0 : static_cast<size_t>(got);
}

int SyncCall(int fd, long call) {
  if (on.load()) {
    std::lock_guard lock(mutex);
    struct stat st;
    bool counts = false;
    if (DeviceFile* const file = Find(fd, &st, &counts)) {
      const bool fails = counts && sync_fault.Hits(sync_calls++);
      if (!fails) file->bytes.resize(static_cast<size_t>(st.st_size));
      char block[kBlock];
      for (auto at = file->blocks.begin(); at != file->blocks.end();) {
        if (fails || !at->second) {
          at->second = false;
          ++at;
          continue;
        }
        const size_t n = ReadBack(fd, at->first * kBlock, block, kBlock);
        const size_t end = std::min<size_t>(at->first * kBlock + n, file->bytes.size());
        for (size_t i = at->first * kBlock; i < end; ++i) {
          file->bytes[i] = block[i - at->first * kBlock];
        }
        at = file->blocks.erase(at);
      }
      if (!fails) return 0;
      ++failed_calls;
      errno = sync_fault.error;
      return -1;
    }
  }
  return static_cast<int>(::syscall(call, fd));
}

ssize_t WriteCall(int fd, const void* data, size_t n, off_t at) {
  if (!on.load()) return ::syscall(SYS_pwrite64, fd, data, n, at);
  std::lock_guard lock(mutex);
  struct stat st;
  bool counts = false;
  DeviceFile* const file = Find(fd, &st, &counts);
  if (file == nullptr) return ::syscall(SYS_pwrite64, fd, data, n, at);
  if (st.st_size == 0) *file = {};  // a new file, perhaps with the number of one that is gone
  const bool fails = counts && write_fault.Hits(write_calls++);
  if (fails) n = n / 2 / kBlock * kBlock;
  ssize_t done = n == 0 ? 0 : ::syscall(SYS_pwrite64, fd, data, n, at);
  for (off_t byte = at; byte < at + done; byte += kBlock) {
    file->blocks[static_cast<uint64_t>(byte) / kBlock] = true;
  }
  if (done > 0) file->blocks[static_cast<uint64_t>(at + done - 1) / kBlock] = true;
  if (!fails) return done;
  ++failed_calls;
  errno = write_fault.error;
  return -1;
}

}  // namespace

FailingDisk::FailingDisk(const std::string& directory, const std::string& of) {
  std::lock_guard lock(mutex);
  dir = directory;
  only = of;
  files.clear();
  write_fault = sync_fault = {};
  write_calls = sync_calls = failed_calls = 0;
  on.store(true);
}
FailingDisk::~FailingDisk() { on.store(false); }

void FailingDisk::FailSync(uint64_t n, bool lasts) {
  std::lock_guard lock(mutex);
  sync_fault = {n, lasts, EIO};
  write_calls = sync_calls = failed_calls = 0;
}
void FailingDisk::FailWrite(uint64_t n, int error, bool lasts) {
  std::lock_guard lock(mutex);
  write_fault = {n, lasts, error};
  write_calls = sync_calls = failed_calls = 0;
}
void FailingDisk::Heal() {
  std::lock_guard lock(mutex);
  write_fault = sync_fault = {};
}
uint64_t FailingDisk::syncs() const { return sync_calls; }
uint64_t FailingDisk::writes() const { return write_calls; }
uint64_t FailingDisk::failed() const { return failed_calls; }

void FailingDisk::Cut(const std::string& to) const {
  std::lock_guard lock(mutex);
  fs::remove_all(to);
  fs::create_directories(to);
  for (const auto& entry : fs::recursive_directory_iterator(dir)) {
    const fs::path copy = fs::path(to) / fs::relative(entry.path(), dir);
    if (entry.is_directory()) {
      fs::create_directories(copy);
      continue;
    }
    struct stat st;
    if (::stat(entry.path().c_str(), &st) != 0) continue;
    std::ofstream out(copy, std::ios::binary);
    if (const auto file = files.find(st.st_ino); file != files.end()) out << file->second.bytes;
  }
}

}  // namespace testbed

extern "C" {
ssize_t pwrite(int fd, const void* data, size_t n, off_t at) {
  return testbed::WriteCall(fd, data, n, at);
}
ssize_t pwrite64(int fd, const void* data, size_t n, off64_t at) {
  return testbed::WriteCall(fd, data, n, at);
}
int fdatasync(int fd) { return testbed::SyncCall(fd, SYS_fdatasync); }
int fsync(int fd) { return testbed::SyncCall(fd, SYS_fsync); }
int posix_fadvise(int fd, off_t at, off_t n, int advice) {
  using testbed::kBlock;
  if (advice == POSIX_FADV_DONTNEED && testbed::on.load()) {
    std::lock_guard lock(testbed::mutex);
    struct stat st;
    if (testbed::DeviceFile* const file = testbed::Find(fd, &st)) {
      const std::string name = "/proc/self/fd/" + std::to_string(fd);
      const int own = ::open(name.c_str(), O_RDWR | O_CLOEXEC);
      std::erase_if(file->blocks, [&](const auto& block) {
        if (block.second) return false;
        std::string old(kBlock, '\0');
        const size_t from = block.first * kBlock;
        if (from < file->bytes.size()) file->bytes.copy(old.data(), kBlock, from);
        const size_t end = static_cast<size_t>(st.st_size);
        const size_t length = from < end ? std::min(kBlock, end - from) : 0;
        ::syscall(SYS_pwrite64, own, old.data(), length, from);
        return true;
      });
      ::close(own);
    }
  }
  return ::syscall(SYS_fadvise64, fd, at, n, advice) == 0 ? 0 : errno;
}
}
