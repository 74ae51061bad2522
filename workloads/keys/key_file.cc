#include "workloads/keys/key_file.h"

#include <unistd.h>

#include <algorithm>

#include "device/error.h"
#include "device/file/input_file.h"
#include "workloads/keys/key_set.h"

namespace testbed {

uint64_t MostBytesOfKeys() {
  return static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
         static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)) / 2;
}

std::string ReadKeyFile(const std::string& path, const std::string& name) {
  uint64_t lines = 1;
  size_t bytes = 0;  // bytes of the last line, as far as it was read
  const auto look = [&](std::string_view part) {
    for (size_t end; (end = part.find('\n')) != std::string_view::npos;
         part.remove_prefix(end + 1)) {
      if (bytes + end > kMostKeyBytes) break;
      bytes = 0;
      ++lines;
    }
    bytes += std::min(part.find('\n'), part.size());
    if (bytes <= kMostKeyBytes) return;
    throw Error(Error::kUsage, name + " has more than " + std::to_string(kMostKeyBytes) +
                                   " bytes in line " + std::to_string(lines) +
                                   ", which no engine takes as a key; give a file that holds one "
                                   "key a line");
  };
  return InputFile({.path = path,
                    .name = name,
                    .advice = std::string("give a file that holds one key a line, in at most half "
                                          "of the memory, or ") +
                              kKeySets})
      .ReadAll(MostBytesOfKeys(), look);
}

void CheckKeyText(std::string_view text, const std::string& name) {
  if (text.starts_with("\xef\xbb\xbf")) {
    throw Error(Error::kUsage, name +
                                   " has a byte order mark in line 1, which would be part of its "
                                   "key; save the file as UTF-8 without one");
  }
  size_t at = text.find("\r\n");
  if (at == std::string_view::npos && text.ends_with('\r')) at = text.size() - 1;
  if (at == std::string_view::npos) return;
  const std::string_view before = text.substr(0, at);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  throw Error(Error::kUsage, name + " has a carriage return at the end of line " +
                                 std::to_string(line) +
                                 ", which would be part of its key; save the file with line ends "
                                 "of Unix (tr -d '\\r' takes the carriage returns out)");
}

std::vector<std::string_view> KeyLines(std::string_view text) {
  std::vector<std::string_view> keys;
  keys.reserve(static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) + 1);
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) keys.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return keys;
}

}  // namespace testbed
