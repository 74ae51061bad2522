// The files that the user asks for (--json, --csv). They are checked before a run, which may take
// long, and written after it, before anything is printed: a reader of standard output that goes
// away then loses no results. What is no regular file with a name (a pipe, a terminal, /dev/stdout) is
// written last, as it may make us wait (stream_output.h).
//
//   CheckOutputFiles({{"--json", json_file}, {"--csv", csv_file}});
//   ...
//   WriteOutputs({{"--json", json_file, [&] { return JsonText(document); }}}, ReportText(document));
//
// The path "-" stands for standard output; a file of that name is "./-".
#ifndef TESTBED_TOOLS_OUTPUT_OUTPUT_FILE_H_
#define TESTBED_TOOLS_OUTPUT_OUTPUT_FILE_H_

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace testbed {

struct OutputFile {
  std::string option, path;  // an empty path is no request
  // Returns the contents. An empty function is for checks alone.
  std::function<std::string()> text = {};
};

// Adds an option that names such a file to `app`. The option refuses an empty name, which would
// silently be no request.
CLI::Option* AddFileOption(CLI::App& app, const std::string& option, std::string* path,
                           const std::string& help);

// What a command uses beside its outputs, and so no output may replace. An empty name is none.
struct InUse {
  // Directories of databases, with all that lies below them; of a --dir only its record and its db/.
  std::vector<std::string> databases = {};
  // Files that are read; "-" is standard input. A directory stands for the *.json below it.
  std::vector<std::string> inputs = {};
};

// Throws Error (kUsage) when one of the files may not be written: a symbolic link that leads there is
// another user's in a directory that everybody may write to, the file is in use, by this program's
// standard output too, it is a block device or a socket, or two requests name one file. Names the
// option in the message. Looks at what is there, and not whether a regular file is writable.
void CheckOutputPlaces(const std::vector<OutputFile>& files, const InUse& in_use);

// The same, and throws when one of the files cannot be written: it is a directory, lies in none or in
// one that takes no new file, may not be written, or its file system is full. Leaves no file behind.
void CheckOutputFiles(const std::vector<OutputFile>& files, const InUse& in_use = {});

// Writes all regular files, then prints `text`, unless a file is "-": then its contents are alone on
// standard output. A file that was there is replaced as a whole or stays as it was. What is no regular
// file (a pipe, a device), or was given to this program open (/dev/stdout, /dev/fd/3), is written in
// place after that: a pipe without a reader, for which this waits kReaderWait, or with a slow one
// costs nothing else, and several are written at once (WriteStreams). Throws Error (kRun) for the first file that could not be written, after the
// others were written and `text` was printed.
void WriteOutputs(const std::vector<OutputFile>& files, const std::string& text);

// The same for a single file, which is not "-".
void CheckOutputFile(const std::string& option, const std::string& path, const InUse& in_use = {});
void WriteOutputFile(const std::string& option, const std::string& path, const std::string& text);

// Checks a directory that outputs are written to: as CheckOutputPlaces, and that it is a directory or
// could be made. An empty path is no request. Throws Error (kUsage).
void CheckOutputDirectory(const std::string& option, const std::string& path,
                          const InUse& in_use = {});
// Makes the directory, and those above it, unless it is there. Follows no symbolic link that
// CheckOutputPlaces refuses. Throws Error (kUsage).
void MakeOutputDirectory(const std::string& option, const std::string& path);

// Replaces the file `path` atomically and durably: after a power cut it is the old file or the new
// one. The new file is written as PATH.<16 random hexadecimal digits>.new, which nobody else makes, and
// renamed; so no file of anybody's is in the way or overwritten. A killed process leaves it behind.
// Throws Error (kIo), and leaves nothing behind then.
void ReplaceFile(const std::string& path, const std::string& text);
// Returns the name or path of the file that ReplaceFile was to replace by the file `unfinished`; empty
// when it names no file so.
std::string ReplacedBy(const std::string& unfinished);
// Returns whether the file `path` can be what a killed process left of a text that begins with
// `begin`: a regular file that is empty, was never filled, or begins so as far as it goes.
bool IsUnfinished(const std::string& path, const std::string& begin);

}  // namespace testbed

#endif  // TESTBED_TOOLS_OUTPUT_OUTPUT_FILE_H_
