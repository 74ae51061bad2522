// Files of fuzz targets: a directory in memory, if possible, and the files of a small database,
// which a target changes and writes there.
#ifndef TESTBED_TESTS_FUZZ_SCRATCH_FILES_H_
#define TESTBED_TESTS_FUZZ_SCRATCH_FILES_H_

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "tests/fuzz/fuzz_target.h"

namespace testbed {

// A directory that is removed with its contents.
class ScratchDir {
 public:
  ScratchDir() {
    const std::string base =
        ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : std::filesystem::temp_directory_path();
    path_ = base + "/testbed_fuzz_XXXXXX";
    Require(::mkdtemp(path_.data()) != nullptr, "no directory");
  }
  ~ScratchDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchDir(const ScratchDir&) = delete;
  ScratchDir& operator=(const ScratchDir&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct FileImage {
  std::string name;   // relative to the directory of the database
  std::string used;   // contents without the zeros at the end
  uint64_t size = 0;  // size of the file
};

// Returns all files below `dir` by name, so that an input means the same everywhere.
inline std::vector<FileImage> ReadFiles(const std::string& dir) {
  std::vector<FileImage> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(in), {}};
    const uint64_t size = bytes.size();
    bytes.resize(bytes.find_last_not_of('\0') + 1);
    files.push_back(
        {std::filesystem::relative(entry.path(), dir).string(), std::move(bytes), size});
  }
  Require(!files.empty(), "no files");
  std::sort(files.begin(), files.end(),
            [](const FileImage& a, const FileImage& b) { return a.name < b.name; });
  return files;
}

inline void WriteFiles(const std::vector<FileImage>& files, const std::string& dir) {
  for (const FileImage& file : files) {
    const std::filesystem::path path = std::filesystem::path(dir) / file.name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << file.used;
    std::filesystem::resize_file(path, file.size);
  }
}

inline FileImage* FindFile(std::vector<FileImage>* files, const std::string& name) {
  for (FileImage& file : *files) {
    if (file.name == name) return &file;
  }
  Require(false, "no file " + name);
  return nullptr;
}

// Chooses a byte of the file; often one near the beginning of a unit of `unit` bytes, where headers
// are.
inline size_t ChooseByte(const FileImage& file, size_t unit, FuzzInput* input) {
  const bool header = input->Below(2) == 0;
  size_t at = input->Below(1 << 24) % std::max<size_t>(1, file.used.size());
  if (header) at = std::min(at / unit * unit + at % 64, file.used.size() - 1);
  return at;
}

// Changes a byte of one of the files, as the input says. Returns whether its value differs now.
inline bool ChangeByte(std::vector<FileImage>* files, size_t unit, FuzzInput* input) {
  FileImage& file = (*files)[input->Below(static_cast<uint32_t>(files->size()))];
  if (file.used.empty()) return false;
  const size_t at = ChooseByte(file, unit, input);
  const auto change = static_cast<char>(input->Byte());
  file.used[at] = static_cast<char>(file.used[at] ^ change);
  return change != 0;
}

}  // namespace testbed

#endif  // TESTBED_TESTS_FUZZ_SCRATCH_FILES_H_
