#include "device/file/durable.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

#include "device/error.h"
#include "device/file/page_cache.h"
#include "device/os/interrupted.h"

namespace testbed {
namespace {

// Drops all pages of a synced file and returns the bytes that stay cached. The kernel passes over
// pages that another processor is about to put on its lists, so this tries a few times.
uint64_t DropAll(File* file) {
  constexpr int kTries = 6;
  uint64_t left = 0;
  for (int i = 0; i < kTries; ++i) {
    if (i > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1 << i));
    file->Forget(0, 0);
    left = Residency(file->fd(), file->path()).cached;
    if (left == 0) break;
  }
  return left;
}

// Does nothing where the call is not available: the next sync writes the pages.
void SyncRange(const File& file, uint64_t offset, uint64_t n, unsigned flags) {
  const int done =
      ::sync_file_range(file.fd(), static_cast<off_t>(offset), static_cast<off_t>(n), flags);
  const int code = done == 0 ? 0 : errno;
  if (code != 0 && !LacksRangeSync(code)) throw Error::Io("sync_file_range", file.path(), code);
}

}  // namespace

void MakeDurable(const std::string& path, FileKind kind, IoMode mode) {
  FileOptions options;
  options.kind = kind;
  options.mode = mode;
  options.read_only = true;
  const std::unique_ptr<File> file = File::Open(path, options);
  file->Sync();
  if (IsInMemory(file->fd())) return;
  if (const uint64_t left = DropAll(file.get()); left > 0) {
    throw Error(Error::kRun, std::to_string(left) + " bytes of file " + path +
                                 " stay in the page cache, where they hide what the device holds: "
                                 "end the process that maps, locks or reads the file");
  }
}

std::unique_ptr<File> OpenPastPageCache(const std::string& path, FileKind kind) {
  FileOptions options;
  options.kind = kind;
  options.mode = IoMode::kDirect;
  options.read_only = true;
  try {
    return File::Open(path, options);
  } catch (const Error& error) {
    if (error.kind() != Error::kUsage) throw;
  }
  MakeDurable(path, kind);
  options.mode = IoMode::kBuffered;
  return File::Open(path, options);
}

uint64_t WriteAgain(File* file, uint64_t begin, uint64_t end) {
  constexpr uint64_t kPiece = 1 << 20;
  end = std::min(end, file->Size());
  if (begin >= end) return 0;
  const AlignedBuffer piece(std::min(kPiece, end - begin));
  for (uint64_t at = begin; at < end; at += piece.size()) {
    const size_t n = std::min<uint64_t>(piece.size(), end - at);
    file->Read(at, const_cast<char*>(piece.data()), n);
    file->Write(at, piece.data(), n);
  }
  file->Sync();
  return end - begin;
}

void WriteBack(const File& file, uint64_t offset, uint64_t n) {
  constexpr unsigned kAndWait =
      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  const CallMark mark(file.options().kind);
  if (IsOnOverlay(file.fd())) {
    if (Uninterrupted([&] { return ::fdatasync(file.fd()); }) != 0) {
      throw Error::Io("fdatasync", file.path(), errno);
    }
    return;
  }
  SyncRange(file, offset, n, kAndWait);
}

void StartWriteBack(const File& file, uint64_t offset, uint64_t n, bool after_earlier) {
  SyncRange(file, offset, n,
            SYNC_FILE_RANGE_WRITE | (after_earlier ? SYNC_FILE_RANGE_WAIT_BEFORE : 0u));
}

}  // namespace testbed
