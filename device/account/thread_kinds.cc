#include "device/account/thread_kinds.h"

#include <map>
#include <utility>

#include "device/os/mutex.h"

namespace testbed {
namespace {

struct Registry {
  Mutex mutex;
  std::map<std::string, FileKind> kinds GUARDED_BY(mutex);
};
Registry& TheRegistry() {
  static Registry* const registry = new Registry;  // never freed: threads use it until they end
  return *registry;
}

}  // namespace

std::string SortOfThread(std::string_view name) {
  std::string sort(name.substr(0, name.find('/')));
  if (sort.starts_with("iou-")) sort = sort.substr(0, sort.find_last_not_of("-0123456789") + 1);
  return sort;
}

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

std::set<std::string> RegisteredAmong(const std::set<std::string>& names) {
  std::set<std::string> sorts;
  for (const std::string& name : names) {
    std::string sort = SortOfThread(name);
    if (KindOfThreads(sort)) sorts.insert(std::move(sort));
  }
  return sorts;
}

}  // namespace testbed
