// Sets of real keys that testbed finds by their names, as values of --keys:
//
//   words       the words of Debian's package wamerican-huge
//   places      the names of places that tools/setup/fetch_places.sh has fetched
//   packages    the names of the packages that apt knows
//   paths       the paths of the regular files below /usr
//   paths:DIR   the paths of the regular files below DIR
//
// The keys of a set are sorted by their bytes, and each is there once. A file of such a name is
// given with its directory: --keys ./words.
//
//   const std::string text = ReadKeySet("words");  // where IsKeySet("words")
//
// Paths are absolute, of the directories that this user may list. They leave out symbolic links,
// names with line ends, which are no lines, and the file systems of the kernel, such as /proc.
// Thread-safe; the main thread reads `packages`, because apt-cache is a child process
// (device/os/child_process.h).
#ifndef TESTBED_WORKLOADS_KEYS_KEY_SET_H_
#define TESTBED_WORKLOADS_KEYS_KEY_SET_H_

#include <string>
#include <vector>

namespace testbed {

// The names of the sets, as a sentence has them.
inline constexpr char kKeySets[] = "words, places, packages, paths or paths:DIR";

// Returns the file that tools/setup/fetch_places.sh makes for this user: in the folder that the
// environment variable TESTBED_CACHE_DIR names, or else in the user's cache. When that has none,
// but the cache of the user who built this program does, it is that one's.
std::string FetchedPlaces();

// Where the sets come from. Tests name others.
struct KeySetOrigins {
  std::string words = "/usr/share/dict/american-english-huge";
  std::string places = FetchedPlaces();
  std::string paths = "/usr";
};

// A set as a list shows it.
struct KeySetInfo {
  std::string name, what;
  bool here = false;
  std::string where;  // where its keys come from, or what brings them
};
std::vector<KeySetInfo> KeySets(const KeySetOrigins& from = KeySetOrigins());

// Returns whether this value of --keys names a set. Everything else is the name of a file.
bool IsKeySet(const std::string& keys);

// Returns the keys of the set, one a line. Throws Error (kUsage) when they are not here, with what
// brings them; when there is none; and when they are more than MostBytesOfKeys. A search for paths
// throws Error (kIo) when the system cannot go on with it, and Stopped when the user asks to stop.
std::string ReadKeySet(const std::string& keys, const KeySetOrigins& from = KeySetOrigins());

// Returns the file that the set is read from; empty for sets that are not those of a file.
std::string KeySetFile(const std::string& keys);

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_KEYS_KEY_SET_H_
