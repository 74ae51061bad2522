// Sets of real keys that testbed finds by their names, as values of --keys:
//
//   words       the words of Debian's package wamerican-huge
//   places      the names of places that tools/setup/fetch_places.sh has fetched
//   packages    the names of the packages that apt knows
//   paths       the paths of the regular files below /usr
//   paths:DIR   the paths of the regular files below DIR
//
// The keys of a set are sorted by their bytes, and each occurs once. A file whose name is that of a
// set must be given with its directory: --keys ./words.
//
//   const std::string text = ReadKeySet("words");  // where IsKeySet("words")
//
// Paths are absolute, and only those in directories that this user may list. The set leaves out
// symbolic links, names with line ends, and the file systems of the kernel, such as /proc.
// Thread-safe; the main thread reads `packages`, because apt-cache is a child process
// (device/os/child_process.h).
#ifndef TESTBED_WORKLOADS_KEYS_KEY_SET_H_
#define TESTBED_WORKLOADS_KEYS_KEY_SET_H_

#include <string>
#include <vector>

namespace testbed {

// The names of the sets, as a sentence has them.
inline constexpr char kKeySets[] = "words, places, packages, paths or paths:DIR";

// Returns the path of the file that tools/setup/fetch_places.sh makes for this user. It is in the
// folder that the environment variable TESTBED_CACHE_DIR names, if it is set. Otherwise it is in
// the user's cache or, if only the cache of the user who built this program has the file, there.
std::string FetchedPlaces();

// The places from which the sets are read. A test gives other places.
struct KeySetOrigins {
  std::string words = "/usr/share/dict/american-english-huge";
  std::string places = FetchedPlaces();
  std::string paths = "/usr";
};

// The description of a set in a list.
struct KeySetInfo {
  std::string name, what;
  bool here = false;
  std::string where;  // if here, where its keys come from; else the command that it needs
};
std::vector<KeySetInfo> KeySets(const KeySetOrigins& from = KeySetOrigins());

// Returns whether this value of --keys names a set. Everything else is the name of a file.
bool IsKeySet(const std::string& keys);

// Returns the keys of the set, one a line. Throws Error (kUsage) when the set is not installed,
// with the command that installs it; when it has no key; and when the keys have more bytes than
// MostBytesOfKeys. A search for paths throws Error (kIo) when the system cannot go on with it, and
// Stopped when the user asks to stop.
std::string ReadKeySet(const std::string& keys, const KeySetOrigins& from = KeySetOrigins());

// Returns the path of the file that the set is read from; empty when it is not read from one file.
std::string KeySetFile(const std::string& keys);

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_KEYS_KEY_SET_H_
