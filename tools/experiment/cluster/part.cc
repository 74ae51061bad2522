#include "tools/experiment/cluster/part.h"

#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <regex>
#include <system_error>
#include <utility>
#include <vector>

#include "device/error.h"
#include "device/file/directory.h"
#include "device/machine/scratch.h"
#include "tools/database/database_files.h"
#include "tools/experiment/cluster/claim.h"
#include "tools/experiment/results_dir.h"

namespace testbed {
namespace {

// Returns whether a directory can be that of one process among several.
bool IsPart(const std::string& name) {
  static const std::regex* const kPart = new std::regex(R"(testbed-[A-Za-z0-9._-]+-[1-9][0-9]*)");
  return std::regex_match(name, *kPart);
}

// Returns whether a directory can be the database of a load. In earlier versions the key of a load
// had no round.
bool IsLoad(const std::string& name) {
  static const std::regex* const kLoad =
      new std::regex(R"([0-9a-f]{16}(-[1-9][0-9]*(-[0-9a-f]{8})?)?)");
  return std::regex_match(name, *kLoad);
}

// Returns the names in the directory; none when it is a symbolic link or cannot be read.
std::vector<std::string> ReadableNamesIn(const std::string& dir) {
  namespace fs = std::filesystem;
  std::vector<std::string> names;
  std::error_code error;
  if (!fs::is_directory(fs::symlink_status(dir, error))) return names;
  for (fs::directory_iterator at(dir, error), end; !error && at != end; at.increment(error)) {
    names.push_back(at->path().filename());
  }
  return names;
}

// Removes the databases in the directory itself, but not the loads whose keys are in `kept`.
void RemoveOwnDatabases(const std::string& dir, const std::set<std::string>& kept) {
  for (const std::string& name : ReadableNamesIn(dir)) {
    const bool is_ours = name == kOwnDatabase || (IsLoad(name) && !kept.contains(name));
    if (is_ours) RemoveDatabaseDirectory(dir + "/" + name);
  }
}

}  // namespace

std::string PartId(const std::string& out) {
  std::error_code error;
  const std::string path = std::filesystem::canonical(out, error);
  const std::string& known = error ? out : path;
  return fmt::format("{:08x}", static_cast<uint32_t>(XXH3_64bits(known.data(), known.size())));
}

void RemoveDatabasesIn(const std::string& folder) {
  RemoveOwnDatabases(folder, {});
  for (const std::string& name : ReadableNamesIn(folder)) {
    if (!IsPart(name)) continue;
    const std::string part = folder + "/" + name;
    (void)ScratchDevice::CleanLeftovers(part);
    RemoveOwnDatabases(part, {});
    ::rmdir(part.c_str());
  }
  ::rmdir(folder.c_str());
}

Part::Part(const std::string& place, const std::string& id) {
  constexpr int kMostParts = 1000;
  for (int n = 1; n <= kMostParts; ++n) {
    path_ = fmt::format("{}/testbed-{}-{}-{}", place, NodeName(), id, n);
    MakeDirectories(path_);
    std::optional<DirLock> lock = DirLock::Try(path_);
    // A process that has just ended may have removed the directory before it was locked.
    if (!lock || !lock->Leads(path_)) continue;
    lock_ = std::move(*lock);
    return;
  }
  throw Error::Io("lock", path_, EBUSY);
}

Part::~Part() { ::rmdir(path_.c_str()); }

void Part::RemoveLeftovers(const std::set<std::string>& kept) const {
  (void)ScratchDevice::CleanLeftovers(path_);
  RemoveOwnDatabases(path_, kept);
}

}  // namespace testbed
