// Reads a file of keys, one a line, into memory. The keys of a run stay there until it ends, in
// addition to the memory that the run measures.
//
//   const std::string text = ReadKeyFile("keys.txt", "--keys keys.txt");
//
// Thread-safe.
#ifndef TESTBED_WORKLOADS_KEYS_KEY_FILE_H_
#define TESTBED_WORKLOADS_KEYS_KEY_FILE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace testbed {

// Bytes of the longest line of a file of keys. No engine takes a longer key.
inline constexpr size_t kMostKeyBytes = 8 << 20;

// Returns the most bytes of keys that are read: half of the machine's memory.
uint64_t MostBytesOfKeys();

// Returns the text of the file at `path`, which sentences call `name`. Throws Error (kUsage) when
// the file cannot be read, has a line of more than kMostKeyBytes or is larger than
// MostBytesOfKeys. A file is refused while it is read, so that it takes no more memory than its
// bytes up to then.
std::string ReadKeyFile(const std::string& path, const std::string& name);

// Throws Error (kUsage) when the keys of a file with this text would have bytes that an editor or a
// spreadsheet put there: a byte order mark in front of the first line, or a carriage return at the
// end of a line. `name` is the name of the file in sentences.
void CheckKeyText(std::string_view text, const std::string& name);

// Returns the keys of the text: its lines, without empty ones. They lie in the text.
std::vector<std::string_view> KeyLines(std::string_view text);

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_KEYS_KEY_FILE_H_
