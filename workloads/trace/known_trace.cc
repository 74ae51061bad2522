#include "workloads/trace/known_trace.h"

#include <map>

#include "device/os/mutex.h"

namespace testbed {
namespace {

struct KnownTraces {
  Mutex mutex;
  std::map<std::string, std::string> identities GUARDED_BY(mutex);  // by path
};

KnownTraces& AllKnownTraces() {
  static KnownTraces* const known = new KnownTraces;  // lives as long as the process
  return *known;
}

}  // namespace

void CheckKnownTrace(const TraceFile& file) {
  KnownTraces& known = AllKnownTraces();
  const LockGuard lock(known.mutex);
  const auto [first, is_new] = known.identities.emplace(file.path(), file.identity());
  if (is_new || first->second == file.identity()) return;
  file.Refuse(
      "was replaced or changed since the command began; leave the file as it is until the command "
      "has ended");
}

std::string KnownTrace(const std::string& path) {
  KnownTraces& known = AllKnownTraces();
  const LockGuard lock(known.mutex);
  const auto found = known.identities.find(path);
  return found == known.identities.end() ? "" : found->second;
}

void KnowTrace(const std::string& path, const std::string& known) {
  if (known.empty()) return;
  KnownTraces& all = AllKnownTraces();
  const LockGuard lock(all.mutex);
  all.identities[path] = known;
}

}  // namespace testbed
