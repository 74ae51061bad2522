// The keys of --keys: those of a file (key_file.h), in its order, or those of a set that testbed
// finds by its name (key_set.h).
//
//   const std::shared_ptr<const std::string> text = ReadKeys("words");  // one key a line
//
// Thread-safe, as far as key_set.h is.
#ifndef TESTBED_WORKLOADS_KEYS_KEY_SOURCE_H_
#define TESTBED_WORKLOADS_KEYS_KEY_SOURCE_H_

#include <memory>
#include <string>

namespace testbed {

// Returns the text of the keys, one a line. A file is read anew by each call. A set is read once in
// the life of a process and of the children that it forks, so that a run has the same keys from its
// begin to its end, also where files come and go. Throws Error (kUsage) when there are no such
// keys, or when memory has no room for them.
std::shared_ptr<const std::string> ReadKeys(const std::string& keys);

// LendKeySet writes the text of the set to a file in memory, and returns its path for programs that
// this process executes. The file exists as long as this process. The path is empty when `keys`
// names no set. In such a program BorrowKeySet makes ReadKeys return the text of the file `lent`.
// Both throw as ReadKeys does, and Error (kIo) when the system cannot make such a file.
std::string LendKeySet(const std::string& keys);
void BorrowKeySet(const std::string& keys, const std::string& lent);

// Returns the path of the file that the keys are read from; empty when `keys` is empty or names a
// set that is not read from one file.
std::string KeySourceFile(const std::string& keys);

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_KEYS_KEY_SOURCE_H_
