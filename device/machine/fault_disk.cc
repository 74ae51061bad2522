#include "device/machine/fault_disk.h"

#define FUSE_USE_VERSION 35
#include <fcntl.h>
#include <fuse3/fuse_lowlevel.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <random>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "device/error.h"
#include "device/os/child_process.h"
#include "device/os/foreign_directory.h"
#include "device/os/mutex.h"
#include "device/os/sys_file.h"

namespace testbed {
namespace {

constexpr uint64_t kSector = 512;
constexpr uint64_t kMostUnflushed = 64 << 20;  // bytes; with more, the disk writes all of them back
constexpr char kDiskName[] = "disk";
constexpr fuse_ino_t kDiskNode = 2;

enum Request : uint32_t { kCut, kRevive, kFailWrites, kCount };
// A Command is the head of a message to the serving process. The ranges of a kFailWrites message
// follow it.
struct Command {
  uint32_t kind;
  int32_t keep_pct = 0;
  uint64_t seed = 0;
  uint64_t tears = 1;  // 0: a cut keeps or loses each write as a whole
  uint64_t skip = 0, count = 0;
};
constexpr size_t kMostMessage = sizeof(Command) + FaultDisk::kMostRanges * sizeof(FaultDisk::Range);

std::string Bytes(const Command& command) {
  return {reinterpret_cast<const char*>(&command), sizeof command};
}

// A Disk is the disk in the serving process. Thread-safe.
class Disk {
 public:
  Disk(int image, uint64_t bytes) : image_(image), bytes_(bytes) {}

  uint64_t bytes() const { return bytes_; }

  void NoteOpen() {
    LockGuard lock(mutex_);
    ++counts_.opens;
  }

  // Read, Write and Flush return 0 or an errno.
  int Read(uint64_t at, char* to, size_t n) {
    LockGuard lock(mutex_);
    if (dead_) return EIO;
    if (!Transfer(::pread, to, n, at)) return EIO;
    for (uint64_t sector = at / kSector; sector < (at + n) / kSector; ++sector) {
      const auto newer = newest_.find(sector);
      if (newer == newest_.end()) continue;
      const auto& [write, offset] = newer->second;
      std::memcpy(to + (sector * kSector - at), &unflushed_[write].bytes[offset], kSector);
    }
    ++counts_.reads;
    return 0;
  }

  int Write(uint64_t at, const char* from, size_t n) {
    LockGuard lock(mutex_);
    if (dead_) return EIO;
    if (at % kSector != 0 || n % kSector != 0) return EINVAL;
    if (Fails(at, n)) return EIO;
    if (unflushed_bytes_ + n > kMostUnflushed && !WriteBack()) return EIO;
    unflushed_.push_back({at, std::string(from, n)});
    unflushed_bytes_ += n;
    for (size_t offset = 0; offset < n; offset += kSector) {
      newest_[(at + offset) / kSector] = {unflushed_.size() - 1, offset};
    }
    ++counts_.writes;
    return 0;
  }

  int Flush() {
    LockGuard lock(mutex_);
    if (dead_) return EIO;
    ++counts_.flushes;
    return WriteBack() ? 0 : EIO;
  }

  // Obeys a message: a Command and, for kFailWrites, its ranges.
  FaultDisk::Counts Do(const std::string& message) {
    Command command;
    std::memcpy(&command, message.data(), sizeof command);
    LockGuard lock(mutex_);
    if (command.kind == kCut) Cut(command);
    if (command.kind == kRevive) dead_ = false;
    if (command.kind == kFailWrites) {
      failing_.resize((message.size() - sizeof command) / sizeof(FaultDisk::Range));
      std::memcpy(failing_.data(), message.data() + sizeof command,
                  failing_.size() * sizeof(FaultDisk::Range));
      to_skip_ = command.skip;
      to_fail_ = command.count;
    }
    return counts_;
  }

 private:
  struct Unflushed {
    uint64_t at;
    std::string bytes;
  };

  // Returns whether FailWrites asked that this write fail, and counts the write.
  bool Fails(uint64_t at, size_t n) REQUIRES(mutex_) {
    if (to_fail_ == 0) return false;
    const bool touches = std::any_of(
        failing_.begin(), failing_.end(),
        [&](const FaultDisk::Range& range) { return at < range.end && range.begin < at + n; });
    if (!touches) return false;
    if (to_skip_ > 0) {
      --to_skip_;
      return false;
    }
    --to_fail_;
    ++counts_.failed;
    return true;
  }

