// A StoreClient::Attempt is what a commit holds from its beginning until its rows are in the trees.
#ifndef TESTBED_ENGINES_BTREE_STORE_COMMIT_ATTEMPT_H_
#define TESTBED_ENGINES_BTREE_STORE_COMMIT_ATTEMPT_H_

#include <algorithm>

#include "engines/btree/store/store.h"

namespace testbed::btree {

// An Attempt holds the promised pages of a commit and its client's CommitSlot. The destructor
// releases both, also after an error. It keeps the slot of a commit that the log has and the trees
// could not take.
class StoreClient::Attempt {
 public:
  // `commit` has the sizes without the change buffer. With one, each row may be written to the tree
  // of the buffer, too.
  Attempt(StoreClient* client, const CommitSize& commit)
      : client_(client),
        space_(client->store_->space()),
        promised_(Promise(space_, WithBuffer(client, commit))) {
    // This comes before the record is appended, so that no checkpoint takes a later redo point.
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
  // The commit calls this when the log has it. From here on it cannot be undone, so its overflow
  // pages stay.
  void Logged() { logged_ = true; }
  // The commit calls this when the trees have it. Until then no checkpoint's redo point passes the
  // commit, so recovery replays it.
  void Applied() { client_->slot_.active.store(kNoLsn, std::memory_order_release); }

 private:
  static CommitSize WithBuffer(StoreClient* client, CommitSize commit) {
    const ChangeBuffer* const buffer = client->store_->change_buffer();
    if (buffer == nullptr) return commit;
    commit.writes *= 2;
    commit.bytes *= 2;
    ++commit.trees;
    commit.levels = std::max(commit.levels, buffer->tree()->Levels(client->context()));
    return commit;
  }
  // Gets what a commit needs before the log has it: the thread's memory, and promised pages.
  static uint64_t Promise(Space* space, const CommitSize& commit) {
    Node::PrepareThread();
    return space->PromiseForSplits(commit);
  }

  StoreClient* const client_;
  Space* const space_;
  const uint64_t promised_;
  bool logged_ = false;
};

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_STORE_COMMIT_ATTEMPT_H_
