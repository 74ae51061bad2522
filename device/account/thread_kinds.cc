#include "device/account/thread_kinds.h"

#include <map>
#include <mutex>

namespace testbed {
namespace {

struct Registry {
  std::mutex mutex;
  std::map<std::string, FileKind> kinds;
};
Registry& TheRegistry() {
  static Registry* const registry = new Registry;  // never freed: threads use it to the very end
  return *registry;
}

}  // namespace

void RegisterThreads(const std::string& name, FileKind kind) {
  Registry& registry = TheRegistry();
  std::lock_guard lock(registry.mutex);
  registry.kinds[name] = kind;
}

std::optional<FileKind> KindOfThreads(const std::string& name) {
  Registry& registry = TheRegistry();
  std::lock_guard lock(registry.mutex);
  const auto found = registry.kinds.find(name);
  if (found == registry.kinds.end()) return {};
  return found->second;
}

}  // namespace testbed
