#include "engines/rocksdb/file_system.h"

#include <fcntl.h>
#include <rocksdb/env.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <ctime>
#include <string_view>
#include <utility>

#include "device/account/ledger.h"
#include "device/error.h"
#include "device/file/directory.h"
#include "device/file/durable.h"
#include "device/os/interrupted.h"
#include "device/os/mutex.h"
#include "engines/rocksdb/errors.h"

namespace testbed {
namespace {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

// A RandomAccessFile reads a table. Tables do not change after they are written, so the size at the
// open stays valid.
class RandomAccessFile : public rocksdb::FSRandomAccessFile {
 public:
  explicit RandomAccessFile(std::unique_ptr<File> file)
      : file_(std::move(file)),
        mapped_(file_->options().mode == IoMode::kMmap),
        size_(file_->Size()) {}

  IOStatus Read(uint64_t offset, size_t n, const IOOptions&, Slice* result, char* scratch,
                IODebugContext*) const override {
    return Guarded([&] {
      if (mapped_) {
        n = offset < size_ ? std::min<uint64_t>(n, size_ - offset) : 0;
        const std::string_view bytes = n == 0 ? std::string_view() : file_->View(offset, n);
        *result = Slice(bytes.data(), bytes.size());
      } else {
        *result = Slice(scratch, file_->ReadSome(offset, scratch, n));
      }
    });
  }

  IOStatus Prefetch(uint64_t offset, size_t n, const IOOptions&, IODebugContext*) override {
    // Direct IO has no page cache to read ahead into. NotSupported makes RocksDB read ahead into a
    // buffer of its own.
    if (use_direct_io()) return IOStatus::NotSupported("Prefetch");
    return Guarded([&] { file_->Prefetch(offset, n); });
  }

  bool use_direct_io() const override { return file_->options().mode == IoMode::kDirect; }
  size_t GetRequiredBufferAlignment() const override { return file_->alignment(); }
  IOStatus InvalidateCache(size_t offset, size_t length) override {
    return Guarded([&] { file_->Forget(offset, length); });
  }

 private:
  const std::unique_ptr<File> file_;
  const bool mapped_;
  const uint64_t size_;
};

class SequentialFile : public rocksdb::FSSequentialFile {
 public:
  explicit SequentialFile(std::unique_ptr<File> file) : file_(std::move(file)) {}

  IOStatus Read(size_t n, const IOOptions&, Slice* result, char* scratch,
                IODebugContext*) override {
    return Guarded([&] {
      *result = Slice(scratch, file_->ReadSome(offset_, scratch, n));
      offset_ += result->size();
    });
  }
  IOStatus PositionedRead(uint64_t offset, size_t n, const IOOptions&, Slice* result, char* scratch,
                          IODebugContext*) override {
    return Guarded([&] { *result = Slice(scratch, file_->ReadSome(offset, scratch, n)); });
  }
  IOStatus Skip(uint64_t n) override {
    offset_ += n;
    return IOStatus::OK();
  }
  bool use_direct_io() const override { return file_->options().mode == IoMode::kDirect; }
  size_t GetRequiredBufferAlignment() const override { return file_->alignment(); }
  IOStatus InvalidateCache(size_t offset, size_t length) override {
    return Guarded([&] { file_->Forget(offset, length); });
  }

 private:
  const std::unique_ptr<File> file_;
  uint64_t offset_ = 0;
};

// A WritableFile does one write per append: RocksDB's WritableFileWriter, which calls it, gathers
// small appends. In direct mode the writer calls PositionedAppend with whole blocks, so that it
// writes the last partial block again, and calls Truncate before Close.
class WritableFile : public rocksdb::FSWritableFile {
 public:
  WritableFile(std::unique_ptr<File> file, const rocksdb::FileOptions& options, uint64_t size,
               std::atomic<uint64_t>* log_bytes)
      : FSWritableFile(options),
        file_(std::move(file)),
        keep_size_(options.fallocate_with_keep_size),
        allocate_(options.allow_fallocate),
        direct_(file_->options().mode == IoMode::kDirect),
        alignment_(file_->alignment()),
        size_(size),
        log_bytes_(file_->options().kind == FileKind::kLog ? log_bytes : nullptr) {}
  ~WritableFile() override {
    if (file_ != nullptr) Close(IOOptions(), nullptr).PermitUncheckedError();
  }

