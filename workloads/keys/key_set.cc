#include "workloads/keys/key_set.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "device/error.h"
#include "device/os/child_process.h"
#include "device/os/interrupted.h"
#include "device/os/signal_guard.h"
#include "device/os/sys_file.h"
#include "workloads/keys/key_file.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPathsBelow = "paths:";
// The commands that install the words and fetch the places.
constexpr char kWordsCommand[] = "apt install wamerican-huge";
constexpr char kPlacesCommand[] = "tools/setup/fetch_places.sh";

// Returns the value of an environment variable; empty when it is not set.
std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Returns the folder in which the scripts of tools/setup/ keep what they fetch for this user; empty
// when the environment does not tell it.
fs::path CacheFolder() {
  if (const std::string given = Variable("TESTBED_CACHE_DIR"); !given.empty()) return given;
  if (const std::string cache = Variable("XDG_CACHE_HOME"); !cache.empty()) {
    return fs::path(cache) / "testbed";
  }
  const std::string home = Variable("HOME");
  return home.empty() ? fs::path() : fs::path(home) / ".cache/testbed";
}

[[noreturn]] void RefuseMissing(const std::string& keys, const std::string& needed,
                                const std::string& brought) {
  throw Error(Error::kUsage,
              fmt::format("--keys {} needs {}, which {}; a file named {} is given as ./{}", keys,
                          needed, brought, keys, keys));
}

// Returns the keys sorted by their bytes, each once, one a line.
std::string Sorted(std::vector<std::string_view> keys) {
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  size_t bytes = 0;
  for (const std::string_view key : keys) bytes += key.size() + 1;
  std::string text;
  text.reserve(bytes);
  for (const std::string_view key : keys) {
    text += key;
    text += '\n';
  }
  return text;
}

std::string KeysOfFile(const std::string& keys, const std::string& file,
                       const std::string& brought) {
  std::error_code error;
  if (!fs::exists(file, error) && !error) RefuseMissing(keys, file, brought);
  const std::string text = ReadKeyFile(file, fmt::format("--keys {} ({})", keys, file));
  return Sorted(KeyLines(text));
}

// Returns whether Debian's policy allows the name. Messages of apt-cache among the names, such as
// "W: ...", are no names.
bool IsPackageName(std::string_view name) {
  const auto is_letter_or_digit = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
  };
  return name.size() >= 2 && is_letter_or_digit(name[0]) &&
         std::all_of(name.begin(), name.end(), [&](char c) {
           return is_letter_or_digit(c) || c == '+' || c == '-' || c == '.';
         });
}

std::string Packages(const std::string& keys) {
  const std::optional<std::string> apt_cache = FindProgram("apt-cache");
  if (!apt_cache) RefuseMissing(keys, "the program apt-cache", "Debian's package apt has");
  std::string said;
  try {
    said = RunProgram({*apt_cache, "pkgnames"});
  } catch (const Error& error) {
    throw Error(Error::kUsage, fmt::format("--keys {}: {}; `apt update` renews what apt knows",
                                           keys, error.what()));
  }
  std::vector<std::string_view> names = KeyLines(said);
  std::erase_if(names, [](std::string_view name) { return !IsPackageName(name); });
  if (names.empty()) {
    throw Error(Error::kUsage, fmt::format("--keys {}: apt knows no package; `apt update` renews "
                                           "what it knows",
                                           keys));
  }
  return Sorted(std::move(names));
}

// Finds the regular files below a directory. It keeps the directories that it has not looked into
// yet, and at most one of them open.
class PathFinder {
 public:
  // `keys` is the value of --keys, for the sentences of errors.
  explicit PathFinder(const std::string& keys) : keys_(keys) {}

  // Returns the paths, one a line, unsorted.
  std::string Find(const std::string& directory) {
    left_ = {directory};
    while (!left_.empty()) {
      if (StopRequested()) throw Stopped("while it looked for the keys of --keys " + keys_);
      const std::string next = std::move(left_.back());
      left_.pop_back();
      LookInto(next);
    }
    return std::move(found_);
  }

