#include "tools/output_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "device/error.h"

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

std::string JsonText(const nlohmann::json& document, int indent) {
  return document.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

void WriteOutputFile(const std::string& option, const std::string& path, const std::string& text) {
  if (path.empty()) return;
  std::ofstream out(path);
  out << text;
  if (!out.flush()) throw Error(Error::kIo, fmt::format("{} {} cannot be written", option, path));
}

}  // namespace testbed
