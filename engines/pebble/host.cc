#include "engines/pebble/host.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include "device/error.h"
#include "device/file/aligned_buffer.h"
#include "device/file/directory.h"
#include "device/file/durable.h"

namespace testbed::pebble {
namespace {

// Runs `body` in a function that the library calls. No exception may leave that function. Returns
// 0, or the errno of the Error that `body` threw.
template <typename Body>
int Guarded(Body&& body) {
  try {
    body();
    return 0;
  } catch (const Error& error) {
    if (error.code() != 0) return error.code();
    return error.kind() == Error::kUsage ? EINVAL : EIO;
  } catch (const std::exception&) {
    return ENOMEM;
  }
}

}  // namespace

FileKind KindOf(const std::string& path) {
  const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
  if (name.ends_with(".sst") || name.ends_with(".blob")) return FileKind::kData;
  return name.ends_with(".log") ? FileKind::kLog : FileKind::kMeta;
}

// A BackgroundCharge charges what the thread does while it exists to `background`, unless the
// thread is a client's, which has opened an IoScope. It counts no operation.
class BackgroundCharge {
 public:
  explicit BackgroundCharge(OpKind background) : thread_(Ledger::ThisThread()) {
    if (thread_.op().id != kUnscoped.id) return;
    thread_.set_op(background);
    charges_ = true;
  }
  ~BackgroundCharge() {
    if (charges_) thread_.set_op(kUnscoped);
  }
  BackgroundCharge(const BackgroundCharge&) = delete;
  BackgroundCharge& operator=(const BackgroundCharge&) = delete;

 private:
  ThreadLedger& thread_;
  bool charges_ = false;
};

constexpr size_t kGather = 1 << 20;       // bytes of a table that are gathered into one write
constexpr size_t kReadAhead = 256 << 10;  // Pebble's own largest read-ahead (fileMaxReadaheadSize)

// A HostFile is a file that the library has open.
struct HostFile {
  Host* host;
  std::unique_ptr<File> file;
  OpKind background;  // what IO on a thread of Go is charged to
  // This buffer holds the bytes from `buffered_at` on. In a table that is written with direct IO,
  // these are the bytes that were not written yet; in a file that is read ahead, those that were
  // read ahead. It is null for other files.
  std::unique_ptr<AlignedBuffer> buffer;
  uint64_t buffered_at = 0;
  size_t buffered = 0;

  // Writes the bytes that were gathered.
  void Write() {
    if (buffered == 0) return;
    file->Write(buffered_at, buffer->data(), buffered);
    buffered_at += buffered;
    buffered = 0;
  }
  void Gather(uint64_t offset, const char* data, size_t n) {
    if (offset != buffered_at + buffered) {
      Write();
      buffered_at = offset;
    }
    while (n > 0) {
      const size_t part = std::min(n, kGather - buffered);
      std::memcpy(buffer->data() + buffered, data, part);
      buffered += part;
      data += part;
      n -= part;
      if (buffered == kGather) Write();
    }
  }
  size_t ReadAhead(uint64_t offset, char* to, size_t n) {
    size_t done = 0;
    while (done < n) {
      const uint64_t at = offset + done;
      if (at < buffered_at || at >= buffered_at + buffered) {
        buffered_at = at / kAlignment * kAlignment;
        buffered = 0;  // stays 0 if the read fails
        buffered = file->ReadSome(buffered_at, buffer->data(), kReadAhead);
        if (at >= buffered_at + buffered) break;  // the file ends before `at`
      }
      const size_t part = std::min<size_t>(n - done, buffered_at + buffered - at);
      std::memcpy(to + done, buffer->data() + (at - buffered_at), part);
      done += part;
    }
    return done;
  }

 private:
  static constexpr uint64_t kAlignment = 4096;
};

struct HostCalls {
  static OpKind BackgroundOf(FileKind kind, PebblePurpose purpose) {
    if (kind == FileKind::kLog) return kLogWrite;
    return purpose == PEBBLE_FLUSH ? kFlush : kCompaction;
  }

  // Runs `body` with the file. Its IO is charged to the thread's operation.
  template <typename Body>
  static int With(void* opaque, Body&& body) {
    HostFile& file = *static_cast<HostFile*>(opaque);
    return Guarded([&] {
      BackgroundCharge charge(file.background);
      body(file);
    });
  }

