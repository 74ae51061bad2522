#include "device/machine/readahead.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <optional>

#include "device/account/block_device.h"
#include "device/error.h"
#include "device/os/sys_file.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

constexpr char kStatePrefix[] = "readahead-";

std::string Knob(const ReadaheadPlaces& places, const std::string& device) {
  return places.sys_block + "/" + device + "/queue/read_ahead_kb";
}

// Returns a number that tells one attachment of a device name from the next (Linux 5.15); 0 where
// the kernel has none.
uint64_t DiskSequence(const ReadaheadPlaces& places, const std::string& device) {
  return ReadNumber(places.sys_block + "/" + device + "/diskseq").value_or(0);
}

// A State is the content of a state file.
struct State {
  std::string boot;
  uint64_t disk_sequence = 0, pid = 0, start = 0, previous_kb = 0, kb = 0;

  // Returns whether the process that wrote the state still runs. An earlier version of testbed held
  // no lock on the file, so a file without a lock does not show that the process has ended.
  bool OwnerLives() const {
    return ProcessStartTime(static_cast<pid_t>(pid)) == std::optional<uint64_t>(start);
  }
  std::string Text() const {
    return fmt::format("boot {}\ndiskseq {}\npid {}\nstart {}\nprevious_kb {}\nkb {}\nend 1\n",
                       boot, disk_sequence, pid, start, previous_kb, kb);
  }
  static std::optional<State> Parse(const std::string& text) {
    const auto number = [&](const char* key) { return FindNumber(text, key); };
    if (!number("end")) return std::nullopt;  // the writer was killed while writing
    State state;
    const std::vector<std::string> words = SplitWords(text);
    if (words.size() < 2 || words[0] != "boot") return std::nullopt;
    state.boot = words[1];
    for (const auto& [key, value] : {std::pair{"diskseq", &state.disk_sequence},
                                     {"pid", &state.pid},
                                     {"start", &state.start},
                                     {"previous_kb", &state.previous_kb},
                                     {"kb", &state.kb}}) {
      if (!number(key)) return std::nullopt;
      *value = *number(key);
    }
    return state;
  }
};

// A Note is an open state file. It holds the lock on the file while it lives, if the lock was free.
// A guard holds the lock on its state file as long as it lives, in whatever process namespace.
class Note {
 public:
  explicit Note(const std::string& path)
      : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)),
        free_(fd_ >= 0 && flock(fd_, LOCK_EX | LOCK_NB) == 0) {}
  ~Note() {
    if (fd_ >= 0) close(fd_);
  }
  Note(const Note&) = delete;
  Note& operator=(const Note&) = delete;

  bool free() const { return free_; }
  // Returns the content if this user owns the file. Other files are not believed, as the content
  // decides what root writes to /sys.
  std::optional<std::string> OwnText() const {
    struct stat info;
    char text[512] = {};
    const bool own =
        fd_ >= 0 && fstat(fd_, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid();
    const ssize_t got = own ? pread(fd_, text, sizeof(text) - 1, 0) : -1;
    if (got < 0) return std::nullopt;
    return std::string(text, static_cast<size_t>(got));
  }

 private:
  const int fd_;
  const bool free_;
};

