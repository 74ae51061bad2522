#include "tools/output/output_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <regex>

#include "device/error.h"
#include "device/file/directory.h"
#include "device/file/file.h"
#include "device/file/replacement.h"
#include "device/os/random_id.h"
#include "device/os/signal_guard.h"
#include "tools/database/database_files.h"
#include "tools/option_values.h"
#include "tools/output/stream_output.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

constexpr char kStandardOutput[] = "-";

[[noreturn]] void Refuse(const OutputFile& file, const std::string& why) {
  throw Error(Error::kUsage,
              fmt::format("{} {} cannot be written: {}", file.option, file.path, why));
}

// Returns why a file cannot be written, and what to do. The sentence of Error::Io does not fit an
// output: it gives advice on --dir, and names the unfinished file.
std::string WhyNot(const Error& error) {
  if (error.code() == 0) return error.what();
  const std::string why = std::strerror(error.code());
  return error.disk_is_full() ? why + "; free space or give another file" : why;
}

// Returns the error of an output that could not be written.
Error NotWritten(const OutputFile& file, const Error& error) {
  return {Error::kRun,
          fmt::format("{} {} cannot be written: {}", file.option, file.path, WhyNot(error))};
}

void WriteFile(const OutputFile& file) {
  const std::string text = file.text();
  try {
    const std::string followed = FollowLinks(file.path);
    if (IsStream(followed)) {
      WriteStream(followed, text);
      return;
    }
    FileReplacement replacement(followed);
    replacement.Write(text);
    replacement.TakePlace();
  } catch (const Error& error) {
    throw NotWritten(file, error);
  }
}

// Returns FollowLinks of the path. Throws Error (kUsage), which names the option, when a link may
// not be followed.
std::string FollowedOrRefuse(const OutputFile& file) {
  try {
    return FollowLinks(file.path);
  } catch (const Error& error) {
    Refuse(file, WhyNot(error));
  }
}

// Returns the path of the stream to which the output leads; empty when it leads to none, or to what
// WriteFile refuses to write.
std::string StreamBehind(const OutputFile& file) {
  try {
    const std::string followed = FollowLinks(file.path);
    return IsStream(followed) ? followed : "";
  } catch (const Error&) {
    return "";
  }
}

// Returns the name of the file at a path whose links were followed, even when the path is that of
// an open descriptor.
std::string NameOf(const std::string& followed) {
  std::error_code none;
  return IsOpenFile(followed) ? fs::read_symlink(followed, none).string() : followed;
}

bool SameFile(const fs::path& a, const fs::path& b) {
  std::error_code none_there;
  return fs::equivalent(a, b, none_there);
}

// Returns whether a path whose links were followed lies in the directory, whatever names both have.
bool LiesIn(const fs::path& followed, const std::string& directory) {
  for (fs::path at = followed; !SameFile(at, directory); at = at.parent_path()) {
    if (!at.has_relative_path()) return false;
  }
  return true;
}

// Returns whether the path lies in a database. In a directory with a record, or an empty one (a
// --dir), these are only the record and db/; any other directory is a database as a whole.
bool LiesInDatabase(const fs::path& followed, const std::string& directory) {
  if (directory.empty() || !LiesIn(followed, directory)) return false;
  std::error_code error;
  if (!fs::exists(fs::path(directory) / kRecordFile, error) && !fs::is_empty(directory, error)) {
    return true;
  }
  const bool beside = SameFile(followed.parent_path(), directory);
  return LiesIn(followed, directory + "/" + kEngineFiles) ||
         (beside && followed.filename().string().starts_with(kRecordFile));
}

// Throws Error (kUsage) when the kind of file at `followed` may not be an output.
void CheckKind(const OutputFile& file, const std::string& followed) {
  if (const std::string why = WhyNoStream(followed); !why.empty()) Refuse(file, why);
  if (IsOpenFile(followed)) return;
  if (const std::string stream = StandardStreamOf(followed); !stream.empty()) {
    Refuse(file, stream + " goes to that file; give another file");
  }
}

