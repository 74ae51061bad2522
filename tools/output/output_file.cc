#include "tools/output/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>

#include "device/error.h"
#include "device/file/directory.h"
#include "device/file/file.h"
#include "device/os/interrupted.h"
#include "tools/database/database_files.h"
#include "tools/option_values.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

constexpr char kStandardOutput[] = "-";

// Returns whether somebody else may have put the symbolic link there to have us write elsewhere: in
// a directory where everybody may make files, it belongs neither to us nor to the directory's owner.
// That is the rule of fs.protected_symlinks (proc_sys_fs(5)), which not every system has in force.
bool IsForeignLink(const fs::path& link) {
  struct stat about {
  }, directory{};
  const std::string parent = link.has_parent_path() ? link.parent_path().string() : ".";
  if (::lstat(link.c_str(), &about) != 0 || ::stat(parent.c_str(), &directory) != 0) return false;
  constexpr mode_t kForAll = S_ISVTX | S_IWOTH;
  return (directory.st_mode & kForAll) == kForAll && about.st_uid != ::geteuid() &&
         about.st_uid != directory.st_uid;
}

// Returns the path with symbolic links followed, in its directories too, so that a rename replaces
// what a link names, be it there or not. Throws Error (kIo) where a link may not be followed.
std::string Followed(const std::string& path) {
  constexpr int kMostLinks = 40;  // as of the kernel (path_resolution(7))
  const fs::path whole = fs::absolute(path);
  std::deque<fs::path> parts(whole.begin(), whole.end());
  fs::path at = "/";
  for (int links = 0; !parts.empty(); parts.pop_front()) {
    const fs::path part = parts.front();
    if (part == "." || part == "/") continue;
    std::error_code unknown;
    if (part == ".." && fs::is_directory(at, unknown)) {
      at = at.parent_path();
      continue;
    }
    const fs::path next = at / part;
    if (part.empty() || !fs::is_symlink(fs::symlink_status(next, unknown))) {
      at = next;  // a slash at the end stays: it asks for a directory
      continue;
    }
    if (links++ == kMostLinks) throw Error::Io("follow", path, ELOOP);
    if (IsForeignLink(next)) {
      throw Error(Error::kIo, next.string() +
                                  " is a symbolic link of another user in a directory "
                                  "that everybody may write to");
    }
    const fs::path target = fs::read_symlink(next, unknown);
    if (unknown) throw Error::Io("follow", path, unknown.value());
    if (target.is_absolute()) at = "/";
    parts.insert(parts.begin() + 1, target.begin(), target.end());
  }
  return at.string();
}

// Returns whether `path` is there and no regular file with a name, but such as a pipe, a terminal, or
// an open file that was removed (through /proc/self/fd).
bool WrittenInPlace(const std::string& path) {
  struct stat about {};
  return ::stat(path.c_str(), &about) == 0 && (!S_ISREG(about.st_mode) || about.st_nlink == 0);
}

[[noreturn]] void Refuse(const OutputFile& file, const std::string& why) {
  throw Error(Error::kUsage,
              fmt::format("{} {} cannot be written: {}", file.option, file.path, why));
}

// Returns why a file cannot be written, and what to do. The sentence of Error::Io advises on --dir,
// and names the unfinished file.
std::string WhyNot(const Error& error) {
  if (error.code() == 0) return error.what();
  const std::string why = std::strerror(error.code());
  return error.disk_is_full() ? why + "; free space or give another file" : why;
}

// A file beside `path` that takes its place when it is whole. The destructor removes it otherwise.
class Replacement {
 public:
  // Throws Error (kIo).
  explicit Replacement(std::string path) : path_(std::move(path)), unfinished_(path_ + ".XXXXXX") {
    fd_ = ::mkostemp(unfinished_.data(), O_CLOEXEC);
    if (fd_ < 0) throw Error::Io("create", unfinished_, errno);
  }
  ~Replacement() {
    ::close(fd_);
    if (!done_) ::unlink(unfinished_.c_str());
  }
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;
  // These throw Error (kIo).
  void Write(const std::string& text) const {
    for (size_t done = 0; done < text.size();) {
      const ssize_t n = ::write(fd_, text.data() + done, text.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) throw Error::Io("write", unfinished_, errno);
      done += static_cast<size_t>(n);
    }
    if (Uninterrupted([&] { return ::fsync(fd_); }) != 0) {
      throw Error::Io("sync", unfinished_, errno);
    }
  }
  void TakePlace() {
    struct stat about {};
    const mode_t mask = ::umask(0);
    ::umask(mask);
    const bool there = ::stat(path_.c_str(), &about) == 0;
    // Only root can give a file away, and only root would take it away otherwise.
    const bool same_owner = !there || ::fchown(fd_, about.st_uid, about.st_gid) == 0;
    const mode_t mode = there ? about.st_mode & 07777 : 0666 & ~mask;
    // The bits that lend a file's owner to others are not for a file of another owner.
    if (::fchmod(fd_, same_owner ? mode : mode & 0777) != 0) {
      throw Error::Io("chmod", unfinished_, errno);
    }
    RenameFile(unfinished_, path_);
    done_ = true;
    SyncParent(path_);
  }

 private:
  const std::string path_;
  std::string unfinished_;
  int fd_ = -1;
  bool done_ = false;
};

