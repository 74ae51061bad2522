// A temporary directory below the current one. The destructor removes it with its contents.
#ifndef TESTBED_TESTS_OWN_DIR_H_
#define TESTBED_TESTS_OWN_DIR_H_

#include <stdlib.h>

#include <filesystem>
#include <string>

namespace testbed {

class OwnDir {
 public:
  // The directory's name begins with `name`. Without a directory the path is empty.
  explicit OwnDir(const std::string& name = "own_dir") {
    path_ = std::filesystem::current_path() / (name + "_XXXXXX");
    if (mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  ~OwnDir() {
    if (!path_.empty()) std::filesystem::remove_all(path_);
  }
  OwnDir(const OwnDir&) = delete;
  OwnDir& operator=(const OwnDir&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace testbed

#endif  // TESTBED_TESTS_OWN_DIR_H_