  // Transfers all n bytes by pread or pwrite. Returns false when it cannot.
  template <typename Call, typename Bytes>
  bool Transfer(Call call, Bytes* bytes, size_t n, uint64_t at) {
    for (size_t done = 0; done < n;) {
      const ssize_t r = call(image_, bytes + done, n - done, static_cast<off_t>(at + done));
      if (r < 0 && errno == EINTR) continue;
      if (r <= 0) return false;
      done += static_cast<size_t>(r);
    }
    return true;
  }
  bool WriteBack() REQUIRES(mutex_) {
    bool good = true;
    for (const Unflushed& write : unflushed_) {
      good = Transfer(::pwrite, write.bytes.data(), write.bytes.size(), write.at) && good;
    }
    Forget();
    return good;
  }
  void Cut(const Command& command) REQUIRES(mutex_) {
    std::mt19937_64 random(command.seed);
    for (const Unflushed& write : unflushed_) {
      bool keeps = false;
      for (size_t offset = 0; offset < write.bytes.size(); offset += kSector) {
        if (offset == 0 || command.tears != 0) {
          keeps = static_cast<int>(random() % 100) < command.keep_pct;
        }
        if (keeps) {
          Transfer(::pwrite, write.bytes.data() + offset, kSector, write.at + offset);
          ++counts_.kept;
        } else {
          ++counts_.lost;
        }
      }
    }
    Forget();
    dead_ = true;
  }
  void Forget() REQUIRES(mutex_) {
    unflushed_.clear();
    newest_.clear();
    unflushed_bytes_ = 0;
  }

