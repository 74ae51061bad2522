// The files that the user asks for (--json, --csv). They are checked before a run, which may take
// long, and written after it, before anything is printed: a reader of standard output that goes
// away then loses no results. What is no regular file with a name (a pipe, a terminal, /dev/stdout)
// is written last, because its reader may be slow (stream_output.h).
//
//   CheckOutputFiles({{"--json", json_file}, {"--csv", csv_file}});
//   ...
//   WriteOutputs({{"--json", json_file, [&] { return JsonText(document); }}},
//                ReportText(document));
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
  std::string option, path;  // with an empty path nothing is written
  // Returns the contents. An empty function is for checks alone.
  std::function<std::string()> text = {};
};

// Adds an option that names such a file to `app`. The option refuses an empty name, with which
// nothing would be written.
CLI::Option* AddFileOption(CLI::App& app, const std::string& option, std::string* path,
                           const std::string& help);

// Adds an option that names a directory to `app`. The option refuses an empty name, which a shell
// makes of a variable that is not set: the command would do as if the option were not given.
CLI::Option* AddDirectoryOption(CLI::App& app, const std::string& option, std::string* path,
                                const std::string& help);

// The files and directories that a command uses besides its outputs, and that no output may
// replace. Empty names are ignored.
struct InUse {
  // Directories of databases, with all that lies below them; of a --dir only its record and its
  // db/.
  std::vector<std::string> databases = {};
  // Files that are read; "-" is standard input. A directory stands for the *.json below it.
  std::vector<std::string> inputs = {};
};

// Throws Error (kUsage), which names the option, when one of the files may not be written: a
// symbolic link on its path belongs to another user and lies in a directory that everybody may
// write to; the file is in use, or is where this program's standard output or standard error goes;
// it is a block device or a socket; or two options name the same file. Does not check whether a
// regular file can be written.
void CheckOutputPlaces(const std::vector<OutputFile>& files, const InUse& in_use);

// Checks as CheckOutputPlaces does, and tries to write. Throws Error (kUsage) when one of the files
// cannot be written: it is a directory, its directory does not exist or takes no new file, this
// user may not write it, or its file system is full. Leaves no file behind.
void CheckOutputFiles(const std::vector<OutputFile>& files, const InUse& in_use = {});

// Writes all regular files, then prints `text`; when a file is "-", prints the contents of that one
// instead. A regular file is replaced as a whole, or stays as it was. What is no regular file (a
// pipe, a device), or was inherited open (/dev/stdout, /dev/fd/3), is written in place after that,
// all of them at the same time (WriteStreams), so that a pipe with a slow reader, or without one,
// holds up no other output. Throws Error (kRun) for the first file that could not be written, after
// the others were written and `text` was printed.
void WriteOutputs(const std::vector<OutputFile>& files, const std::string& text);
// Does the same with the text that `text` returns. Calls it only when the regular files are
// written, so that an error in making the text costs none of them.
void WriteOutputs(const std::vector<OutputFile>& files, const std::function<std::string()>& text);

// Writes the files as WriteOutputs does, and then prints `said`, which tells what was written. When
// one of them could not be written, or is "-", nothing is told.
void WriteThenSay(const std::vector<OutputFile>& files, const std::string& said);

// Check and write a single file, which is not "-".
void CheckOutputFile(const std::string& option, const std::string& path, const InUse& in_use = {});
void WriteOutputFile(const std::string& option, const std::string& path, const std::string& text);

// Checks a directory that outputs are to be written to. Throws Error (kUsage) when a symbolic link
// to it is refused as by CheckOutputPlaces, or when it is no directory and could not be made. Does
// nothing for an empty path.
void CheckOutputDirectory(const std::string& option, const std::string& path);
// Makes the directory, and those above it, unless it is there. Follows no symbolic link that
// CheckOutputPlaces refuses. Throws Error (kUsage).
void MakeOutputDirectory(const std::string& option, const std::string& path);

// Replaces the file `path` atomically and durably: after a power cut it is the old file or the new
// one. The new file is written as PATH.<16 random hexadecimal digits>.new, a name that no other
// file has, and then renamed. Only a killed process leaves it behind. Throws Error (kIo).
void ReplaceFile(const std::string& path, const std::string& text);
// Returns the path that ReplaceFile would have given to the file `unfinished`: the path without its
// temporary ending. Returns an empty string when `unfinished` has no such ending.
std::string ReplacedBy(const std::string& unfinished);
// Returns whether the file `path` can be what a killed process left of a text that begins with
// `begin`: a regular file that begins with `begin`, that ends within it, such as an empty one, or
// that has only zero bytes in its place.
bool IsUnfinished(const std::string& path, const std::string& begin);

}  // namespace testbed

#endif  // TESTBED_TOOLS_OUTPUT_OUTPUT_FILE_H_