  using FSWritableFile::Append;
  using FSWritableFile::PositionedAppend;
  IOStatus Append(const Slice& data, const IOOptions&, IODebugContext*) override {
    return WriteAt(size_, data);
  }
  IOStatus PositionedAppend(const Slice& data, uint64_t offset, const IOOptions&,
                            IODebugContext*) override {
    return WriteAt(offset, data);
  }
  IOStatus PositionedAppend(const Slice& data, uint64_t offset, const IOOptions&,
                            const rocksdb::DataVerificationInfo&, IODebugContext*) override {
    return WriteAt(offset, data);
  }

  IOStatus Truncate(uint64_t size, const IOOptions&, IODebugContext*) override {
    return Guarded([&] {
      file_->Truncate(size);
      size_ = size;
    });
  }

  IOStatus Close(const IOOptions&, IODebugContext*) override {
    return Guarded([&] {
      size_t block, preallocated;
      GetPreallocationStatus(&block, &preallocated);
      std::unique_ptr<File> file = std::move(file_);
      if (file != nullptr && preallocated > 0) {
        // Blocks that are allocated behind the end of the file must not count as the database's
        // space. ext4 frees them when the file is truncated to its own size. Other file systems
        // free them only when a hole is punched.
        file->Truncate(size_);
        const uint64_t end = static_cast<uint64_t>(block) * preallocated;
        if (end > size_) {
          const CallMark mark(file->options().kind);
          Uninterrupted([&] {
            return ::fallocate(file->fd(), FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE,
                               static_cast<off_t>(size_), static_cast<off_t>(end - size_));
          });
        }
      }
    });
  }

  IOStatus Flush(const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }
  IOStatus Sync(const IOOptions&, IODebugContext*) override {
    return Guarded([&] { file_->Sync(); });
  }
  IOStatus Fsync(const IOOptions&, IODebugContext*) override {
    return Guarded([&] { file_->Sync(true); });
  }
  // fdatasync is safe while another thread calls pwrite, so the lazy sync can run while sessions
  // commit.
  bool IsSyncThreadSafe() const override { return true; }
  IOStatus RangeSync(uint64_t offset, uint64_t n, const IOOptions& options,
                     IODebugContext* debug) override {
    // The call only starts write-back, so it is not counted as a sync. With strict_bytes_per_sync
    // it also waits for the write-back that earlier calls have started.
    if (strict_bytes_per_sync_) n += offset, offset = 0;
    return Guarded([&] { StartWriteBack(*file_, offset, n, strict_bytes_per_sync_); });
  }
  IOStatus Allocate(uint64_t offset, uint64_t n, const IOOptions&, IODebugContext*) override {
    if (!allocate_) return IOStatus::OK();
    return Guarded([&] { file_->Allocate(offset, n, keep_size_); });
  }
  IOStatus InvalidateCache(size_t offset, size_t length) override {
    return Guarded([&] { file_->Forget(offset, length); });
  }
  uint64_t GetFileSize(const IOOptions&, IODebugContext*) override { return size_; }
  bool use_direct_io() const override { return direct_; }
  size_t GetRequiredBufferAlignment() const override { return alignment_; }

 private:
  IOStatus WriteAt(uint64_t offset, const Slice& data) {
    return Guarded([&] {
      file_->Write(offset, data.data(), data.size());
      size_ = offset + data.size();
      if (log_bytes_ != nullptr) log_bytes_->fetch_add(data.size(), std::memory_order_relaxed);
    });
  }

  std::unique_ptr<File> file_;
  const bool keep_size_;
  const bool allocate_;
  const bool direct_;
  const size_t alignment_;
  uint64_t size_;
  std::atomic<uint64_t>* const log_bytes_;
};

class Directory : public RocksdbDirectory {
 public:
  explicit Directory(std::string path) : path_(std::move(path)) {}
  IOStatus Fsync(const IOOptions&, IODebugContext*) override {
    return Guarded([&] { SyncDirectory(path_); });
  }
  IOStatus Close(const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }

