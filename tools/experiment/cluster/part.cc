#include "tools/experiment/cluster/part.h"

#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "device/error.h"
#include "device/file/directory.h"
#include "device/machine/scratch.h"
#include "tools/database/database_files.h"
#include "tools/experiment/cluster/claim.h"
#include "tools/experiment/results_files.h"

namespace testbed {

std::string PartId(const std::string& out) {
  std::error_code error;
  const std::string path = std::filesystem::canonical(out, error);
  const std::string& known = error ? out : path;
  return fmt::format("{:08x}", static_cast<uint32_t>(XXH3_64bits(known.data(), known.size())));
}

uint64_t BytesOfParts(const std::string& place, const std::string& out) {
  const std::string begin = fmt::format("testbed-{}-{}-", NodeName(), PartId(out));
  uint64_t bytes = 0;
  for (const std::filesystem::path& part : EntriesOf(place)) {
    const std::string name = part.filename();
    if (name.starts_with(begin) && DirLock::Try(part)) bytes += BytesOfDatabases(part);
  }
  return bytes;
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
  for (const std::filesystem::path& entry : EntriesOf(path_)) {
    const std::string name = entry.filename();
    // A load that was made again is KEY.2 and so on; `kept` has the keys of the plan.
    const std::string planned = name.substr(0, name.find('.'));
    if (IsDatabaseOfOurs(name) && !kept.contains(planned)) RemoveDatabaseDirectory(entry);
  }
}

}  // namespace testbed
