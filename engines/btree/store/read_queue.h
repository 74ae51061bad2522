// A BtreeReadQueue executes point reads, many of which can wait for pages at the same time.
//
// A look-up walks down the tree while pages are in the pool. When a page is missing, the thread
// latches it, gives it a frame and starts its read on the ring; it continues the look-up after the
// read has ended. While reads are in flight, the thread waits for nothing else, because other
// threads may wait for the pages that these reads have latched. So a look-up that finds a page
// latched, a row that a commit is writing, or no free frame is set aside. The thread tries it again
// after the next read, and after some answers of other look-ups, as these may need no read for as
// long as they go on. A look-up that needs overflow pages or the change buffer waits until no read
// is in flight.
//
// Of look-ups that are started together (StartAll), those whose pages are all in the pool go on by
// turns before the others, while the processor fetches what they need next (CachedLookup).
//
// Look-ups are served in turn. Those that find their pages in the pool do not keep others waiting:
// the thread looks after a few answers whether a read has ended, and tries those that were set
// aside. A look-up that needs overflow pages or the change buffer runs, after all reads in flight
// have ended, when every other slot may have been answered once.
//
// The interface is ReadQueue (engine.h). Not thread-safe.
#ifndef TESTBED_ENGINES_BTREE_STORE_READ_QUEUE_H_
#define TESTBED_ENGINES_BTREE_STORE_READ_QUEUE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/account/ledger.h"
#include "device/file/read_ring.h"
#include "engines/btree/store/store.h"
#include "engines/btree/tree/cursor.h"
#include "engines/engine.h"

namespace testbed::btree {

class BtreeReadQueue : public ReadQueue {
 public:
  // `session` has the uncommitted writes of the queue's session. The pointers stay owned by the
  // caller and must outlive the queue. `own_thread`: all calls come from the thread that made the
  // queue, which makes reads cheaper (ReadRing). Throws Error (kIo) when there is no io_uring.
  BtreeReadQueue(Store* store, StoreClient* client, const SessionState* session, uint32_t depth,
                 bool own_thread = true);
  ~BtreeReadQueue() override;

  void Start(uint32_t slot, TableId table, std::string_view key, IoTask* task) override;
  uint32_t Finish(bool* found, std::string_view* value) override;
  void EndReads() override;
  void SetBeforeWaiting(std::function<void()> before_waiting) override {
    before_waiting_ = std::move(before_waiting);
  }
  // Starts the look-up of keys[i] in slot i, for each of the keys, without a task. No look-up may
  // be under way.
  void StartAll(TableId table, std::span<const std::string_view> keys);

 private:
  struct Slot {
    const Tree* tree = nullptr;
    IoTask* task = nullptr;
    Lookup lookup;
    std::string value;
    bool found = false;
    bool reads = false;  // a read of lookup.missing is in flight
  };
  void Run(uint32_t slot);
  void LookUpByTurns(const Tree* tree);  // continues turns_ until each look-up ends or gives up
  bool LeafHasNewest(const Tree* tree, std::string_view key) const;
  void TakeRead();                               // waits for a read and continues its look-up
  void EndRead(const ReadRing::Ended& ended);    // continues its look-up, tries aside_
  void RunAside();                               // tries the look-ups that were set aside
  void RunAlone(std::deque<uint32_t>* waiting);  // runs its first; no read is in flight
  void KeepTurns();

  Store* const store_;
  StoreClient* const client_;
  const SessionState* const session_;
  std::function<void()> before_waiting_;  // may be empty
  ReadRing ring_;
  std::vector<Slot> slots_;
  std::vector<CachedLookup> turns_;
  std::deque<uint32_t> done_;  // slots whose look-up has ended
  // aside_ has the slots whose look-up was set aside, long_ those whose look-up needs overflow
  // pages or the change buffer, and again_ those that RunAside is trying.
  std::deque<uint32_t> aside_, long_, again_;
  uint32_t answers_ = 0;            // answers since the thread last looked for reads that ended
  uint32_t answers_since_try_ = 0;  // answers since the look-ups in aside_ were last tried
  // This is the number of answers since the first look-up in long_ began to wait, or since
  // KeepTurns last ran one of them.
  uint32_t answers_before_long_ = 0;
};

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_STORE_READ_QUEUE_H_