 private:
  // Adds what a directory holds. Passes over a directory that this user may not list, or that is
  // gone. Throws Error (kIo) when the system has no descriptor or no memory, or the device fails:
  // otherwise the set would lack the directory's paths, and nobody would know.
  void LookInto(const std::string& directory) {
    const int fd = Uninterrupted(
        [&] { return ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); });
    if (fd < 0) return ThrowUnlessPassedOver("open", directory, errno);
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(fd), &::closedir);
    if (entries == nullptr) {
      const int why = errno;
      ::close(fd);
      return ThrowUnlessPassedOver("open", directory, why);
    }
    if (IsOfTheKernel(fd)) return;
    const std::string below = directory == "/" ? directory : directory + "/";
    while (const dirent* const entry = NextEntry(entries.get(), directory)) {
      const std::string_view name = entry->d_name;
      if (name == "." || name == ".." || name.find('\n') != std::string_view::npos) continue;
      Take(fd, *entry, below);
    }
  }

  static void ThrowUnlessPassedOver(const char* call, const std::string& directory, int why) {
    if (why == EMFILE || why == ENFILE || why == ENOMEM || why == EIO) {
      throw Error::Io(call, directory, why);
    }
  }

  // Returns the next entry; null at the end, or when the directory was removed meanwhile.
  static const dirent* NextEntry(DIR* entries, const std::string& directory) {
    errno = 0;
    const dirent* const entry = ::readdir(entries);
    if (entry == nullptr) ThrowUnlessPassedOver("list", directory, errno);
    return entry;
  }

  void Take(int directory, const dirent& entry, const std::string& below) {
    bool is_file = entry.d_type == DT_REG, is_directory = entry.d_type == DT_DIR;
    struct stat st;
    if (entry.d_type == DT_UNKNOWN &&
        ::fstatat(directory, entry.d_name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
      is_file = S_ISREG(st.st_mode);
      is_directory = S_ISDIR(st.st_mode);
    }
    if (is_directory) left_.push_back(below + entry.d_name);
    if (!is_file) return;
    found_ += below;
    found_ += entry.d_name;
    found_ += '\n';
    if (found_.size() <= most_) return;
    throw Error(Error::kUsage,
                fmt::format("--keys {} has more than the {} of paths that are read; give a "
                            "directory with fewer files, paths:DIR",
                            keys_, SizeText(most_)));
  }

  // Returns whether the open directory lies in a file system of the kernel. Such a file system has
  // no blocks. A tmpfs without a limit has none either, but its files count as any others.
  bool IsOfTheKernel(int fd) {
    struct stat st;
    if (::fstat(fd, &st) != 0) return true;
    const auto [device, is_new] = of_the_kernel_.try_emplace(st.st_dev, false);
    struct statfs system;
    if (is_new && ::fstatfs(fd, &system) == 0) {
      device->second = system.f_blocks == 0 && system.f_type != TMPFS_MAGIC;
    }
    return device->second;
  }

  const std::string keys_;
  const uint64_t most_ = MostBytesOfKeys();
  std::vector<std::string> left_;
  std::string found_;
  std::map<dev_t, bool> of_the_kernel_;  // by device
};

std::string Paths(const std::string& keys, const std::string& directory) {
  if (directory.empty()) {
    throw Error(Error::kUsage,
                fmt::format("--keys {} names no directory; give paths or paths:DIR", keys));
  }
  std::error_code error;
  const fs::path top = fs::canonical(directory, error);
  const bool is_directory = !error && fs::is_directory(top, error);
  if (!is_directory) {
    throw Error(
        Error::kUsage,
        fmt::format("--keys {}: {} {}; give paths:DIR with a directory of files", keys, directory,
                    error ? "cannot be read: " + error.message() : "is no directory"));
  }
  if (top.string().find('\n') != std::string::npos) {
    throw Error(Error::kUsage,
                fmt::format("--keys {}: the path of the directory has a line end, and a key is a "
                            "line; give another directory, paths:DIR",
                            keys));
  }
  const std::string found = PathFinder(keys).Find(top.string());
  if (found.empty()) {
    throw Error(Error::kUsage,
                fmt::format("--keys {} finds no key: a key is the path of a regular file below {} "
                            "that this user may list, and no file of the kernel; give another "
                            "directory, paths:DIR",
                            keys, top.string()));
  }
  return Sorted(KeyLines(found));
}

}  // namespace

std::string FetchedPlaces() {
  const fs::path of_builder = TESTBED_PLACES_FOLDER;
  const fs::path cache = CacheFolder();
  const fs::path own = cache / of_builder.filename() / "places", other = of_builder / "places";
  std::error_code error;
  const bool given = !Variable("TESTBED_CACHE_DIR").empty();
  const bool takes_own =
      given || (!cache.empty() && (fs::exists(own, error) || !fs::exists(other, error)));
  return fs::absolute(takes_own ? own : other).string();
}

bool IsKeySet(const std::string& keys) {
  return keys == "words" || keys == "places" || keys == "packages" || keys == "paths" ||
         keys.starts_with(kPathsBelow);
}

std::string ReadKeySet(const std::string& keys, const KeySetOrigins& from) {
  if (keys == "words") {
    return KeysOfFile(keys, from.words, fmt::format("`{}` installs", kWordsCommand));
  }
  if (keys == "places") {
    return KeysOfFile(keys, from.places, fmt::format("`{}` fetches", kPlacesCommand));
  }
  if (keys == "packages") return Packages(keys);
  return Paths(keys, keys == "paths" ? from.paths : keys.substr(kPathsBelow.size()));
}

std::vector<KeySetInfo> KeySets(const KeySetOrigins& from) {
  std::error_code error;
  const bool words = fs::exists(from.words, error), places = fs::exists(from.places, error);
  const bool apt = FindProgram("apt-cache").has_value();
  return {{"words", "English words and names", words, words ? from.words : kWordsCommand},
          {"places", "names of places of the world", places, places ? from.places : kPlacesCommand},
          {"packages", "names of the packages that apt knows", apt, "apt-cache pkgnames"},
          {"paths", "paths of regular files", true, from.paths},
          {"paths:DIR", "paths of regular files", true, "DIR"}};
}

std::string KeySetFile(const std::string& keys) {
  const KeySetOrigins from;
  return keys == "words" ? from.words : keys == "places" ? from.places : "";
}

}  // namespace testbed
