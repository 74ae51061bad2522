// Outputs that are no regular file with a name, and so are written in place: a named pipe, a
// terminal or another device, and a descriptor that this program inherited open (/dev/stdout,
// /dev/fd/3). Paths are those that FollowLinks returns (device/file/replacement.h).
#ifndef TESTBED_TOOLS_OUTPUT_STREAM_OUTPUT_H_
#define TESTBED_TOOLS_OUTPUT_STREAM_OUTPUT_H_

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "device/error.h"

namespace testbed {

// The time that WriteStreams waits for a reader to open a pipe.
constexpr std::chrono::seconds kReaderWait{10};

// Returns whether `path` leads to such an output. A directory is none.
bool IsStream(const std::string& path);

// Returns why the stream may not be written, and what to do; an empty text when it may, or when no
// stream is there. A block device, whose contents would be lost, is never written.
std::string WhyNoStream(const std::string& path);

struct StreamText {
  std::string path, text;
};

// Writes each text to its stream, after what was printed to standard output. Neither creates nor
// truncates a file. An inherited descriptor is written at its current position. The streams do not
// wait for each other: a pipe is opened once it has a reader, and each stream gets bytes as its
// reader takes them, so that one process may read several in any order. A slow reader is waited for
// without limit. A pipe without a reader is given up when no stream has been open for `wait`.
// Returns the errors (kIo) of the streams that could not be written, in the order of `streams`.
std::vector<std::optional<Error>> WriteStreams(const std::vector<StreamText>& streams,
                                               std::chrono::milliseconds wait = kReaderWait);
// Writes a single stream as WriteStreams does. Throws Error (kIo).
void WriteStream(const std::string& path, const std::string& text,
                 std::chrono::milliseconds wait = kReaderWait);

// Returns which of this program's outputs goes to the regular file: "standard output", "standard
// error", or an empty string. Such a file must not be replaced by a rename: the output would go on
// to the old file.
std::string StandardStreamOf(const std::string& path);

}  // namespace testbed

#endif  // TESTBED_TOOLS_OUTPUT_STREAM_OUTPUT_H_
