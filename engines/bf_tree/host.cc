#include "engines/bf_tree/host.h"

#include <cstring>
#include <exception>
#include <memory>
#include <string_view>
#include <utility>

#include "device/file/directory.h"

namespace testbed::bf_tree {
namespace {

thread_local uint64_t reads_of_this_thread = 0;

}  // namespace

// A HostFile is a file that the library has open.
struct HostFile {
  Host* host;
  std::unique_ptr<File> file;
  bool is_snapshot;  // a snapshot that is being written; else the tree's pages

  // Runs `change`, which writes to the file. Keeps its failure for the engine. Does nothing when an
  // earlier change of the same snapshot has failed.
  template <typename Change>
  void Try(const Change& change) {
    if (is_snapshot && host->SnapshotFailure()) return;
    try {
      change();
    } catch (const std::exception& exception) {
      const Error error = Error::Of(exception);
      if (!is_snapshot) return host->Fail(error);
      LockGuard lock(host->mutex_);
      if (!host->snapshot_failure_) host->snapshot_failure_ = error;
    }
  }

  void WritePage(uint64_t offset, const char* data, size_t n) {
    if (!host->failed()) {
      Try([&] {
        host->LeaveSnapshot();
        file->Write(offset, data, n);
      });
    }
    if (!host->failed()) {
      host->writes_.fetch_add(1, std::memory_order_relaxed);
      host->write_bytes_.fetch_add(n, std::memory_order_relaxed);
      return;
    }
    LockGuard lock(host->mutex_);
    host->kept_[offset].assign(data, n);
  }

  // Copies the page from kept_. Returns false when kept_ does not have it.
  bool ReadKept(uint64_t offset, char* to, size_t n) const {
    LockGuard lock(host->mutex_);
    const auto kept = host->kept_.find(offset);
    if (kept == host->kept_.end() || kept->second.size() != n) return false;
    std::memcpy(to, kept->second.data(), n);
    return true;
  }

  void ReadPage(uint64_t offset, char* to, size_t n) const {
    if (host->failed() && ReadKept(offset, to, n)) return;
    file->Read(offset, to, n);
    ++reads_of_this_thread;
    host->reads_.fetch_add(1, std::memory_order_relaxed);
    host->read_bytes_.fetch_add(n, std::memory_order_relaxed);
  }
};

struct HostCalls {
  static void* Open(void* context, BfBytes name, uint64_t* size) {
    Host* const host = static_cast<Host*>(context);
    try {
      const std::string path(name.data, name.size);
      auto opened = std::make_unique<HostFile>();
      opened->host = host;
      opened->is_snapshot = path.ends_with(kUnfinished);
      FileOptions options;
      options.mode = host->io_;
      *size = 0;
      if (opened->is_snapshot) {
        options.create = FileOptions::kMustCreate;
        opened->Try([&] {
          RemoveFile(path);  // so that the file is a new one
          opened->file = File::Open(path, options);
        });
        return opened.release();
      }
      options.advice = host->advice_;
      options.create = FileOptions::kMayExist;
      opened->file = File::Open(path, options);
      *size = opened->file->Size();
      return opened.release();
    } catch (const std::exception& exception) {
      host->Die(Error::Of(exception));
      return nullptr;
    }
  }

  static void Close(void* opaque) { delete static_cast<HostFile*>(opaque); }

  static int Read(void* opaque, uint64_t offset, void* buffer, size_t n) {
    const HostFile& file = *static_cast<HostFile*>(opaque);
    try {
      file.ReadPage(offset, static_cast<char*>(buffer), n);
      return 0;
    } catch (const std::exception& exception) {
      file.host->Die(Error::Of(exception));
      return 1;
    }
  }

  static void Write(void* opaque, uint64_t offset, const void* data, size_t n) {
    HostFile& file = *static_cast<HostFile*>(opaque);
    if (!file.is_snapshot) return file.WritePage(offset, static_cast<const char*>(data), n);
    file.Try([&] {
      file.file->Write(offset, data, n);
      file.host->snapshot_bytes_.fetch_add(n, std::memory_order_relaxed);
    });
  }

  static void Truncate(void* opaque) {
    HostFile& file = *static_cast<HostFile*>(opaque);
    file.Try([&] { file.file->Truncate(0); });
  }

  static void Sync(void* opaque) {
    HostFile& file = *static_cast<HostFile*>(opaque);
    file.Try([&] { file.file->Sync(/*metadata=*/true); });
  }

  static int Dead(void* context) { return static_cast<Host*>(context)->dead() ? 1 : 0; }
};

Host::Host(std::string dir, IoMode io, Advice advice, bool has_snapshot)
    : dir_(std::move(dir)), io_(io), advice_(advice), has_snapshot_(has_snapshot) {
  functions_ = {
      .context = this,
      .open = HostCalls::Open,
      .close = HostCalls::Close,
      .read = HostCalls::Read,
      .write = HostCalls::Write,
      .truncate = HostCalls::Truncate,
      .sync = HostCalls::Sync,
      .dead = HostCalls::Dead,
  };
}

void Host::LeaveSnapshot() {
  if (!has_snapshot()) return;
  LockGuard lock(mutex_);
  if (!has_snapshot()) return;
  RenameFile(PathOf(kSnapshot), PathOf(kLeaves));
  SyncDirectory(dir_);
  has_snapshot_.store(false, std::memory_order_release);
}

void Host::Fail(const Error& error) {
  LockGuard lock(mutex_);
  if (!failure_) {
    failure_ = error.With("bf-tree takes no more writes until it is opened again: " +
                          std::string(error.what()));
  }
  failed_.store(true, std::memory_order_release);
}

void Host::ThrowIfFailed() const {
  if (!failed()) [[likely]]
    return;
  LockGuard lock(mutex_);
  throw Error(*failure_);
}

void Host::BeginSnapshot() {
  LockGuard lock(mutex_);
  snapshot_failure_.reset();
}

std::optional<Error> Host::SnapshotFailure() const {
  LockGuard lock(mutex_);
  return snapshot_failure_;
}

void Host::Die(const Error& reason) {
  LockGuard lock(mutex_);
  if (!death_) death_ = reason;
  dead_.store(true, std::memory_order_release);
}

void Host::ThrowIfDead() const {
  if (!dead()) [[likely]]
    return;
  LockGuard lock(mutex_);
  throw death_->With("bf-tree cannot be used until it is opened again: " +
                     std::string(death_->what()));
}

uint64_t Host::ReadsOfThisThread() { return reads_of_this_thread; }

Host::Totals Host::totals() const {
  const auto value = [](const std::atomic<uint64_t>& n) {
    return n.load(std::memory_order_relaxed);
  };
  return {.reads = value(reads_),
          .read_bytes = value(read_bytes_),
          .writes = value(writes_),
          .write_bytes = value(write_bytes_),
          .snapshot_bytes = value(snapshot_bytes_)};
}

}  // namespace testbed::bf_tree