// Returns whether no other user can put files into the directory or remove files from it.
bool IsOwnDirectory(const std::string& path) {
  struct stat info;
  return lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid() &&
         (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// Puts the value in the state file back, if the device still has the value of the killed run, and
// removes the file. Returns a sentence that says what was done, or nothing when there is nothing to
// tell.
std::optional<std::string> RestoreOne(const std::string& path, const std::string& device,
                                      const ReadaheadPlaces& places) {
  const Note note(path);
  const auto text = note.OwnText();
  if (!text || !note.free()) return std::nullopt;
  const auto state = State::Parse(*text);
  // The state is unfinished, so its writer had not set the device's readahead yet. The writer may
  // still be at work, so only an old file is removed.
  if (!state) {
    struct stat info;
    if (stat(path.c_str(), &info) == 0 && time(nullptr) - info.st_mtime > 5) unlink(path.c_str());
    return std::nullopt;
  }
  const bool this_boot = state->boot == ReadLine(places.boot_id);
  if (this_boot && state->OwnerLives()) return std::nullopt;
  const std::string knob = Knob(places, device);
  const auto now = ReadNumber(knob);
  if (!this_boot || !now || DiskSequence(places, device) != state->disk_sequence) {
    unlink(path.c_str());
    return fmt::format("a killed run had changed the readahead of {}; the {} since, which undid it",
                       device, this_boot ? "device was detached" : "machine was restarted");
  }
  if (*now != state->kb) {
    unlink(path.c_str());
    if (*now == state->previous_kb) return std::nullopt;
    return fmt::format(
        "a killed run had set the readahead of {} to {} KiB; it has been changed to {} KiB since "
        "and is left so",
        device, state->kb, *now);
  }
  if (const int code = WriteSmallFile(knob, std::to_string(state->previous_kb)); code != 0) {
    return fmt::format(
        "the readahead of {} was set to {} KiB by a killed run and could not be put back to {} KiB:"
        " {}",
        device, state->kb, state->previous_kb, std::strerror(code));
  }
  unlink(path.c_str());
  return fmt::format("put the readahead of {} back from {} to {} KiB, set by a killed run", device,
                     state->kb, state->previous_kb);
}

Error InUse(const std::string& device, const std::optional<State>& owner) {
  return Error(Error::kUsage,
               fmt::format("the readahead of {} is in use by another run{}; wait for its end",
                           device, owner ? fmt::format(" (process {})", owner->pid) : ""));
}

}  // namespace

std::unique_ptr<ReadaheadGuard> ReadaheadGuard::Under(const std::string& path, uint64_t kb,
                                                      const ReadaheadPlaces& places) {
  struct statfs info;
  if (statfs(path.c_str(), &info) != 0) throw Error::Io("statfs", path, errno);
  constexpr uint64_t kBtrfs = 0x9123683E;
  if (static_cast<uint64_t>(info.f_type) == kBtrfs) {
    throw Error(Error::kUsage,
                "--readahead cannot be set under " + path +
                    ": btrfs has a readahead of its own and ignores the device's; use ext4 or xfs");
  }
  const auto device = BlockDevice::Find(path);
  if (!device) {
    throw Error(Error::kUsage, "--readahead cannot be set: no block device is known under " + path);
  }
  return std::make_unique<ReadaheadGuard>(device->name(), kb, places);
}

ReadaheadGuard::ReadaheadGuard(const std::string& device, uint64_t kb,
                               const ReadaheadPlaces& places)
    : places_(places), device_(device), kb_(kb), owner_(getpid()), knob_(Knob(places, device)) {
  const auto page_kb = static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) / 1024;
  if (kb % page_kb != 0 || kb > (1 << 20)) {
    throw Error(Error::kUsage, fmt::format("--readahead {}k is not a whole number of {}k pages up "
                                           "to 1G",
                                           kb, page_kb));
  }
  undo_.fd = open(knob_.c_str(), O_RDWR | O_CLOEXEC);
  if (undo_.fd < 0) {
    const std::string why = errno == EACCES || errno == EPERM ? "only root may set it"
                            : errno == EROFS                  ? "/sys is mounted read-only"
                                                              : std::strerror(errno);
    throw Error(Error::kUsage, fmt::format("the readahead of {} cannot be set: {}", device_, why),
                errno);
  }
  try {
    Set();
  } catch (...) {
    if (on_crash_) {
      Restore();
    } else if (undo_.state_file[0] != 0) {
      unlink(undo_.state_file);  // the device was not set yet
    }
    on_crash_.reset();
    close(undo_.fd);
    if (note_ >= 0) close(note_);
    throw;
  }
}

