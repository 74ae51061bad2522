#include "engines/btree/store/store.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <new>

#include "device/os/mutex.h"

namespace testbed::btree {

void Store::Fail(const std::exception& why) noexcept {
  LockGuard lock(failure_mutex_);
  if (failed()) return;
  service_.store(Service::kFailed);
  try {
    failure_ = SentenceOf(why);
  } catch (const std::bad_alloc&) {
    failure_ = "no memory";  // so short a text needs none
  }
}

void Store::NoteFileError(const Error& error, bool lasts) {
  if (lasts) return Fail(error);
  LockGuard lock(failure_mutex_);
  if (failed()) return;
  failure_ = error.what();
  service_.store(Service::kDiskFull);
}

void Store::CheckWritable() {
  if (service_.load() == Service::kUsable) return;
  if (!failed()) {
    try {
      file_->Retry();
      pool_->RetryCleaning();
      LockGuard lock(failure_mutex_);
      if (!failed()) {
        if (!owes_checkpoint()) service_.store(Service::kUsable);
        return;
      }
    } catch (const Error&) {
      // file_ and pool_ have reported the error to NoteFileError, which keeps it.
    }
  }
  ThrowUnusable();
}

void Store::ThrowUnlessUsable() {
  CheckWritable();
  if (!owes_checkpoint()) return;
  try {
    IoScope scope(kCheckpoint);
    Checkpoint();
  } catch (const Error& e) {
    if (!failed() && !e.disk_is_full()) throw;
    ThrowUnusable();
  }
  CheckWritable();
  if (owes_checkpoint()) ThrowUnusable();
}

// Refuses commits until there is a checkpoint. Recovery has used the log's reserve, and its
// checkpoint, which gives the reserve back, found the disk full. Commits would use up the space
// that the next recovery needs.
void Store::OweCheckpoint(const Error& error) {
  LockGuard lock(failure_mutex_);
  if (failed()) return;
  if (service_.exchange(Service::kDiskFull) == Service::kUsable) failure_ = error.what();
}

void Store::ThrowUnusable() {
  LockGuard lock(failure_mutex_);
  if (!failed()) {
    throw Error(Error::kIo,
                "the btree database in " + dir_ + " takes no commits while its disk is full (" +
                    failure_ + "): free space, and it goes on",
                ENOSPC);
  }
  throw Error(Error::kIo, "the btree database in " + dir_ +
                              " takes no more commits since an error (" + failure_ +
                              "): open it again to recover");
}

// Wakes the checkpointer when the log has grown by checkpoint_log_bytes. When it has grown by twice
// as much, because commits are faster than checkpoints, the calling commit waits for a checkpoint.
void Store::NoteLogGrowth(Lsn end) {
  const auto grown = [&] {
    // Page images are not counted: a checkpoint causes them, so they must not cause the next one.
    const Lsn images = pool_->image_bytes() - images_at_redo_.load(std::memory_order_relaxed);
    const Lsn redo = last_redo_.load(std::memory_order_relaxed) + images;
    return end > redo ? end - redo : 0;
  };
  if (grown() < options_.checkpoint_log_bytes) return;
  UniqueLock lock(wake_mutex_);
  if (!wanted_) {
    wanted_ = true;
    wake_.notify_one();
  }
  if (grown() < 2 * options_.checkpoint_log_bytes) return;
  const uint64_t round = checkpoint_rounds_;
  checkpointed_.wait(wake_mutex_,
                     [&]() REQUIRES(wake_mutex_) { return checkpoint_rounds_ != round || stop_; });
}

void Store::CheckpointLoop() {
  UniqueLock lock(wake_mutex_);
  for (;;) {
    wake_.wait(wake_mutex_, [this]() REQUIRES(wake_mutex_) { return stop_ || wanted_; });
    if (stop_) return;
    lock.unlock();
    try {
      IoScope scope(kCheckpoint);
      Checkpoint();
    } catch (const Error&) {
      // The error is dropped: this thread tries again when the log has grown further, and a caller
      // of Checkpoint gets the error itself.
    } catch (const std::exception& e) {
      // There is no memory, and the step at which the checkpoint failed is not known.
      Fail(e);
    }
    lock.lock();
    wanted_ = false;
    ++checkpoint_rounds_;
    checkpointed_.notify_all();
  }
}

// Returns a position in the log such that, once all pages dirtied by earlier records are written,
// the log from that position on has everything that the pages in the file lack.
Lsn Store::RedoPoint() {
  Lsn redo = redo_.EndLsn();
  LockGuard lock(clients_mutex_);
  for (const CommitSlot* slot : slots_) {
    redo = std::min(redo, slot->active.load(std::memory_order_seq_cst));
  }
  return redo;
}

void Store::Flush() { pool_->FlushBefore(redo_.EndLsn()); }

void Store::Checkpoint() {
  LockGuard one(checkpoint_mutex_);
  TakeCheckpoint();
}

CheckpointState Store::CheckpointKeepingLog() {
  LockGuard one(checkpoint_mutex_);
  TakeCheckpoint();
  KeepLogFrom(state_.redo - 1);
  return state_;
}

void Store::TakeCheckpoint() {
  CheckWritable();
  // A client reads the end of the log for its slot a moment before it publishes it. A checkpoint in
  // between may have taken a later redo point, which is right for that commit too; the log before
  // it may be gone.
  const Lsn redo = std::max(RedoPoint(), last_redo_.load());
  const uint64_t images = pool_->image_bytes();
  if (logs_images_) pool_->SetImageFloor(redo);
  pool_->FlushBefore(redo);
  CheckpointState state;
  state.database = state_.database;
  state.sequence = state_.sequence + 1;
  state.redo = redo;
  state.log_id = state_.log_id;
  state.space = space_->Snapshot();
  // The space snapshot may include changes of records that are not durable yet, so they must become
  // durable before the checkpoint is.
  try {
    redo_.EnsureDurable(redo_.EndLsn());
    file_->Sync();
  } catch (const std::exception& e) {
    Fail(e);
    throw;
  }
  // If the store has failed meanwhile, its state in memory may be wrong and must not become a
  // checkpoint.
  CheckWritable();
  SetWitnesses(file_->TakeWitnesses(), state_, &state);
  try {
    WriteCheckpoint(dir_, options_.page_size, state);
  } catch (const Error& e) {
    if (!e.disk_is_full()) Fail(e);
    throw;
  } catch (const std::exception& e) {
    Fail(e);
    throw;
  }
  state_ = std::move(state);
  last_redo_.store(redo);
  images_at_redo_.store(images);
  checkpoints_.fetch_add(1);
  if (redo_.log() != nullptr) redo_.log()->TruncateBefore(std::min(redo, kept_log_.load()));
  space_->GiveBack();  // gives back what large commits were promised and have not used
}

uint64_t Store::LogBytesOnDisk() const {
  return redo_.log() == nullptr ? 0 : redo_.log()->SizeOnDisk();
}

void Store::ResizeCache(uint64_t bytes) {
  const uint64_t compressed = CompressedCacheBytes(bytes);
  CompressedCache* cache = file_->compressed_cache();
  const uint64_t before = cache == nullptr ? 0 : cache->Count().budget;
  // The part that shrinks is resized first, so that both parts together never exceed the larger
  // size.
  if (cache != nullptr && compressed < before) cache->Resize(compressed);
  try {
    pool_->Resize(bytes - compressed);
  } catch (...) {
    if (cache != nullptr && compressed < before) cache->Resize(before);
    throw;
  }
  if (cache != nullptr) cache->Resize(compressed);
  if (change_buffer_ == nullptr) return;
  // The limit of the change buffer keeps its share of the cache.
  const double share =
      static_cast<double>(options_.change_buffer_bytes) / static_cast<double>(options_.cache_bytes);
  change_buffer_->SetMostBytes(
      static_cast<uint64_t>(std::llround(share * static_cast<double>(bytes))));
  StoreClient(this).EmptyFullBuffer();
}

uint64_t Store::DataBytesOnDisk() const {
  uint64_t size = file_->data_bytes() + file_->doublewrite_size();
  for (int which : {0, 1}) {
    std::error_code none;
    const uint64_t bytes = std::filesystem::file_size(CheckpointPath(dir_, which), none);
    if (!none) size += bytes;
  }
  return size;
}

}  // namespace testbed::btree
