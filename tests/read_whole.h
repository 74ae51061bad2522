// Reads whole files in tests. A stream gives its iterators (istreambuf_iterator) one character
// after the other, which takes far longer than to read at once.
#ifndef TESTBED_TESTS_READ_WHOLE_H_
#define TESTBED_TESTS_READ_WHOLE_H_

#include <fstream>
#include <sstream>
#include <string>
#include <utility>

namespace testbed {

// Returns the contents of a file, which may be one of /proc; an empty string when it is not there.
inline std::string ReadWhole(const std::string& path) {
  const std::ifstream in(path, std::ios::binary);
  if (!in) return "";
  std::ostringstream bytes;
  bytes << in.rdbuf();
  return std::move(bytes).str();
}

}  // namespace testbed

#endif  // TESTBED_TESTS_READ_WHOLE_H_