void ReadaheadGuard::Set() {
  // The lock is taken first: only its holder reads a value that no other run has set.
  RefuseIfHeld();
  note_ = CreateNote();
  previous_kb_ = ReadNumber(knob_).value_or(0);
  disk_sequence_ = DiskSequence(places_, device_);
  const std::string old = std::to_string(previous_kb_) + "\n";
  std::memcpy(undo_.text, old.data(), old.size());
  undo_.size = old.size();
  const State state{ReadLine(places_.boot_id),
                    disk_sequence_,
                    static_cast<uint64_t>(owner_),
                    ProcessStartTime(owner_).value_or(0),
                    previous_kb_,
                    kb_};
  const std::string line = state.Text();
  const ssize_t written = write(note_, line.data(), line.size());
  const int failed = errno;
  if (written != static_cast<ssize_t>(line.size())) {
    throw Error::Io("write", undo_.state_file, written < 0 ? failed : ENOSPC);
  }
  on_crash_ = std::make_unique<CrashAction>(&RunUndo, &undo_);
  const std::string text = std::to_string(kb_) + "\n";
  if (pwrite(undo_.fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    const int code = errno;
    throw Error(Error::kUsage,
                fmt::format("the readahead of {} cannot be set to {} KiB: {}", device_, kb_,
                            std::strerror(code)),
                code);
  }
  if (const auto now = ReadNumber(knob_); now != std::optional<uint64_t>(kb_)) {
    throw Error(Error::kUsage, fmt::format("the readahead of {} was set to {} KiB but reads {}",
                                           device_, kb_, now ? std::to_string(*now) : "nothing"));
  }
}

// Throws Error (kUsage) when another run holds the device. Its state file may lie in any of the
// directories, as that run may have been unable to write to the first.
void ReadaheadGuard::RefuseIfHeld() const {
  for (const std::string& directory : places_.state_directories) {
    const std::string path = directory + "/" + kStatePrefix + device_;
    RestoreOne(path, device_, places_);
    const Note note(path);
    const auto text = note.OwnText();
    if (!text) continue;
    const auto state = State::Parse(*text);
    // A killed run whose value could not be put back leaves its state file. Such a file does not
    // keep other runs from the device.
    if (!state || !note.free() || state->OwnerLives()) throw InUse(device_, state);
  }
}

// Creates the state file, which must not exist, as it is the lock on the device. Returns its
// descriptor.
int ReadaheadGuard::CreateNote() {
  int code = ENOENT;
  for (const std::string& directory : places_.state_directories) {
    std::error_code ignored;
    fs::create_directories(directory, ignored);
    if (fs::is_directory(directory, ignored) && !IsOwnDirectory(directory)) {
      code = EPERM;
      continue;
    }
    const std::string path = directory + "/" + kStatePrefix + device_;
    if (path.size() >= sizeof(undo_.state_file)) continue;
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0) {
      flock(fd, LOCK_EX);  // waits while another run checks whether the file is left over
      std::memcpy(undo_.state_file, path.c_str(), path.size() + 1);
      return fd;
    }
    code = errno;
    if (code == EEXIST && Note(path).OwnText()) throw InUse(device_, std::nullopt);
  }
  throw Error(
      Error::kIo,
      fmt::format("the readahead of {} is not changed, as no note of its value could be "
                  "kept in {}: {}",
                  device_, fmt::join(places_.state_directories, " or "), std::strerror(code)),
      code);
}

// Runs in a signal handler, where it may make system calls only. A write to a device that is gone
// fails, and then there is nothing to put back.
void ReadaheadGuard::RunUndo(void* argument) {
  const auto* undo = static_cast<const Undo*>(argument);
  const int saved = errno;
  if (pwrite(undo->fd, undo->text, undo->size, 0) > 0 || errno == ENODEV || errno == ENXIO) {
    unlink(undo->state_file);
  }
  errno = saved;
}

ReadaheadGuard::~ReadaheadGuard() {
  if (undo_.fd < 0) return;
  if (owner_ == getpid()) Restore();
  on_crash_.reset();
  close(undo_.fd);
  close(note_);
}

std::string ReadaheadGuard::Restore() {
  if (undo_.state_file[0] == 0) return "";
  std::string sentence;
  // A detached device loses its settings, and another device may have its name by now.
  if (DiskSequence(places_, device_) == disk_sequence_) {
    const auto now = ReadNumber(knob_);
    if (now && *now != kb_) {
      sentence = fmt::format("the readahead of {} was changed to {} KiB by someone during the run",
                             device_, *now);
    }
    const ssize_t done = pwrite(undo_.fd, undo_.text, undo_.size, 0);
    const int code = done < 0 ? errno : 0;
    if (code != 0 && code != ENODEV && code != ENXIO) {
      return fmt::format("the readahead of {} could not be put back to {} KiB: {}", device_,
                         previous_kb_, std::strerror(code));
    }
  }
  unlink(undo_.state_file);
  on_crash_.reset();
  undo_.state_file[0] = 0;
  return sentence;
}

std::vector<std::string> ReadaheadGuard::RestoreStale(const ReadaheadPlaces& places) {
  std::vector<std::string> sentences;
  for (const std::string& directory : places.state_directories) {
    std::error_code failed;
    std::vector<std::string> names;
    for (fs::directory_iterator at(directory, failed), end; !failed && at != end;
         at.increment(failed)) {
      const std::string name = at->path().filename();
      if (name.rfind(kStatePrefix, 0) == 0) names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) {
      const std::string device = name.substr(sizeof(kStatePrefix) - 1);
      if (device.empty() || device[0] == '.') continue;
      if (auto done = RestoreOne(fmt::format("{}/{}", directory, name), device, places)) {
        sentences.push_back(std::move(*done));
      }
    }
  }
  return sentences;
}

}  // namespace testbed