void WriteInPlace(const std::string& path, const std::string& text) {
  FILE* out = std::fopen(path.c_str(), "we");
  if (out == nullptr) throw Error::Io("open", path, errno);
  const bool all = std::fwrite(text.data(), 1, text.size(), out) == text.size();
  if (const int error = errno; std::fclose(out) != 0 || !all) {
    throw Error::Io("write", path, all ? errno : error);
  }
}

void WriteFile(const OutputFile& file) {
  const std::string text = file.text();
  try {
    const std::string followed = Followed(file.path);
    if (WrittenInPlace(file.path)) {
      WriteInPlace(file.path, text);
      return;
    }
    Replacement replacement(followed);
    replacement.Write(text);
    replacement.TakePlace();
  } catch (const Error& error) {
    throw Error(Error::kRun,
                fmt::format("{} {} cannot be written: {}", file.option, file.path, WhyNot(error)));
  }
}

// Followed, which refuses the option with a sentence where a link may not be followed.
std::string FollowedOrRefuse(const OutputFile& file) {
  try {
    return Followed(file.path);
  } catch (const Error& error) {
    Refuse(file, WhyNot(error));
  }
}

bool SameFile(const fs::path& a, const fs::path& b) {
  std::error_code none_there;
  return fs::equivalent(a, b, none_there);
}

// Returns whether a path that was followed leads into the directory, by whatever names.
bool LiesIn(const fs::path& followed, const std::string& directory) {
  for (fs::path at = followed; !SameFile(at, directory); at = at.parent_path()) {
    if (!at.has_relative_path()) return false;
  }
  return true;
}

// In the directory of --dir only the record and the files of the database are testbed's. Any other
// directory is the database itself.
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

// Throws Error (kUsage) when the output, whose path followed is `followed`, is in use.
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
  const fs::path parent = fs::absolute(followed).parent_path();
  std::error_code error;
  if (!fs::is_directory(parent, error)) {
    // Such as a directory above it that this user may not search. That it is not there is no error.
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
  if (WrittenInPlace(file.path)) return;
  // Only a file that is really made and filled shows that there is room for one.
  constexpr size_t kLeastRoom = 256 << 10;
  try {
    const Replacement trial(followed);
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

void CheckOutputPlaces(const std::vector<OutputFile>& files, const InUse& in_use) {
  std::map<std::string, std::string> options;  // by file
  for (const OutputFile& file : files) {
    if (file.path.empty()) continue;
    const bool prints = file.path == kStandardOutput;
    const std::string followed = prints ? file.path : FollowedOrRefuse(file);
    const auto [other, first] = options.emplace(followed, file.option);
    if (!first) {
      throw Error(Error::kUsage, fmt::format("{} and {} both name {}; give each a file of its own",
                                             other->second, file.option, file.path));
    }
    if (!prints) CheckUse(file, followed, in_use);
  }
}

void CheckOutputFiles(const std::vector<OutputFile>& files, const InUse& in_use) {
  CheckOutputPlaces(files, in_use);
  for (const OutputFile& file : files) {
    if (!file.path.empty() && file.path != kStandardOutput) CheckOne(file);
  }
}

void WriteOutputs(const std::vector<OutputFile>& files, const std::string& text) {
  std::optional<Error> failure;
  const OutputFile* printed = nullptr;
  for (const OutputFile& file : files) {
    if (file.path.empty()) continue;
    if (file.path == kStandardOutput) {
      printed = &file;
      continue;
    }
    try {
      WriteFile(file);
    } catch (const Error& error) {
      if (!failure) failure = error;
    }
  }
  const std::string out = printed != nullptr ? printed->text() : text;
  std::fwrite(out.data(), 1, out.size(), stdout);
  std::fflush(stdout);
  if (failure) throw *failure;
}

void CheckOutputFile(const std::string& option, const std::string& path, const InUse& in_use) {
  CheckOutputFiles({{option, path}}, in_use);
}

void CheckOutputDirectory(const std::string& option, const std::string& path, const InUse& in_use) {
  if (path.empty()) return;
  OutputFile directory = {option, path};
  while (directory.path.size() > 1 && directory.path.back() == '/') directory.path.pop_back();
  CheckUse(directory, FollowedOrRefuse(directory), in_use);
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

bool IsUnfinished(const std::string& path, const std::string& begin) {
  std::error_code none_there;
  const fs::file_status status = fs::symlink_status(path, none_there);
  if (fs::is_symlink(status)) return true;
  if (!fs::is_regular_file(status)) return false;
  std::ifstream in(path, std::ios::binary);
  std::string found(begin.size(), '\0');
  in.read(found.data(), static_cast<std::streamsize>(found.size()));
  found.resize(static_cast<size_t>(in.gcount()));
  return begin.starts_with(found) || found.find_first_not_of('\0') == std::string::npos;
}

void ReplaceFile(const std::string& path, const std::string& text) {
  constexpr size_t kBegin = 8;  // bytes that tell a text like this one from others
  const std::string unfinished = path + ".new";
  if (IsUnfinished(unfinished, text.substr(0, kBegin))) ::unlink(unfinished.c_str());
  {
    const auto out = File::Open(unfinished, {.create = FileOptions::kMustCreate});
    out->Write(0, text.data(), text.size());
    out->Sync(true);
  }
  RenameFile(unfinished, path);
  SyncParent(path);
}

}  // namespace testbed
