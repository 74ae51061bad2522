#include "tools/experiment/cluster/part.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "device/error.h"
#include "device/file/directory.h"
#include "tools/experiment/cluster/claim.h"

namespace testbed {

Part::Part(const std::string& place) {
  constexpr int kMostParts = 1000;
  for (int n = 1; n <= kMostParts; ++n) {
    path_ = fmt::format("{}/testbed-{}-{}", place, NodeName(), n);
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

}  // namespace testbed
