#include "tools/database/copy_tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <vector>

#include "device/error.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

// A descriptor that closes itself.
class Descriptor {
 public:
  Descriptor(const std::string& path, int flags, mode_t mode)
      : path_(path), fd_(::open(path.c_str(), flags | O_CLOEXEC, mode)) {
    if (fd_ < 0) throw Error::Io("open", path_, errno);
  }
  ~Descriptor() { ::close(fd_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
  const int fd_;
};

void CopyRange(const Descriptor& from, const Descriptor& to, off_t begin, off_t end) {
  std::vector<char> buffer(static_cast<size_t>(std::min<off_t>(end - begin, 1 << 20)));
  while (begin < end) {
    const auto wanted = std::min(buffer.size(), static_cast<size_t>(end - begin));
    const ssize_t n = ::pread(from.get(), buffer.data(), wanted, begin);
    if (n <= 0) throw Error::Io("read", from.path(), n < 0 ? errno : EIO);
    if (::pwrite(to.get(), buffer.data(), static_cast<size_t>(n), begin) != n) {
      throw Error::Io("write", to.path(), errno);
    }
    begin += n;
  }
}

}  // namespace

void CopyWithHoles(const std::string& from, const std::string& to) {
  const Descriptor source(from, O_RDONLY, 0);
  struct stat st = {};
  if (::fstat(source.get(), &st) != 0) throw Error::Io("stat", from, errno);
  const Descriptor copy(to, O_WRONLY | O_CREAT | O_TRUNC, st.st_mode & 07777);
  if (::ftruncate(copy.get(), st.st_size) != 0) throw Error::Io("truncate", to, errno);
  for (off_t at = 0; at < st.st_size;) {
    const off_t data = ::lseek(source.get(), at, SEEK_DATA);
    if (data < 0 && errno == ENXIO) return;  // the rest is a hole
    const off_t hole = data < 0 ? -1 : ::lseek(source.get(), data, SEEK_HOLE);
    if (hole < 0) throw Error::Io("seek in", from, errno);
    CopyRange(source, copy, data, std::min(hole, st.st_size));
    at = hole;
  }
}

void CopyTree(const std::string& from, const std::string& to) {
  fs::create_directories(to);
  for (const auto& entry : fs::recursive_directory_iterator(from)) {
    const fs::path there = to / entry.path().lexically_relative(from);
    if (entry.is_directory()) {
      fs::create_directories(there);
    } else if (entry.is_regular_file()) {
      CopyWithHoles(entry.path(), there);
    }
  }
}

}  // namespace testbed