// Throws Error (kUsage) when the file at `followed` is in use.
void CheckUse(const OutputFile& file, const fs::path& followed, const InUse& in_use) {
  for (const std::string& directory : in_use.databases) {
    if (!LiesInDatabase(followed, directory)) continue;
    Refuse(file, fmt::format("it lies in {}, which this command uses; give a file outside of it",
                             directory));
  }
  for (const std::string& input : in_use.inputs) {
    std::error_code error;
    const std::string read = input == kStandardOutput ? "/dev/stdin" : input;
    const bool is_input = fs::is_directory(read, error)
                              ? followed.extension() == ".json" && LiesIn(followed, read)
                              : fs::is_regular_file(followed, error) && SameFile(followed, read);
    if (is_input) Refuse(file, "this command reads it; give another file");
  }
}

void CheckOne(const OutputFile& file) {
  const std::string followed = FollowedOrRefuse(file);
  if (IsStream(followed)) return;  // CheckKind has looked at it
  const fs::path parent = fs::absolute(followed).parent_path();
  std::error_code error;
  if (!fs::is_directory(parent, error)) {
    // `error` is set when, for example, this user may not search a directory above; a missing file
    // sets none.
    const bool is_file = fs::exists(parent, error);
    Refuse(file, error && !is_file ? fmt::format("{}: {}", parent.string(), error.message())
                                   : parent.string() + " is not a directory");
  }
  if (fs::is_directory(file.path, error)) {
    Refuse(file, "it is a directory; give the name of a file");
  }
  if (fs::exists(file.path, error) && ::access(file.path.c_str(), W_OK) != 0) {
    Refuse(file, std::strerror(errno));
  }
  // Only making and filling a file shows that it can be written and that there is room for one.
  constexpr size_t kLeastRoom = 256 << 10;
  try {
    const FileReplacement trial(followed);
    trial.Write(std::string(kLeastRoom, ' '));
  } catch (const Error& failure) {
    Refuse(file, WhyNot(failure));
  }
}

}  // namespace

CLI::Option* AddFileOption(CLI::App& app, const std::string& option, std::string* path,
                           const std::string& help) {
  return app
      .add_option_function<std::string>(
          option,
          [option, path](const std::string& text) {
            if (text.empty()) RefuseValue(option, "''", "the name of a file, or - for the output");
            *path = text;
          },
          help)
      ->type_name("FILE");
}

CLI::Option* AddDirectoryOption(CLI::App& app, const std::string& option, std::string* path,
                                const std::string& help) {
  return app
      .add_option_function<std::string>(
          option,
          [option, path](const std::string& text) {
            if (text.empty()) RefuseValue(option, "''", "the name of a directory");
            *path = text;
          },
          help)
      ->type_name("DIR");
}

void CheckOutputPlaces(const std::vector<OutputFile>& files, const InUse& in_use) {
  std::map<std::string, std::string> options;  // by file
  for (const OutputFile& file : files) {
    if (file.path.empty()) continue;
    const bool prints = file.path == kStandardOutput;
    const std::string followed = prints ? file.path : FollowedOrRefuse(file);
    const std::string name = prints ? followed : NameOf(followed);
    const auto [other, first] = options.emplace(name, file.option);
    if (!first) {
      throw Error(Error::kUsage, fmt::format("{} and {} both name {}; give each a file of its own",
                                             other->second, file.option, file.path));
    }
    if (prints) continue;
    CheckKind(file, followed);
    CheckUse(file, name, in_use);
  }
}

void CheckOutputFiles(const std::vector<OutputFile>& files, const InUse& in_use) {
  CheckOutputPlaces(files, in_use);
  for (const OutputFile& file : files) {
    if (!file.path.empty() && file.path != kStandardOutput) CheckOne(file);
  }
}

void WriteOutputs(const std::vector<OutputFile>& files, const std::string& text) {
  WriteOutputs(files, [&text] { return text; });
}

