#include "device/account/thread_kinds.h"

#include <map>

#include "device/os/mutex.h"

namespace testbed {
namespace {

struct Registry {
  Mutex mutex;
  std::map<std::string, FileKind> kinds GUARDED_BY(mutex);
};
Registry& TheRegistry() {
  static Registry* const registry = new Registry;  // never freed: threads use it to the very end
  return *registry;
}

}  // namespace

void RegisterThreads(const std::string& name, FileKind kind) {
  Registry& registry = TheRegistry();
  LockGuard lock(registry.mutex);
  registry.kinds[name] = kind;
}

std::optional<FileKind> KindOfThreads(const std::string& name) {
  Registry& registry = TheRegistry();
  LockGuard lock(registry.mutex);
  const auto found = registry.kinds.find(name);
  if (found == registry.kinds.end()) return {};
  return found->second;
}

}  // namespace testbed