  const int image_;
  const uint64_t bytes_;
  Mutex mutex_;
  std::vector<Unflushed> unflushed_ GUARDED_BY(mutex_);  // in order of arrival
  uint64_t unflushed_bytes_ GUARDED_BY(mutex_) = 0;
  // newest_ maps an unflushed sector's number to the place of the sector's newest bytes: the index
  // of the write in unflushed_, and the offset in that write.
  std::unordered_map<uint64_t, std::pair<size_t, size_t>> newest_ GUARDED_BY(mutex_);
  bool dead_ GUARDED_BY(mutex_) = false;
  std::vector<FaultDisk::Range> failing_ GUARDED_BY(mutex_);
  uint64_t to_skip_ GUARDED_BY(mutex_) = 0, to_fail_ GUARDED_BY(mutex_) = 0;
  FaultDisk::Counts counts_ GUARDED_BY(mutex_);
};

Disk* TheDisk(fuse_req_t request) { return static_cast<Disk*>(fuse_req_userdata(request)); }

struct stat StatOf(const Disk& disk, fuse_ino_t node) {
  struct stat st = {};
  st.st_ino = node;
  st.st_nlink = 1;
  st.st_mode = node == kDiskNode ? S_IFREG | 0600 : S_IFDIR | 0700;
  st.st_size = node == kDiskNode ? static_cast<off_t>(disk.bytes()) : 0;
  st.st_blksize = 4096;
  return st;
}

constexpr double kForever = 1e6;  // seconds

fuse_lowlevel_ops Operations() {
  fuse_lowlevel_ops ops = {};
  ops.lookup = [](fuse_req_t request, fuse_ino_t, const char* name) {
    if (std::strcmp(name, kDiskName) != 0) {
      fuse_reply_err(request, ENOENT);
      return;
    }
    fuse_entry_param entry = {};
    entry.ino = kDiskNode;
    entry.attr = StatOf(*TheDisk(request), kDiskNode);
    entry.attr_timeout = entry.entry_timeout = kForever;
    fuse_reply_entry(request, &entry);
  };
  ops.getattr = [](fuse_req_t request, fuse_ino_t node, fuse_file_info*) {
    const struct stat st = StatOf(*TheDisk(request), node);
    fuse_reply_attr(request, &st, kForever);
  };
  ops.setattr = [](fuse_req_t request, fuse_ino_t node, struct stat*, int, fuse_file_info*) {
    const struct stat st = StatOf(*TheDisk(request), node);
    fuse_reply_attr(request, &st, kForever);
  };
  ops.open = [](fuse_req_t request, fuse_ino_t, fuse_file_info* file) {
    TheDisk(request)->NoteOpen();
    file->direct_io = 1;
    fuse_reply_open(request, file);
  };
  ops.read = [](fuse_req_t request, fuse_ino_t, size_t n, off_t at, fuse_file_info*) {
    std::string bytes(n, '\0');
    const int error = TheDisk(request)->Read(static_cast<uint64_t>(at), bytes.data(), n);
    error != 0 ? fuse_reply_err(request, error) : fuse_reply_buf(request, bytes.data(), n);
  };
  ops.write = [](fuse_req_t request, fuse_ino_t, const char* bytes, size_t n, off_t at,
                 fuse_file_info*) {
    const int error = TheDisk(request)->Write(static_cast<uint64_t>(at), bytes, n);
    error != 0 ? fuse_reply_err(request, error) : fuse_reply_write(request, n);
  };
  ops.fsync = [](fuse_req_t request, fuse_ino_t, int, fuse_file_info*) {
    fuse_reply_err(request, TheDisk(request)->Flush());
  };
  const auto nothing = [](fuse_req_t request, fuse_ino_t, fuse_file_info*) {
    fuse_reply_err(request, 0);
  };
  ops.flush = nothing;  // FUSE calls this at each close(2), which flushes no disk's cache
  ops.release = nothing;
  ops.fallocate = [](fuse_req_t request, fuse_ino_t, int, off_t, off_t, fuse_file_info*) {
    fuse_reply_err(request, EOPNOTSUPP);
  };
  return ops;
}

// Closes the descriptors that the serving process has inherited from its parent, except for the
// standard streams and `kept`. A file behind such a descriptor may lie on a file system that the
// parent wants to unmount.
void CloseOthers(const std::array<int, 3>& kept) {
  const int last = *std::max_element(kept.begin(), kept.end());
  for (int fd = 3; fd < last; ++fd) {
    if (std::count(kept.begin(), kept.end(), fd) == 0) ::close(fd);
  }
  ::closefrom(last + 1);  // also where the kernel has no close_range(2)
}

// Leaves the parent's mount namespace. The last process of a mount namespace unmounts what is
// mounted there, so the process that serves such a file system must not be the last one. Returns
// whether the kernel permits the change.
bool LeaveMounts() {
  // The new namespace has copies of the mounts. An unmount of a copy that is not private would
  // unmount the original, too.
  if (::unshare(CLONE_NEWNS) != 0 || ::chdir("/") != 0 ||
      ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    return false;
  }
  std::vector<Mount> mounts = ReadMounts();
  std::reverse(mounts.begin(), mounts.end());
  for (const Mount& mount : mounts) {
    if (mount.point != "/") ::umount2(mount.point.c_str(), MNT_DETACH);
  }
  return true;
}

// Mounts a FUSE file system on the open directory. Returns the descriptor that its requests come
// from, which the library takes as a mount point of the form /dev/fd/N; -1 when the kernel refuses.
// The library itself would find the directory by a path, and may ask for the attributes of the
// mounted directory, which no process serves yet.
int MountOn(int directory) {
  const int requests = ::open("/dev/fuse", O_RDWR | O_CLOEXEC);
  const std::string options =
      "fd=" + std::to_string(requests) + ",rootmode=40000,user_id=0,group_id=0";
  if (requests < 0 || ::mount("testbed-fault-disk", HeldPath(directory).c_str(), "fuse",
                              MS_NOSUID | MS_NODEV, options.c_str()) != 0) {
    return -1;
  }
  return requests;
}

// Runs the serving process. It sends a byte over `control` when it is ready, and then obeys the
// messages that come over `control`.
int Serve(Disk* disk, int mount_point, int control) {
  ::signal(SIGINT, SIG_IGN);  // on Ctrl-C the parent decides when this process ends
  const fuse_lowlevel_ops ops = Operations();
  char name[] = "testbed";
  char* argv[] = {name, nullptr};
  fuse_args args = FUSE_ARGS_INIT(1, argv);
  fuse_session* session = fuse_session_new(&args, &ops, sizeof ops, disk);
  const int requests = MountOn(mount_point);
  const std::string mounted = "/dev/fd/" + std::to_string(requests);
  if (session == nullptr || requests < 0 || fuse_session_mount(session, mounted.c_str()) != 0)
    return 1;
  ::close(mount_point);
  if (!LeaveMounts()) return 1;
  std::thread([&] {
    const char here = 1;
    if (::send(control, &here, 1, MSG_NOSIGNAL) != 1) ::_exit(1);
    std::string message;
    for (;;) {
      message.resize(kMostMessage);
      const ssize_t got = ::recv(control, message.data(), message.size(), 0);
      if (got < static_cast<ssize_t>(sizeof(Command))) break;
      message.resize(static_cast<size_t>(got));
      const FaultDisk::Counts counts = disk->Do(message);
      if (::send(control, &counts, sizeof counts, MSG_NOSIGNAL) != sizeof counts) break;
    }
    ::_exit(0);  // the parent has ended
  }).detach();
  fuse_session_loop(session);
  return 0;
}

}  // namespace

bool FaultDisk::Available(std::string* why) {
  std::string reason;
  if (::geteuid() != 0) {
    reason = "a disk that loses power needs root: run as root";
  } else if (::access("/dev/fuse", R_OK | W_OK) != 0) {
    reason = std::string("a disk that loses power needs FUSE, and /dev/fuse cannot be opened: ") +
             std::strerror(errno);
  }
  if (why != nullptr) *why = reason;
  return reason.empty();
}

std::unique_ptr<FaultDisk> FaultDisk::Start(int image, uint64_t bytes,
                                            const std::string& mount_point, int mount_point_fd) {
  std::string why;
  if (!Available(&why)) throw Error(Error::kUsage, why);
  struct stat about {};
  if (::fstat(image, &about) != 0 || !S_ISREG(about.st_mode)) {
    throw Error(Error::kUsage, "the image of a disk that loses power is no regular file");
  }
  // This opens the same file again without direct IO, because the caller's descriptor may have
  // O_DIRECT set.
  const int image_fd = ::open(HeldPath(image).c_str(), O_RDWR | O_CLOEXEC);
  if (image_fd < 0) throw Error::Io("open", HeldPath(image), errno);
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    const int code = errno;
    ::close(image_fd);
    throw Error::Io("make", "a pair of sockets", code);
  }
  std::unique_ptr<FaultDisk> disk(new FaultDisk);
  disk->mount_point_ = mount_point;
  disk->file_ = mount_point + "/" + kDiskName;
  disk->owner_ = ::getpid();
  disk->control_ = ends[0];
  try {
    disk->server_ = ForkChild();
  } catch (...) {
    ::close(image_fd);
    ::close(ends[1]);
    throw;
  }
  if (disk->server_ == 0) {
    CloseOthers({image_fd, mount_point_fd, ends[1]});
    Disk served(image_fd, bytes);
    ::_exit(Serve(&served, mount_point_fd, ends[1]));
  }
  ::close(image_fd);
  ::close(ends[1]);
  char here;
  if (::recv(disk->control_, &here, 1, 0) != 1) {
    throw Error(Error::kRun, "the kernel refused to mount a FUSE file system on " + mount_point);
  }
  return disk;
}

