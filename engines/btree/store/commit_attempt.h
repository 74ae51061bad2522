// A commit from its beginning until it is in the trees: what it holds, and how it is given back.
#ifndef TESTBED_ENGINES_BTREE_STORE_COMMIT_ATTEMPT_H_
#define TESTBED_ENGINES_BTREE_STORE_COMMIT_ATTEMPT_H_

#include "engines/btree/store/store.h"

namespace testbed::btree {

// What a commit holds until it is applied; gives it back whatever happens.
class StoreClient::Attempt {
 public:
  Attempt(StoreClient* client, size_t rows)
      : client_(client),
        promised_(PagesForSplits(rows * (client->store_->change_buffer() != nullptr ? 2 : 1))),
        space_(client->store_->space()) {
    space_->Promise(promised_);
    // Before the record is appended, so that no checkpoint takes a redo point behind it.
    client_->slot_.active.store(client_->store_->redo_.EndLsn(), std::memory_order_seq_cst);
  }
  ~Attempt() {
    space_->Unpromise(promised_);
    if (!logged_) {
      for (const OverflowRef& run : client_->runs_) {
        if (run.pages > 0) space_->Cancel(run.first, run.pages);
      }
      client_->slot_.active.store(kNoLsn, std::memory_order_release);
    }
  }
  // From here on the commit cannot be taken back.
  void Logged() { logged_ = true; }
  // The trees have it. Unless this is called no checkpoint will ever pass the commit.
  void Applied() { client_->slot_.active.store(kNoLsn, std::memory_order_release); }

 private:
  // Pages that a commit can need at most for splits: two for each tree that a row is written to, if
  // each splits its leaf and a parent, and a root's two.
  static uint64_t PagesForSplits(size_t writes) { return 2 * writes + 8; }

  StoreClient* const client_;
  const uint64_t promised_;
  Space* const space_;
  bool logged_ = false;
};

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_STORE_COMMIT_ATTEMPT_H_
