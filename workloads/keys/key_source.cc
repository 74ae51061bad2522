#include "workloads/keys/key_source.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <utility>

#include "device/error.h"
#include "device/os/interrupted.h"
#include "device/os/mutex.h"
#include "workloads/keys/key_file.h"
#include "workloads/keys/key_set.h"

namespace testbed {
namespace {

// A set that this process has read.
struct KnownSet {
  std::shared_ptr<const std::string> text;
  int file = -1;  // descriptor of a file in memory that has the text; -1: there is none
};

struct KnownSets {
  Mutex mutex;
  std::map<std::string, KnownSet> by_name GUARDED_BY(mutex);
};

KnownSets& Known() {
  static KnownSets* const known = new KnownSets;  // as long as the process
  return *known;
}

// Returns the descriptor of a new file in memory that has the text. Throws Error (kIo).
int FileInMemory(const std::string& text) {
  const int file = ::memfd_create("keys", MFD_CLOEXEC);
  if (file < 0) throw Error::Io("memfd_create", "keys", errno);
  for (size_t done = 0; done < text.size();) {
    const ssize_t n =
        Uninterrupted([&] { return ::write(file, text.data() + done, text.size() - done); });
    if (n <= 0) {
      const int why = n < 0 ? errno : ENOSPC;
      ::close(file);
      throw Error::Io("write", "a file of keys in memory", why);
    }
    done += static_cast<size_t>(n);
  }
  return file;
}

}  // namespace

std::shared_ptr<const std::string> ReadKeys(const std::string& keys) {
  if (!IsKeySet(keys)) {
    return std::make_shared<const std::string>(ReadKeyFile(keys, "--keys " + keys));
  }
  KnownSets& known = Known();
  const LockGuard lock(known.mutex);
  std::shared_ptr<const std::string>& text = known.by_name[keys].text;
  if (text == nullptr) text = std::make_shared<const std::string>(ReadKeySet(keys));
  return text;
}

std::string LendKeySet(const std::string& keys) {
  if (!IsKeySet(keys)) return "";
  const std::shared_ptr<const std::string> text = ReadKeys(keys);
  KnownSets& known = Known();
  const LockGuard lock(known.mutex);
  int& file = known.by_name[keys].file;
  if (file < 0) file = FileInMemory(*text);
  return fmt::format("/proc/{}/fd/{}", ::getpid(), file);
}

void BorrowKeySet(const std::string& keys, const std::string& lent) {
  auto text = std::make_shared<const std::string>(ReadKeyFile(lent, "--keys " + keys));
  KnownSets& known = Known();
  const LockGuard lock(known.mutex);
  known.by_name[keys].text = std::move(text);
}

std::string KeySourceFile(const std::string& keys) {
  return IsKeySet(keys) ? KeySetFile(keys) : keys;
}

}  // namespace testbed