  static int Open(void* context, PebbleBytes name, PebbleOpen how, PebblePurpose purpose,
                  void** opened) {
    Host* const host = static_cast<Host*>(context);
    return Guarded([&] {
      const std::string path(name.data, name.size);
      FileOptions options;
      options.kind = KindOf(path);
      if (options.kind == FileKind::kData) {
        options.mode = host->io_;
        options.advice = host->advice_;
      }
      if (how == PEBBLE_READ || how == PEBBLE_READ_AHEAD) {
        options.read_only = true;
        if (how == PEBBLE_READ_AHEAD && options.mode == IoMode::kBuffered) {
          options.advice = Advice::kSequential;  // Pebble asks the system for that
        }
      } else {
        // The run's advice is for reads, so it is not given here. A mapping is not written, so mmap
        // mode writes buffered.
        options.advice = Advice::kNormal;
        if (options.mode == IoMode::kMmap) options.mode = IoMode::kBuffered;
        options.create = how == PEBBLE_CREATE ? FileOptions::kMustCreate : FileOptions::kMustExist;
      }
      auto file = std::make_unique<HostFile>();
      file->host = host;
      file->background = BackgroundOf(options.kind, purpose);
      BackgroundCharge charge(file->background);
      if (how == PEBBLE_CREATE) RemoveFile(path);  // so that the file is a new one
      file->file = File::Open(path, options);
      if (options.mode == IoMode::kDirect && how != PEBBLE_READ) {
        file->buffer = std::make_unique<AlignedBuffer>(options.read_only ? kReadAhead : kGather);
      }
      *opened = file.release();
    });
  }

  // Closing writes what was gathered, if the file was not synced. An error is dropped then, because
  // nobody relies on the bytes.
  static void Close(void* opaque) {
    std::unique_ptr<HostFile> file(static_cast<HostFile*>(opaque));
    if (!file->file->options().read_only) With(file.get(), [](HostFile& f) { f.Write(); });
  }

  static int Size(void* opaque, uint64_t* bytes) {
    return With(opaque, [&](HostFile& f) { *bytes = f.file->Size(); });
  }

  static int Read(void* opaque, uint64_t offset, void* buffer, size_t n, size_t* done) {
    return With(opaque, [&](HostFile& f) {
      char* const to = static_cast<char*>(buffer);
      *done = f.buffer != nullptr ? f.ReadAhead(offset, to, n) : f.file->ReadSome(offset, to, n);
    });
  }

  static int Write(void* opaque, uint64_t offset, const void* data, size_t n) {
    return With(opaque, [&](HostFile& f) {
      if (f.buffer != nullptr) {
        f.Gather(offset, static_cast<const char*>(data), n);
        return;
      }
      f.file->Write(offset, data, n);
      if (f.file->options().kind != FileKind::kLog) return;
      f.host->log_bytes_.fetch_add(n, std::memory_order_relaxed);
    });
  }

  static int Sync(void* opaque, int metadata) {
    return With(opaque, [&](HostFile& f) {
      f.Write();
      f.file->Sync(metadata != 0);
    });
  }

  // The call only starts write-back, so it is not counted as a sync.
  static int StartWriteBack(void* opaque, uint64_t n) {
    return With(opaque, [&](HostFile& f) {
      if (f.file->options().mode == IoMode::kDirect) return;
      testbed::StartWriteBack(*f.file, 0, n, /*after_earlier=*/true);
    });
  }

  static int Allocate(void* opaque, uint64_t offset, uint64_t n) {
    return With(opaque, [&](HostFile& f) { f.file->Allocate(offset, n, /*keep_size=*/true); });
  }

  static int Prefetch(void* opaque, uint64_t offset, uint64_t n) {
    return With(opaque, [&](HostFile& f) { f.file->Prefetch(offset, n); });
  }

  static int SyncDirectory(void*, PebbleBytes path) {
    return Guarded([&] { testbed::SyncDirectory(std::string(path.data, path.size)); });
  }

  [[noreturn]] static void Fatal(void*, PebbleBytes sentence) {
    fmt::print(stderr, "testbed: pebble cannot go on: {}\n",
               std::string_view(sentence.data, sentence.size));
    std::abort();
  }
};

Host::Host(IoMode io, Advice advice) : io_(io), advice_(advice) {
  functions_ = {
      .context = this,
      .open_file = HostCalls::Open,
      .close_file = HostCalls::Close,
      .size = HostCalls::Size,
      .read = HostCalls::Read,
      .write = HostCalls::Write,
      .sync = HostCalls::Sync,
      .start_write_back = HostCalls::StartWriteBack,
      .allocate = HostCalls::Allocate,
      .prefetch = HostCalls::Prefetch,
      .sync_directory = HostCalls::SyncDirectory,
      .fatal = HostCalls::Fatal,
  };
}

}  // namespace testbed::pebble
