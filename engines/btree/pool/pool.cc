#include "engines/btree/pool/pool.h"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "device/error.h"
#include "device/os/mutex.h"
#include "device/os/thread.h"

namespace testbed::btree {
namespace {

// Returns the bytes that a frame takes in addition to its page: its state, and its entries in the
// replacement and in the lists.
constexpr size_t TableBytesPerFrame() {
  return sizeof(Frame) + Replacement::BytesPerFrame() + 4 * sizeof(uint32_t);
}

// Returns the number of frames for which to reserve address space: as many as the machine's memory
// can hold, or `bytes` if that is more, so that Resize can choose any size.
uint32_t MostFrames(uint64_t bytes, uint32_t page_size) {
  const uint64_t machine = static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                           static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return static_cast<uint32_t>(
      std::min<uint64_t>(std::max(bytes, machine) / page_size, kMaxFrames));
}

}  // namespace

uint32_t Pool::FramesFor(uint64_t bytes, uint32_t page_size, uint64_t file_pages) {
  bytes -= std::min(bytes, file_pages * PageTable::kBytesPerPage);
  const uint64_t frames = bytes / (page_size + TableBytesPerFrame());
  return frames < kMinFrames ? 0 : static_cast<uint32_t>(std::min<uint64_t>(frames, kMaxFrames));
}

uint64_t Pool::BytesFor(uint32_t frames, uint32_t page_size, uint64_t file_pages) {
  return frames * (page_size + TableBytesPerFrame()) + file_pages * PageTable::kBytesPerPage;
}

Pool::Pool(PageFile* file, RedoLog* log, uint64_t bytes)
    : file_(file),
      log_(log),
      page_size_(file->page_size()),
      in_place_(file->mmap()),
      most_frames_(MostFrames(bytes, page_size_)),
      memory_(static_cast<size_t>(most_frames_) * page_size_),
      frames_(most_frames_),
      replacement_(FramesFor(bytes, page_size_), most_frames_, this),
      bytes_(bytes),
      flush_batch_(page_size_, WriteBatch::PagesFor(page_size_)) {
  SetLimit();
  // The memory of the first frames, which hold the upper levels of the trees, is made ready here,
  // before several threads can touch it at once.
  if (UniqueLock lock(mutex_); MemoryIsShort()) MakeMemoryReady();
  const uint32_t most = WriteBatch::PagesFor(page_size_);
  auto batch = std::make_unique<WriteBatch>(page_size_, most);
  std::vector<uint32_t> chosen;
  chosen.reserve(most);
  cleaner_ = StartThread("the cleaner of the btree's pages",
                         [this, batch = std::move(batch), chosen = std::move(chosen)]() mutable {
                           CleanerLoop(batch.get(), &chosen);
                         });
}

Pool::~Pool() {
  {
    LockGuard lock(mutex_);
    stop_ = true;
  }
  work_for_cleaner_.notify_all();
  cleaner_.join();
}

uint8_t Pool::Visits(uint32_t frame) const {
  const PageId id = frames_[frame].page.load(std::memory_order_relaxed);
  if (id == kNoPage || id == kAbandonedPage) return 0;
  const PageWord word = table_.Load(id);
  return word.in_pool() && word.frame() == frame ? word.visits() : 0;
}

void Pool::SetVisits(uint32_t frame, uint8_t visits) {
  const PageId id = frames_[frame].page.load(std::memory_order_relaxed);
  if (id == kNoPage || id == kAbandonedPage) return;
  // The visits are set also while a thread holds the page. Otherwise pages in use could keep the
  // search for a victim going for ever.
  for (;;) {
    const PageWord word = table_.Load(id);
    if (!word.in_pool() || word.frame() != frame) return;
    if (table_.Replace(id, word, word.WithVisits(visits))) return;
  }
}

PoolCounters Pool::Counters() const {
  PoolCounters c;
  {
    LockGuard lock(clients_mutex_);
    c.requests = past_requests_;
    c.misses = past_misses_;
    c.fetched = past_fetched_;
    for (const PoolClient* client : clients_) {
      c.requests += client->requests.Get();
      c.misses += client->misses.Get();
      c.fetched += client->fetched.Get();
    }
  }
  c.written = file_->pages_written();
  c.images = images_.load(std::memory_order_relaxed);
  c.image_bytes = image_bytes_.load(std::memory_order_relaxed);
  LockGuard lock(mutex_);
  c.evictions = evictions_;
  c.cleaned = cleaned_pages_;
  c.frame_waits = frame_waits_;
  return c;
}

uint64_t Pool::MemoryBytes() const {
  LockGuard lock(mutex_);
  const uint64_t pages = highest_page_ + 1ull;
  const uint64_t ahead = std::max<uint32_t>(ready_, made_) - made_;
  return BytesFor(ActiveFrames(), page_size_, pages) + ahead * page_size_ +
         file_->TableBytes(pages);
}

uint64_t Pool::bytes() const {
  LockGuard lock(mutex_);
  return bytes_;
}

uint32_t Pool::frames() const {
  LockGuard lock(mutex_);
  return limit_;
}

}  // namespace testbed::btree
