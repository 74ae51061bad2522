// Reads files whole, by blocks. The iterator of a stream takes each byte by itself, which costs
// twenty times as much for the files of a database.
#ifndef TESTBED_TESTS_CONTENTS_H_
#define TESTBED_TESTS_CONTENTS_H_

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace testbed {

// Returns the file's bytes; nothing when it cannot be read. Reads files of /proc, too, which have
// no size.
inline std::string ContentOf(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string content;
  constexpr size_t kBlock = 1 << 16;
  for (size_t at = 0; file; at += static_cast<size_t>(file.gcount())) {
    content.resize(at + kBlock);
    file.read(content.data() + at, kBlock);
    if (!file) content.resize(at + static_cast<size_t>(file.gcount()));
  }
  return content;
}

// Returns the contents of all files below `dir` by their paths; those of folders are empty.
inline std::map<std::string, std::string> ContentsOf(const std::string& dir) {
  std::map<std::string, std::string> contents;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir)) {
    contents[entry.path()] = entry.is_regular_file() ? ContentOf(entry.path()) : "";
  }
  return contents;
}

}  // namespace testbed

#endif  // TESTBED_TESTS_CONTENTS_H_
