#include "workloads/keys/key_source.h"

#include <map>

#include "device/os/mutex.h"
#include "workloads/keys/key_file.h"
#include "workloads/keys/key_set.h"

namespace testbed {

std::shared_ptr<const std::string> ReadKeys(const std::string& keys) {
  if (!IsKeySet(keys)) {
    return std::make_shared<const std::string>(ReadKeyFile(keys, "--keys " + keys));
  }
  static Mutex mutex;
  static std::map<std::string, std::shared_ptr<const std::string>> known;
  const LockGuard lock(mutex);
  std::shared_ptr<const std::string>& text = known[keys];
  if (text == nullptr) text = std::make_shared<const std::string>(ReadKeySet(keys));
  return text;
}

std::string KeySourceFile(const std::string& keys) {
  return IsKeySet(keys) ? KeySetFile(keys) : keys;
}

}  // namespace testbed
