#include "workloads/trace/trace_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <xxhash.h>
#include <zstd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "device/error.h"

namespace testbed {
namespace {

// So many blocks may wait for the thread; they are 32 MB.
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

}  // namespace

TraceWriter::TraceWriter(const std::string& path) : path_(path), unfinished_(path + ".new") {
  (void)RecordOp();
  if (!path_.empty()) {
    file_ = File::Open(unfinished_, {.kind = FileKind::kTemp, .create = FileOptions::kTruncate});
    std::string head(kTraceMagic, 8);
    AppendFixed(&head, kTraceVersion);
    AppendFixed(&head, uint32_t{0});
    Put(head);
  }
  thread_ = std::thread([this] { Work(); });
}

TraceWriter::~TraceWriter() {
  Stop();
  if (file_ != nullptr) std::remove(unfinished_.c_str());
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
              fmt::format("the trace {} could not be written: {}", path_, error.what()));
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
  ::sync_file_range(file_->fd(), static_cast<off64_t>(written_back_), kWriteBackBytes,
                    SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
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
    file_.reset();
    std::filesystem::rename(unfinished_, path_);
  } catch (const std::exception& error) {
    file_.reset();
    std::remove(unfinished_.c_str());
    Fail(error);
  }
}

}  // namespace testbed
