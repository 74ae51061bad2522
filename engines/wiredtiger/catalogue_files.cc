#include "engines/wiredtiger/catalogue_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <fstream>
#include <set>
#include <string_view>

#include "device/error.h"
#include "device/file/directory.h"

namespace testbed::wiredtiger {
namespace {

constexpr char kCatalogue[] = "WiredTiger.wt";
constexpr char kHistory[] = "WiredTigerHS.wt";
// These are the files that every database has, in the order in which WiredTiger makes them.
constexpr const char* kAlways[] = {"WiredTiger", kCatalogue, "WiredTiger.turtle"};
constexpr std::string_view kLog = "WiredTigerLog.";
// kSource stands before the name of a table's file in the table's row of the catalogue.
constexpr std::string_view kSource = "source=\"file:";
constexpr size_t kLongestName = 255;

bool IsNameOfTable(std::string_view name) {
  return name.ends_with(".wt") && !name.starts_with("WiredTiger") &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return std::isalnum(c) || c == '_' || c == '-' || c == '.';
         });
}

// Adds to *names the names of tables' files that occur in `text`.
void FindNames(std::string_view text, std::set<std::string>* names) {
  for (size_t at = text.find(kSource); at != std::string_view::npos; at = text.find(kSource, at)) {
    at += kSource.size();
    const size_t end = text.find('"', at);
    if (end == std::string_view::npos) return;
    const std::string_view name = text.substr(at, end - at);
    if (name.size() <= kLongestName && IsNameOfTable(name)) names->emplace(name);
  }
}

// Passes the file's contents to `look`, in parts that overlap by the length of the longest match.
template <typename Look>
void ReadParts(const std::string& path, Look look) {
  constexpr size_t kOverlap = kSource.size() + kLongestName + 1, kPart = 1 << 20;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    const int error = errno;
    if (!IsThere(path)) return;  // WiredTiger has removed this log meanwhile
    throw Error::Io("open", path, error);
  }
  std::string part;
  while (file) {
    part.erase(0, part.size() - std::min(part.size(), kOverlap));
    const size_t kept = part.size();
    part.resize(kept + kPart);
    file.read(part.data() + kept, kPart);
    part.resize(kept + static_cast<size_t>(file.gcount()));
    look(std::string_view(part));
  }
  if (file.bad()) throw Error::Io("read", path, errno);
}

[[noreturn]] void Missing(const std::string& path) {
  throw Error(Error::kCorruption,
              fmt::format("file {} is missing: put it back, restore the database from a copy, or "
                          "load it anew with --fresh",
                          path));
}

}  // namespace

std::vector<std::string> TableFiles(const std::string& dir) {
  std::set<std::string> found;
  if (!IsThere(dir + "/" + kAlways[0])) return {};
  for (const std::string& name : NamesIn(dir)) {
    if (name != kCatalogue && !name.starts_with(kLog)) continue;
    ReadParts(dir + "/" + name, [&](std::string_view part) { FindNames(part, &found); });
  }
  return {found.begin(), found.end()};
}

void CheckFilesThere(const std::string& dir) {
  const std::vector<std::string> names = NamesIn(dir);
  const auto has = [&](std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const bool is_new = std::none_of(names.begin(), names.end(), [](const std::string& name) {
    return name == kCatalogue || name == kHistory || name == kAlways[2] || name.starts_with(kLog);
  });
  if (is_new) return;
  for (const char* name : kAlways) {
    if (!has(name)) Missing(dir + "/" + name);
  }
  std::set<std::string> named;
  ReadParts(dir + "/" + kCatalogue, [&](std::string_view part) {
    FindNames(part, &named);
    if (part.find(fmt::format("file:{}", kHistory)) != std::string_view::npos) {
      named.insert(kHistory);
    }
  });
  for (const std::string& name : named) {
    if (!has(name)) Missing(dir + "/" + name);
  }
}

}  // namespace testbed::wiredtiger
