#include "workloads/trace/trace_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "device/error.h"
#include "device/file/directory.h"
#include "device/file/durable.h"
#include "device/file/replacement.h"
#include "device/os/interrupted.h"
#include "device/os/thread.h"

namespace testbed {
namespace {

// The number of blocks that may wait for the thread, 32 MB together.
constexpr size_t kMostWaiting = 256;
constexpr int kLevel = 1;
constexpr uint64_t kWriteBackBytes = 4 << 20;

OpKind RecordOp() {
  static const OpKind op = DefineOp("record", Ground::kBackground);
  return op;
}

void Compress(std::string_view raw, std::string* stored) {
  stored->resize(ZSTD_compressBound(raw.size()));
  const size_t size = ZSTD_compress(stored->data(), stored->size(), raw.data(), raw.size(), kLevel);
  if (ZSTD_isError(size) != 0) throw Error(Error::kRun, "zstd cannot compress a block");
  stored->resize(size);
}

constexpr char kUnfinished[] = ".new";

// Returns the path of the file that `path` names, with symbolic links followed. Throws Error
// (kUsage).
std::string Place(const std::string& path) {
  try {
    return path.empty() ? path : FollowLinks(path);
  } catch (const Error& error) {
    throw Error(Error::kUsage,
                fmt::format("the trace {} cannot be written: {}", path, error.what()));
  }
}

// The file that has the name of an unfinished trace, if any. It stays locked while the object
// lives.
class FoundFile {
 public:
  explicit FoundFile(const std::string& path)
      : fd_(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)) {
    if (fd_ < 0) {
      is_held_ = errno == ENOENT;  // a file that appears later is another run's
      return;
    }
    struct stat mine, there;
    char head[8];
    // A living writer holds the lock of its file, whatever process namespace it is in.
    const bool is_free = ::flock(fd_, LOCK_EX | LOCK_NB) == 0;
    is_held_ = !is_free && errno == EWOULDBLOCK;
    is_leftover_ = is_free && ::fstat(fd_, &mine) == 0 && ::lstat(path.c_str(), &there) == 0 &&
                   mine.st_dev == there.st_dev && mine.st_ino == there.st_ino &&
                   S_ISREG(mine.st_mode) && mine.st_uid == ::geteuid() &&
                   ::pread(fd_, head, sizeof head, 0) == sizeof head &&
                   std::memcmp(head, kTraceMagic, sizeof head) == 0;
  }
  ~FoundFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  FoundFile(const FoundFile&) = delete;
  FoundFile& operator=(const FoundFile&) = delete;
  // Returns whether a killed process of this user left the file: it begins like a trace, and no
  // writer holds its lock.
  bool is_leftover() const { return is_leftover_; }
  // Returns whether another run is writing the file.
  bool is_held() const { return is_held_; }

 private:
  const int fd_;
  bool is_leftover_ = false, is_held_ = false;
};

[[noreturn]] void RefuseFound(const std::string& path, const FoundFile& found) {
  const std::string unfinished = UnfinishedTrace(path);
  const std::string why =
      found.is_held()
          ? fmt::format("another run is writing {}; wait for its end", unfinished)
          : fmt::format("{} is no unfinished trace; remove it or give another name", unfinished);
  throw Error(Error::kUsage, fmt::format("the trace {} cannot be written: {}", path, why));
}

// Creates the file for the trace `path`, whose place is `place`. No other process writes it. Only
// an unfinished trace that a killed process left is removed for it.
std::unique_ptr<File> CreateUnfinished(const std::string& path, const std::string& place) {
  const std::string unfinished = place + kUnfinished;
  const FoundFile found(unfinished);
  if (found.is_leftover()) RemoveFile(unfinished);
  std::unique_ptr<File> file;
  try {
    file = File::Open(unfinished, {.kind = FileKind::kTemp, .create = FileOptions::kMustCreate});
  } catch (const Error& error) {
    if (error.code() == EEXIST) RefuseFound(path, found);
    throw;
  }
  // A run that looks at the name (FoundFile) may hold the lock for a moment. A file system that has
  // no locks refuses the call; FoundFile then takes no file for one that a killed process left.
  (void)Uninterrupted([&] { return ::flock(file->fd(), LOCK_EX); });
  // A file that is replaced may not be readable by everybody, so its successor is not readable
  // until Finish gives it that file's mode.
  if (IsThere(place)) ::fchmod(file->fd(), 0600);
  return file;
}

}  // namespace

std::string UnfinishedTrace(const std::string& path) { return Place(path) + kUnfinished; }

void CheckTracePlace(const std::string& path) {
  const std::string place = Place(path), unfinished = place + kUnfinished;
  struct stat there;
  const bool is_there = ::stat(place.c_str(), &there) == 0;
  if (is_there && (!S_ISREG(there.st_mode) || IsOpenFile(place))) {
    throw Error(Error::kUsage,
                fmt::format("the trace {} cannot be written: {} is not a regular file; give "
                            "another name",
                            path, place));
  }
  if (::lstat(unfinished.c_str(), &there) != 0 && errno == ENOENT) return;
  const FoundFile found(unfinished);
  if (!found.is_leftover()) RefuseFound(path, found);
}

