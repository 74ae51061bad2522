// The keys of --keys: those of a file (key_file.h), in its order, or those of a set that testbed
// finds by its name (key_set.h).
//
//   const std::shared_ptr<const std::string> text = ReadKeys("words");  // one key a line
//
// Thread-safe, as far as key_set.h is.
#ifndef TESTBED_WORKLOADS_KEYS_KEY_SOURCE_H_
#define TESTBED_WORKLOADS_KEYS_KEY_SOURCE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace testbed {

// Returns the text of the keys, one a line. A file or a set is read once in the life of a process
// and of the children that it forks, so that a command has the same keys from its begin to its end,
// also where files change, come and go. Throws as ReadKeyFile and CheckKeyText do of a file, and as
// ReadKeySet does of a set.
std::shared_ptr<const std::string> ReadKeys(const std::string& keys);
// Returns the hash by which a text of keys is known: XXH3, 64 bits.
uint64_t HashOfKeys(std::string_view text);

// The keys of a process, for a program that it executes.
struct LentKeys {
  std::string file;   // path of a file that has the text; empty when there are no keys
  uint64_t hash = 0;  // hash of the text
};
// LendKeys writes the text of a set to a file in memory, which exists as long as this process. A
// file of keys is lent as it is, since a copy would hold its text in memory twice. In the program
// BorrowKeys makes ReadKeys return the text that was lent. Both throw as ReadKeys does. LendKeys
// throws Error (kIo) when the system cannot make a file in memory, and BorrowKeys Error (kUsage)
// when the file has another text by now.
LentKeys LendKeys(const std::string& keys);
void BorrowKeys(const std::string& keys, const LentKeys& lent);

// Returns the path of the file that the keys are read from; empty when `keys` is empty or names a
// set that is not read from one file.
std::string KeySourceFile(const std::string& keys);

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_KEYS_KEY_SOURCE_H_
