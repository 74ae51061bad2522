// The files that the user asks for (--json, --csv). They are checked before a run, which may take
// long, and written after it, before anything is printed: a reader of standard output that goes
// away then loses no results.
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

// Throws Error (kUsage) when one of the files cannot be written: it is a directory, lies in none or
// in one that takes no new file, may not be written, its file system is full, or two requests name
// one file. Leaves no file behind. Names the option in the message.
void CheckOutputFiles(const std::vector<OutputFile>& files);

// Writes all files, then prints `text`, unless a file is "-": then its contents are alone on
// standard output. A file that was there is replaced as a whole or stays as it was; what is no
// regular file (a pipe, a device) is written in place. Throws Error (kRun) for the first file that
// could not be written, after the others were written and `text` was printed.
void WriteOutputs(const std::vector<OutputFile>& files, const std::string& text);

// The same for a single file, which is not "-".
void CheckOutputFile(const std::string& option, const std::string& path);
void WriteOutputFile(const std::string& option, const std::string& path, const std::string& text);

// Replaces the file `path` atomically and durably: after a power cut it is the old file or the new
// one. The new file is written as PATH.new and renamed. A file of that name is removed first, and a
// symbolic link is not followed, so that no other file can be overwritten. Throws Error (kIo).
void ReplaceFile(const std::string& path, const std::string& text);

}  // namespace testbed

#endif  // TESTBED_TOOLS_OUTPUT_OUTPUT_FILE_H_
