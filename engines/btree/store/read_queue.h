// Point reads in flight: look-ups that wait for pages while their thread goes on with others.
//
// A look-up walks the tree as far as pages are in the pool. A page that is not is latched, given a
// frame, and its read started on the ring; the look-up goes on when it has ended. While reads are
// in flight the thread waits for nothing but them, as others may be waiting for the pages they have
// latched: a look-up that finds a page latched, a row being committed, or no frame, is set aside
// and tried again; one that has its value in overflow pages waits until no read is in flight.
#ifndef TESTBED_ENGINES_BTREE_STORE_READ_QUEUE_H_
#define TESTBED_ENGINES_BTREE_STORE_READ_QUEUE_H_

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "device/account/ledger.h"
#include "device/file/read_ring.h"
#include "engines/btree/store/store.h"
#include "engines/btree/tree/cursor.h"
#include "engines/engine.h"

namespace testbed::btree {

class BtreeReadQueue : public ReadQueue {
 public:
  // `session` is what the queue's session has written and not committed.
  BtreeReadQueue(Store* store, StoreClient* client, const SessionState* session, uint32_t depth,
                 bool own_thread = true);
  ~BtreeReadQueue() override;

  void Start(uint32_t slot, TableId table, std::string_view key, IoTask* task) override;
  uint32_t Finish(bool* found, std::string_view* value) override;

 private:
  struct Slot {
    const Tree* tree = nullptr;
    IoTask* task = nullptr;
    Lookup lookup;
    std::string value;
    bool found = false;
  };
  void Run(uint32_t slot);
  void TakeRead();
  void RunAside();

  Store* const store_;
  StoreClient* const client_;
  const SessionState* const session_;
  ReadRing ring_;
  std::vector<Slot> slots_;
  std::deque<uint32_t> done_;
  std::vector<uint32_t> aside_, long_, again_;
};

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_STORE_READ_QUEUE_H_
