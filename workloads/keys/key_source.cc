#include "workloads/keys/key_source.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

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

// A file or a set that this process has read.
struct KnownKeys {
  std::shared_ptr<const std::string> text;
  int file = -1;  // descriptor of a file in memory that has the text; -1: there is none
};

struct AllKnownKeys {
  Mutex mutex;
  std::map<std::string, KnownKeys> by_name GUARDED_BY(mutex);
};

AllKnownKeys& Known() {
  static AllKnownKeys* const known = new AllKnownKeys;  // lives as long as the process
  return *known;
}

std::string TextOf(const std::string& keys) {
  if (IsKeySet(keys)) return ReadKeySet(keys);
  std::string text = ReadKeyFile(keys, "--keys " + keys);
  CheckKeyText(text, "--keys " + keys);
  return text;
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
  AllKnownKeys& known = Known();
  const LockGuard lock(known.mutex);
  std::shared_ptr<const std::string>& text = known.by_name[keys].text;
  if (text == nullptr) text = std::make_shared<const std::string>(TextOf(keys));
  return text;
}

uint64_t HashOfKeys(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

LentKeys LendKeys(const std::string& keys) {
  if (keys.empty()) return {};
  const std::shared_ptr<const std::string> text = ReadKeys(keys);
  LentKeys lent{keys, HashOfKeys(*text)};
  if (!IsKeySet(keys)) return lent;
  AllKnownKeys& known = Known();
  const LockGuard lock(known.mutex);
  int& file = known.by_name[keys].file;
  if (file < 0) file = FileInMemory(*text);
  lent.file = fmt::format("/proc/{}/fd/{}", ::getpid(), file);
  return lent;
}

void BorrowKeys(const std::string& keys, const LentKeys& lent) {
  auto text = std::make_shared<const std::string>(ReadKeyFile(lent.file, "--keys " + keys));
  if (HashOfKeys(*text) != lent.hash) {
    throw Error(Error::kUsage, fmt::format("--keys {} has changed since the command began; leave "
                                           "the file as it is until the command has ended",
                                           keys));
  }
  AllKnownKeys& known = Known();
  const LockGuard lock(known.mutex);
  known.by_name[keys].text = std::move(text);
}

std::string KeySourceFile(const std::string& keys) {
  return IsKeySet(keys) ? KeySetFile(keys) : keys;
}

}  // namespace testbed