void WriteOutputs(const std::vector<OutputFile>& files, const std::function<std::string()>& text) {
  std::optional<Error> failure;
  const OutputFile* printed = nullptr;
  std::vector<const OutputFile*> last;
  std::vector<StreamText> streams;
  for (const OutputFile& file : files) {
    if (file.path.empty()) continue;
    if (file.path == kStandardOutput) {
      printed = &file;
    } else if (const std::string stream = StreamBehind(file); !stream.empty()) {
      last.push_back(&file);
      streams.push_back({stream, file.text()});
    } else {
      try {
        WriteFile(file);
      } catch (const Stopped&) {  // while the text was made; the user waits for no other file
        throw;
      } catch (const Error& error) {
        if (!failure) failure = error;
      }
    }
  }
  const std::string out = printed != nullptr ? printed->text() : text();
  std::fwrite(out.data(), 1, out.size(), stdout);
  std::fflush(stdout);
  const std::vector<std::optional<Error>> errors = WriteStreams(streams);
  for (size_t i = 0; i < errors.size(); ++i) {
    if (errors[i] && !failure) failure = NotWritten(*last[i], *errors[i]);
  }
  if (failure) throw *failure;
}

void WriteThenSay(const std::vector<OutputFile>& files, const std::string& said) {
  WriteOutputs(files, std::string());
  const bool printed = std::any_of(files.begin(), files.end(), [](const OutputFile& file) {
    return file.path == kStandardOutput;
  });
  if (!printed) fmt::print("{}", said);
}

void CheckOutputFile(const std::string& option, const std::string& path, const InUse& in_use) {
  CheckOutputFiles({{option, path}}, in_use);
}

void CheckOutputDirectory(const std::string& option, const std::string& path) {
  if (path.empty()) return;
  OutputFile directory = {option, path};
  while (directory.path.size() > 1 && directory.path.back() == '/') directory.path.pop_back();
  (void)FollowedOrRefuse(directory);
  std::error_code unknown;
  if (fs::is_directory(path, unknown)) return;
  if (fs::exists(path, unknown)) {
    throw Error(Error::kUsage, fmt::format("{} {} is no directory", option, path));
  }
  CheckOne(directory);
}

void MakeOutputDirectory(const std::string& option, const std::string& path) {
  const OutputFile directory = {option, path};
  const std::string followed = FollowedOrRefuse(directory);
  try {
    MakeDirectories(followed);
  } catch (const Error& error) {
    throw Error(Error::kUsage,
                fmt::format("{} {} cannot be made: {}", option, path, WhyNot(error)));
  }
  std::error_code unknown;
  if (!fs::is_directory(followed, unknown)) {
    throw Error(Error::kUsage, fmt::format("{} {} is no directory", option, path));
  }
}

void WriteOutputFile(const std::string& option, const std::string& path, const std::string& text) {
  if (!path.empty()) WriteFile({option, path, [&text] { return text; }});
}

std::string ReplacedBy(const std::string& unfinished) {
  static const std::regex* const kName = new std::regex(R"((.+)\.[0-9a-f]{16}\.new)");
  std::smatch parts;
  return std::regex_match(unfinished, parts, *kName) ? parts[1].str() : "";
}

bool IsUnfinished(const std::string& path, const std::string& begin) {
  std::error_code none_there;
  if (!fs::is_regular_file(fs::symlink_status(path, none_there))) return false;
  std::ifstream in(path, std::ios::binary);
  std::string found(begin.size(), '\0');
  in.read(found.data(), static_cast<std::streamsize>(found.size()));
  found.resize(static_cast<size_t>(in.gcount()));
  return begin.starts_with(found) || found.find_first_not_of('\0') == std::string::npos;
}

void ReplaceFile(const std::string& path, const std::string& text) {
  const std::string unfinished = fmt::format("{}.{:016x}.new", path, RandomId());
  const auto out = File::Open(unfinished, {.create = FileOptions::kMustCreate});
  try {
    out->Write(0, text.data(), text.size());
    out->Sync(true);
    RenameFile(unfinished, path);
  } catch (...) {
    ::unlink(unfinished.c_str());
    throw;
  }
  SyncParent(path);
}

}  // namespace testbed
