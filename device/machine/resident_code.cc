#include "device/machine/resident_code.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <string_view>
#include <vector>

namespace testbed {
namespace {

// A CodeRange is a part of a file that is mapped.
struct CodeRange {
  std::string path;
  uint64_t offset, bytes;
};

// Returns the parts of files that the process has mapped and can only read or execute: the code and
// the constants of the program and its libraries.
std::vector<CodeRange> MappedCode() {
  std::vector<CodeRange> code;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    uint64_t begin = 0, end = 0, offset = 0;
    char rights[5] = "";
    int path = 0;
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n", &begin,
                    &end, rights, &offset, &path) != 4) {
      continue;
    }
    const std::string_view r = rights;
    const bool is_file = path > 0 && line[static_cast<size_t>(path)] == '/';
    if (!is_file || (r != "r-xp" && r != "r--p")) continue;
    code.push_back({line.substr(static_cast<size_t>(path)), offset, end - begin});
  }
  return code;
}

// Reads a part of a file, up to the end of the file, and returns how many bytes that were; 0 when
// the file cannot be read.
uint64_t ReadCode(const std::string& path, uint64_t offset, uint64_t bytes) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return 0;
  struct stat status {};
  uint64_t done = 0;
  if (::fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
    std::vector<char> buffer(1 << 18);
    while (done < bytes) {
      const size_t n = std::min<uint64_t>(buffer.size(), bytes - done);
      const ssize_t got = ::pread(fd, buffer.data(), n, static_cast<off_t>(offset + done));
      if (got <= 0) break;
      done += static_cast<uint64_t>(got);
    }
  }
  ::close(fd);
  return done;
}

}  // namespace

// Reads the files and does not populate the mappings: that would make all code resident memory of
// the process, also the code that it never runs.
uint64_t ReadOwnCode() {
  uint64_t bytes = 0;
  for (const CodeRange& range : MappedCode()) {
    bytes += ReadCode(range.path, range.offset, range.bytes);
  }
  return bytes;
}

void ReadProgramFile(const std::string& path) { ReadCode(path, 0, UINT64_MAX); }

}  // namespace testbed