 private:
  const std::string path_;
};

// InfoLog is RocksDB's information log, a text file. It gathers lines into blocks, because one
// write per line would distort the IO counts of the run.
class InfoLog : public rocksdb::Logger {
 public:
  explicit InfoLog(std::unique_ptr<File> file) : file_(std::move(file)), size_(file_->Size()) {}
  ~InfoLog() override { CloseImpl().PermitUncheckedError(); }

  using Logger::Logv;
  void Logv(const char* format, va_list arguments) override {
    char line[2048];
    struct timespec now;
    ::clock_gettime(CLOCK_REALTIME, &now);
    struct tm utc;
    ::gmtime_r(&now.tv_sec, &utc);
    size_t n = std::strftime(line, sizeof line, "%Y/%m/%d-%H:%M:%S", &utc);
    n += static_cast<size_t>(
        std::snprintf(line + n, sizeof line - n, ".%06ld ", static_cast<long>(now.tv_nsec / 1000)));
    const int text = std::vsnprintf(line + n, sizeof line - n - 1, format, arguments);
    if (text > 0) n = std::min(n + static_cast<size_t>(text), sizeof line - 2);
    if (line[n - 1] != '\n') line[n++] = '\n';
    LockGuard lock(mutex_);
    pending_.append(line, n);
    if (pending_.size() >= kBlock) WritePending();
  }
  void Flush() override {
    LockGuard lock(mutex_);
    WritePending();
  }
  // The size includes the lines that are not written yet.
  size_t GetLogFileSize() const override {
    LockGuard lock(mutex_);
    return size_ + pending_.size();
  }

 protected:
  rocksdb::Status CloseImpl() override {
    LockGuard lock(mutex_);
    WritePending();
    return rocksdb::Status::OK();
  }

 private:
  static constexpr size_t kBlock = 4096;

  void WritePending() REQUIRES(mutex_) {
    if (pending_.empty()) return;
    // The error is dropped: on a full device, a write of data must end the run, and not a write of
    // a message.
    const uint64_t at = size_;
    const std::string_view bytes = pending_;
    const rocksdb::IOStatus status = Guarded([&] { file_->Write(at, bytes.data(), bytes.size()); });
    if (status.ok()) size_ += bytes.size();
    status.PermitUncheckedError();
    pending_.clear();
  }

