// This file has the group commit and the data flush of a Store.
#include <algorithm>
#include <utility>

#include "device/account/ledger.h"
#include "device/os/mutex.h"
#include "device/os/thread.h"
#include "engines/mmapv1/store.h"

namespace testbed::mmapv1 {
namespace {

// An interval between group commits has this many parts. At the end of each part, a waiting writer
// may end the interval.
constexpr int kSlices = 3;
// A data flush starts early when the sections of this many journal files wait for it.
constexpr uint64_t kMostUnflushedFiles = 8;

}  // namespace

void Store::StartThreads() {
  if (journal_ != nullptr) {
    commit_thread_ = StartThread("the group commits of mmapv1", [this] { CommitLoop(); });
  }
  try {
    flush_thread_ = StartThread("the data flush of mmapv1", [this] { FlushLoop(); });
  } catch (const Error&) {
    StopThreads();
    throw;
  }
}

void Store::StopThreads() {
  {
    LockGuard lock(mutex_);
    stop_ = true;
  }
  wake_commit_.notify_all();
  wake_flush_.notify_all();
  if (commit_thread_.joinable()) commit_thread_.join();
  if (flush_thread_.joinable()) flush_thread_.join();
}

void Store::NoteFailure(const Error& error) {
  LockGuard lock(mutex_);
  if (!failure_) failure_ = error;
  failed_.store(true);
  committed_.notify_all();
}

void Store::NoteFailureOf(const std::exception& error) {
  NoteFailure(Error::Of(error));  // if memory is short, the bytes to be written are lost, too
}

void Store::ThrowIfFailed() const {
  if (!failed_.load(std::memory_order_relaxed)) return;
  LockGuard lock(mutex_);
  throw Error(*failure_);
}

// Returns whether writers may go on. Writers wait for a group commit when too many bytes wait for
// the journal, or lie in private copies.
bool Store::HasRoom() const {
  const uint64_t limit = settings_.uncommitted_bytes;
  return !settings_.journaled() ||
         (files_.pending_bytes() < limit && files_.private_bytes() < 2 * limit);
}

// Returns whether the group commit is late. Writers wait then, so that lazy commits do not lose
// more than they promise.
bool Store::CommitIsLate() const {
  if (settings_.lazy_interval_ms == 0) return false;
  const auto age = Clock::now() - journaled_until_.load(std::memory_order_relaxed);
  return age > std::chrono::milliseconds(settings_.lazy_interval_ms);
}

void Store::WaitForRoom() {
  const uint64_t epoch = epoch_.load();
  UniqueLock lock(mutex_);
  urgent_ = true;
  wake_commit_.notify_all();
  committed_.wait(mutex_, [&]() REQUIRES(mutex_) { return finished_epoch_ >= epoch || failure_; });
}

void Store::WaitDurable(uint64_t epoch) {
  UniqueLock lock(mutex_);
  ++waiters_;
  committed_.wait(mutex_, [&]() REQUIRES(mutex_) { return durable_epoch_ >= epoch || failure_; });
  --waiters_;
  if (durable_epoch_ < epoch) throw Error(*failure_);
}

// Returns the time after which a waiting writer may end the interval: a third of the interval, and
// with sync commits a millisecond more, as the original waits. With lazy commits it is a third of
// the time that is left until their sync must begin.
Store::Clock::duration Store::CommitSlice() const {
  if (settings_.durability == Durability::kLazy) {
    return std::max(Clock::duration(0), pace_.Next() - Clock::now()) / kSlices;
  }
  const std::chrono::milliseconds interval(settings_.commit_interval_ms);
  const bool sync = settings_.durability == Durability::kSync;
  return interval / kSlices + std::chrono::milliseconds(sync ? 1 : 0);
}

void Store::WaitForNextCommit() {
  const Clock::duration slice = CommitSlice();
  for (int i = 0; i < kSlices && !stop_ && !urgent_; ++i) {
    wake_commit_.wait_for(mutex_, slice, [this]() REQUIRES(mutex_) { return stop_ || urgent_; });
    if (waiters_ > 0 || files_.pending_bytes() > settings_.uncommitted_bytes / 10) break;
  }
  urgent_ = false;
}

void Store::CommitLoop() {
  UniqueLock lock(mutex_);
  while (!stop_) {
    WaitForNextCommit();
    if (stop_ || failure_) break;
    lock.unlock();
    try {
      IoScope scope(kLogWrite);
      pace_.Turn([this] { return GroupCommit(); });
    } catch (const std::exception& error) {
      NoteFailureOf(error);  // the failure ends the loop, and each client is told of it
    }
    lock.lock();
  }
}

// Runs `action`, and notes its failure before the mutex lets the next thread in. A failed sync has
// lost what it was to write, and the next sync may succeed. Without the note, the next thread could
// call lost bytes durable.
template <typename Action>
void Store::OrFail(Mutex* mutex, const Action& action) {
  LockGuard one(*mutex);
  ThrowIfFailed();
  try {
    action();
  } catch (const std::exception& error) {
    NoteFailureOf(error);
    throw;
  }
}

// Returns whether the journal got a section.
bool Store::GroupCommit() {
  bool synced = false;
  OrFail(&commit_mutex_, [&] { synced = CommitGroup(); });
  return synced;
}

bool Store::CommitGroup() {
  body_.clear();
  uint64_t epoch = 0;
  Clock::time_point begin;
  {
    CommitTurn turn(lock_);
    ReadLock lock(lock_);
    begin = Clock::now();
    files_.Prepare(&body_);
    // The operations may have changed pages that they had read after a failed write-back.
    files_.CheckWriteBack();
    epoch = epoch_.fetch_add(1);
  }
  uint64_t seq = 0;
  if (!body_.empty()) seq = journal_->Append(body_, [this] { FlushDataFiles(); });
  journaled_until_.store(begin);
  {
    LockGuard lock(mutex_);
    durable_epoch_ = epoch;
    if (journal_->unflushed_bytes() > kMostUnflushedFiles * settings_.journal_file_bytes) {
      flush_now_ = true;
      wake_flush_.notify_all();
    }
  }
  committed_.notify_all();
  if (seq != 0) {
    files_.WriteToDataFiles(body_);
    written_seq_.store(seq);
    if (body_.capacity() > settings_.kept_buffer()) std::string().swap(body_);
  }
  Remap();
  {
    LockGuard lock(mutex_);
    finished_epoch_ = epoch;
  }
  committed_.notify_all();
  return seq != 0;
}

void Store::Remap() {
  const uint64_t copies = files_.private_bytes();
  if (copies == 0) return;
  const auto now = Clock::now();
  const std::chrono::duration<double, std::milli> passed = now - last_remap_;
  const double by_time = passed.count() / settings_.remap_period_ms;
  const double by_copies =
      static_cast<double>(copies) / static_cast<double>(settings_.uncommitted_bytes);
  last_remap_ = now;
  CommitTurn turn(lock_);
  CommitWriteLock lock(lock_);
  files_.Remap(std::max(by_time, by_copies));
}

void Store::FlushLoop() {
  UniqueLock lock(mutex_);
  while (!stop_) {
    const auto due = [this]() REQUIRES(mutex_) { return stop_ || flush_now_; };
    if (settings_.sync_delay_ms == 0) {
      wake_flush_.wait(mutex_, due);
    } else {
      wake_flush_.wait_for(mutex_, std::chrono::milliseconds(settings_.sync_delay_ms), due);
    }
    flush_now_ = false;
    if (stop_ || failure_) break;
    lock.unlock();
    try {
      IoScope scope(kCheckpoint);
      FlushDataFiles();
    } catch (const std::exception& error) {
      NoteFailureOf(error);
    }
    lock.lock();
  }
}

void Store::FlushDataFiles() {
  OrFail(&flush_mutex_, [this] {
    // The number is read before the flush, because sections that reach the shared views during the
    // flush belong to the next flush. A commit may fail during the sync, so the code looks for a
    // failure once more before it releases the journal.
    const uint64_t seq = written_seq_.load();
    const uint64_t written = journal_ != nullptr ? journal_->written_bytes() : 0;
    files_.Sync();
    ThrowIfFailed();
    if (seq != 0) journal_->Flushed(seq, written);
    flushes_.fetch_add(1, std::memory_order_relaxed);
  });
}

void Store::Checkpoint() {
  if (journal_ != nullptr) GroupCommit();
  FlushDataFiles();
}

}  // namespace testbed::mmapv1