FaultDisk::~FaultDisk() {
  if (control_ >= 0) ::close(control_);
  if (owner_ != ::getpid() || server_ <= 0) return;
  ::umount2(mount_point_.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW);
  ::kill(server_, SIGKILL);
  while (::waitpid(server_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

int FaultDisk::Open(int flags) {
  // Only root can open the disk. So if the disk counts an open during this call, the open below has
  // reached the disk.
  const uint64_t before = Count().opens;
  const int fd = ::open(file_.c_str(), flags | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) throw Error::Io("open", file_, errno);
  if (Count().opens == before + 1) return fd;
  ::close(fd);
  throw Error(Error::kRun, file_ +
                               " is not the disk that was mounted there: somebody has renamed the "
                               "directory; choose one that only you may change");
}

FaultDisk::Counts FaultDisk::Tell(const std::string& message) {
  Counts counts;
  if (::send(control_, message.data(), message.size(), MSG_NOSIGNAL) !=
          static_cast<ssize_t>(message.size()) ||
      ::recv(control_, &counts, sizeof counts, 0) != sizeof counts) {
    throw Error(Error::kRun, "the process that serves " + file_ + " is gone");
  }
  return counts;
}

void FaultDisk::Cut(uint64_t seed, int keep_pct, bool tears) {
  Tell(Bytes({.kind = kCut, .keep_pct = keep_pct, .seed = seed, .tears = tears ? 1u : 0u}));
}
void FaultDisk::Revive() { Tell(Bytes({.kind = kRevive})); }
void FaultDisk::FailWrites(const std::vector<Range>& ranges, uint64_t skip, uint64_t count) {
  std::string message = Bytes({.kind = kFailWrites, .skip = skip, .count = count});
  message.append(reinterpret_cast<const char*>(ranges.data()),
                 std::min(ranges.size(), kMostRanges) * sizeof(Range));
  Tell(message);
}
FaultDisk::Counts FaultDisk::Count() { return Tell(Bytes({.kind = kCount})); }

}  // namespace testbed