TraceWriter::TraceWriter(const std::string& path)
    : path_(path), place_(Place(path)), unfinished_(place_ + kUnfinished) {
  (void)RecordOp();
  if (!path_.empty()) {
    CheckTracePlace(path_);
    file_ = CreateUnfinished(path_, place_);
  }
  try {
    std::string head(kTraceMagic, 8);
    AppendFixed(&head, kTraceVersion);
    AppendFixed(&head, uint32_t{0});
    Put(head);
    thread_ = StartThread("writing the trace", [this] { Work(); });
  } catch (...) {
    Discard();  // no destructor runs, and a file without a head is refused as somebody else's
    throw;
  }
}

TraceWriter::~TraceWriter() {
  Stop();
  Discard();
}

// Removes the unfinished trace while its lock is held, so that the name leads to no other run's.
void TraceWriter::Discard() {
  if (file_ != nullptr) std::remove(unfinished_.c_str());
  file_.reset();
}

void TraceWriter::Stop() {
  {
    const LockGuard lock(mutex_);
    stop_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void TraceWriter::Fail(const std::exception& error) const {
  throw Error(Error::kRun,
              fmt::format("the trace {} could not be written: {}", path_, SentenceOf(error)));
}

void TraceWriter::Add(Block block) {
  const LockGuard lock(mutex_);
  changed_.wait(mutex_, [this]() REQUIRES(mutex_) {
    return queue_.size() < kMostWaiting || failure_ != nullptr;
  });
  if (failure_ != nullptr) {
    try {
      std::rethrow_exception(failure_);
    } catch (const std::exception& error) {
      Fail(error);
    }
  }
  queue_.push_back(std::move(block));
  changed_.notify_all();
}

void TraceWriter::Work() {
  while (true) {
    Block block;
    {
      const LockGuard lock(mutex_);
      changed_.wait(mutex_, [this]() REQUIRES(mutex_) { return stop_ || !queue_.empty(); });
      if (queue_.empty()) return;
      block = std::move(queue_.front());
      queue_.pop_front();
      changed_.notify_all();
    }
    try {
      const IoScope scope(RecordOp());
      Write(std::move(block));
    } catch (...) {
      const LockGuard lock(mutex_);
      failure_ = std::current_exception();
      queue_.clear();
      changed_.notify_all();
      return;
    }
  }
}

void TraceWriter::Write(Block block) {
  Compress(block.bytes, &stored_);
  block.entry.offset = end_;
  block.entry.stored_bytes = static_cast<uint32_t>(stored_.size());
  std::string head;
  block.entry.AppendTo(&head);
  const uint64_t seed = XXH3_64bits(head.data(), head.size());
  AppendFixed(&head, XXH3_64bits_withSeed(stored_.data(), stored_.size(), seed));
  block.entry.AppendTo(&index_);
  Put(head);
  Put(stored_);
}

void TraceWriter::Put(std::string_view bytes) {
  if (file_ == nullptr) return;
  file_->Write(end_, bytes.data(), bytes.size());
  end_ += bytes.size();
  // The trace is written back as it grows and leaves the page cache, whose memory may be the run's.
  if (end_ - written_back_ < 2 * kWriteBackBytes) return;
  WriteBack(*file_, written_back_, kWriteBackBytes);
  file_->Forget(written_back_, kWriteBackBytes);
  written_back_ += kWriteBackBytes;
}

void TraceWriter::Finish(const TraceFacts& facts) {
  Stop();
  try {
    {
      const LockGuard lock(mutex_);
      if (failure_ != nullptr) std::rethrow_exception(failure_);
    }
    if (file_ == nullptr) return;
    const IoScope scope(RecordOp());
    std::string raw;
    const std::string json = facts.ToJson().dump();
    AppendFixed(&raw, static_cast<uint64_t>(json.size()));
    raw += json + index_;
    Compress(raw, &stored_);
    std::string tail;
    AppendFixed(&tail, end_);
    AppendFixed(&tail, static_cast<uint64_t>(stored_.size()));
    AppendFixed(&tail, static_cast<uint64_t>(raw.size()));
    const uint64_t seed = XXH3_64bits(tail.data(), tail.size());
    AppendFixed(&tail, XXH3_64bits_withSeed(stored_.data(), stored_.size(), seed));
    tail.append(kTraceEndMagic, 8);
    Put(stored_);
    Put(tail);
    file_->Sync();
    PutInPlace(file_->fd(), unfinished_, place_);
    file_.reset();
  } catch (const std::exception& error) {
    Discard();
    Fail(error);
  }
}

}  // namespace testbed