  const std::unique_ptr<File> file_;
  mutable Mutex mutex_;
  size_t size_ GUARDED_BY(mutex_);
  std::string pending_ GUARDED_BY(mutex_);
};

IoMode ReadMode(const rocksdb::FileOptions& options) {
  if (options.use_mmap_reads) return IoMode::kMmap;
  return options.use_direct_reads ? IoMode::kDirect : IoMode::kBuffered;
}

}  // namespace

FileKind RocksdbFileKind(const std::string& path) {
  const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
  if (name.ends_with(".sst") || name.ends_with(".blob")) return FileKind::kData;
  if (name.ends_with(".log")) return FileKind::kLog;
  return FileKind::kMeta;
}

RocksdbFileSystem::RocksdbFileSystem(Advice buffered, Advice mmap)
    : RocksdbFileSystemBase(rocksdb::FileSystem::Default()),
      buffered_advice_(buffered),
      mmap_advice_(mmap) {}

testbed::FileOptions RocksdbFileSystem::DeviceOptions(const std::string& path, IoMode mode) const {
  testbed::FileOptions options;
  options.kind = RocksdbFileKind(path);
  options.mode = mode;
  if (options.kind == FileKind::kData) {
    if (mode == IoMode::kBuffered) options.advice = buffered_advice_;
    if (mode == IoMode::kMmap) options.advice = mmap_advice_;
  }
  return options;
}

IOStatus RocksdbFileSystem::NewSequentialFile(const std::string& path,
                                              const rocksdb::FileOptions& options,
                                              std::unique_ptr<rocksdb::FSSequentialFile>* result,
                                              IODebugContext*) {
  return Guarded([&] {
    // A file that is read once front to back gains nothing from a mapping.
    const IoMode mode = options.use_direct_reads ? IoMode::kDirect : IoMode::kBuffered;
    testbed::FileOptions device = DeviceOptions(path, mode);
    device.read_only = true;
    result->reset();
    *result = std::make_unique<SequentialFile>(File::Open(path, device));
  });
}

IOStatus RocksdbFileSystem::NewRandomAccessFile(
    const std::string& path, const rocksdb::FileOptions& options,
    std::unique_ptr<rocksdb::FSRandomAccessFile>* result, IODebugContext*) {
  return Guarded([&] {
    testbed::FileOptions device = DeviceOptions(path, ReadMode(options));
    device.read_only = true;
    result->reset();
    *result = std::make_unique<RandomAccessFile>(File::Open(path, device));
  });
}

IOStatus RocksdbFileSystem::OpenWritable(const std::string& path,
                                         const rocksdb::FileOptions& options,
                                         testbed::FileOptions::Create create, bool append,
                                         std::unique_ptr<rocksdb::FSWritableFile>* result) {
  return Guarded([&] {
    const IoMode mode = options.use_direct_writes ? IoMode::kDirect : IoMode::kBuffered;
    testbed::FileOptions device = DeviceOptions(path, mode);
    device.create = create;
    device.advice = Advice::kNormal;  // the run's advice is for reads
    result->reset();
    std::unique_ptr<File> file = File::Open(path, device);
    const uint64_t size = append ? file->Size() : 0;
    *result = std::make_unique<WritableFile>(std::move(file), options, size, &log_bytes_);
  });
}

IOStatus RocksdbFileSystem::NewWritableFile(const std::string& path,
                                            const rocksdb::FileOptions& options,
                                            std::unique_ptr<rocksdb::FSWritableFile>* result,
                                            IODebugContext*) {
  return OpenWritable(path, options, testbed::FileOptions::kTruncate, false, result);
}

IOStatus RocksdbFileSystem::ReopenWritableFile(const std::string& path,
                                               const rocksdb::FileOptions& options,
                                               std::unique_ptr<rocksdb::FSWritableFile>* result,
                                               IODebugContext*) {
  return OpenWritable(path, options, testbed::FileOptions::kMayExist, true, result);
}

IOStatus RocksdbFileSystem::ReuseWritableFile(const std::string& path, const std::string& old_path,
                                              const rocksdb::FileOptions& options,
                                              std::unique_ptr<rocksdb::FSWritableFile>* result,
                                              IODebugContext* debug) {
  IOStatus status = RenameFile(old_path, path, IOOptions(), debug);
  if (!status.ok()) return status;
  // The file is overwritten from its start and not truncated, because reuse saves the allocation of
  // its blocks.
  return OpenWritable(path, options, testbed::FileOptions::kMustExist, false, result);
}

IOStatus RocksdbFileSystem::NewDirectory(const std::string& path, const IOOptions& options,
                                         std::unique_ptr<rocksdb::FSDirectory>* result,
                                         IODebugContext* debug) {
  // RocksDB's own directory object is made only to learn whether the directory exists.
  std::unique_ptr<rocksdb::FSDirectory> posix;
  IOStatus status = target()->NewDirectory(path, options, &posix, debug);
  if (status.ok()) *result = std::make_unique<Directory>(path);
  return status;
}

IOStatus RocksdbFileSystem::NewLogger(const std::string& path, const IOOptions&,
                                      std::shared_ptr<rocksdb::Logger>* result, IODebugContext*) {
  return Guarded([&] {
    testbed::FileOptions device = DeviceOptions(path, IoMode::kBuffered);
    device.create = testbed::FileOptions::kMayExist;
    *result = std::make_shared<InfoLog>(File::Open(path, device));
  });
}

IOStatus RocksdbFileSystem::DeleteFile(const std::string& path, const IOOptions& options,
                                       IODebugContext* debug) {
  NameLoss loss(path);
  IOStatus status = target()->DeleteFile(path, options, debug);
  if (status.ok()) loss.Done();
  return status;
}

IOStatus RocksdbFileSystem::RenameFile(const std::string& from, const std::string& to,
                                       const IOOptions& options, IODebugContext* debug) {
  NameLoss loss(to);
  IOStatus status = target()->RenameFile(from, to, options, debug);
  if (status.ok()) loss.Done();
  return status;
}

void RocksdbFileSystem::SupportedOps(int64_t& supported) {
  // This file system offers no asynchronous reads. A block read is charged to the operation that
  // runs on the reading thread, and an asynchronous read has no such thread.
  supported = kRocksdbPrefetch;
}

}  // namespace testbed
