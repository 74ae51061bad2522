#include "device/machine/resident_code.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <string_view>
#include <vector>

namespace testbed {
namespace {

// A Mapping is a range of the address space, [begin, end).
struct Mapping {
  uint64_t begin, end;
};

// Returns the mappings of files that the process can only read or execute: the code and the
// constants of the program and its libraries.
std::vector<Mapping> MappingsOfCode() {
  std::vector<Mapping> code;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    Mapping m{};
    char rights[5] = "";
    int path = 0;
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %*s %n", &m.begin, &m.end,
                    rights, &path) != 3) {
      continue;
    }
    const std::string_view r = rights;
    const bool is_file = path > 0 && line[static_cast<size_t>(path)] == '/';
    if (is_file && (r == "r-xp" || r == "r--p")) code.push_back(m);
  }
  return code;
}

}  // namespace

uint64_t ReadOwnCode() {
  uint64_t bytes = 0;
  for (const Mapping& m : MappingsOfCode()) {
    void* const begin = reinterpret_cast<void*>(m.begin);
    const size_t size = m.end - m.begin;
    // Linux before 5.14 cannot populate a mapping, and reads the file ahead.
    if (::madvise(begin, size, MADV_POPULATE_READ) != 0) ::madvise(begin, size, MADV_WILLNEED);
    bytes += size;
  }
  return bytes;
}

void ReadProgramFile(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  std::vector<char> buffer(1 << 18);
  while (::read(fd, buffer.data(), buffer.size()) > 0) {
  }
  ::close(fd);
}

}  // namespace testbed
