#include "tools/output/output_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "device/error.h"
#include "device/file/file.h"

namespace testbed {

namespace fs = std::filesystem;

void CheckOutputFile(const std::string& option, const std::string& path) {
  if (path.empty()) return;
  const fs::path parent = fs::absolute(path).parent_path();
  if (!fs::is_directory(parent)) {
    throw Error(Error::kUsage, fmt::format("{} {} cannot be written: {} is not a directory", option,
                                           path, parent.string()));
  }
  if (fs::is_directory(path)) {
    throw Error(Error::kUsage,
                fmt::format("{} {} cannot be written: it is a directory; give the name of a file",
                            option, path));
  }
}

void WriteOutputFile(const std::string& option, const std::string& path, const std::string& text) {
  if (path.empty()) return;
  std::ofstream out(path);
  out << text;
  if (!out.flush()) throw Error(Error::kIo, fmt::format("{} {} cannot be written", option, path));
}

void ReplaceFile(const std::string& path, const std::string& text) {
  const std::string unfinished = path + ".new";
  ::unlink(unfinished.c_str());
  {
    const auto out = File::Open(unfinished, {.create = FileOptions::kMustCreate});
    out->Write(0, text.data(), text.size());
    out->Sync(true);
  }
  if (::rename(unfinished.c_str(), path.c_str()) != 0) throw Error::Io("rename", unfinished, errno);
  SyncDirectory(fs::absolute(path).parent_path());
}

}  // namespace testbed
