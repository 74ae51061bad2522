// Outputs that are no regular file with a name, and so are written where they are: a named pipe, a
// terminal or another device, and what this program was given open (/dev/stdout, /dev/fd/3). Paths are
// those that FollowLinks returns (device/file/replacement.h).
#ifndef TESTBED_TOOLS_OUTPUT_STREAM_OUTPUT_H_
#define TESTBED_TOOLS_OUTPUT_STREAM_OUTPUT_H_

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "device/error.h"

namespace testbed {

// So long a pipe is waited for that nobody has opened for reading yet.
constexpr std::chrono::seconds kReaderWait{10};

// Returns whether such an output is there. Directories are none.
bool IsStream(const std::string& path);

// Returns why the stream may not be written, and what to do; an empty text when it may, or when no
// stream is there. A block device, whose contents would be lost, is never written.
std::string WhyNoStream(const std::string& path);

struct StreamText {
  std::string path, text;
};

// Writes each text to its stream, after what was printed to standard output. Neither creates nor
// truncates anything. What this program was given open is written through its descriptor, at the
// position where that is. The streams do not wait for each other: each is opened when it has a reader
// and gets what its reader takes, so that one process may read several in any order. A slow reader is
// waited for as long as it takes, and a pipe that nobody reads for as long as another is written, and
// `wait` after that. Returns the errors (kIo) of those that could not be written, in the same order.
std::vector<std::optional<Error>> WriteStreams(const std::vector<StreamText>& streams,
                                               std::chrono::milliseconds wait = kReaderWait);
// The same for a single stream. Throws Error (kIo).
void WriteStream(const std::string& path, const std::string& text,
                 std::chrono::milliseconds wait = kReaderWait);

// Returns which of this program's outputs goes to the regular file: "standard output", "standard
// error", or nothing. A rename would take the file's name away from it.
std::string StandardStreamOf(const std::string& path);

}  // namespace testbed

#endif  // TESTBED_TOOLS_OUTPUT_STREAM_OUTPUT_H_
