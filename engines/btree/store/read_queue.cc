#include "engines/btree/store/read_queue.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "device/error.h"

namespace testbed::btree {

BtreeReadQueue::BtreeReadQueue(Store* store, StoreClient* client, const SessionState* session,
                               uint32_t depth, bool own_thread)
    : store_(store), client_(client), session_(session), ring_(depth, own_thread), slots_(depth) {}

// Ends the reads in flight, whose pages are latched.
BtreeReadQueue::~BtreeReadQueue() {
  try {
    while (ring_.in_flight() > 0) {
      Slot& slot = slots_[ring_.Take().tag];
      slot.reads = false;
      store_->pool()->EndRead(slot.lookup.missing, false);
    }
  } catch (const Error&) {
    // The kernel refuses to wait for the reads.
    for (const Slot& slot : slots_) {
      if (slot.reads) store_->pool()->AbandonRead(slot.lookup.missing);
    }
  }
}

void BtreeReadQueue::Start(uint32_t at, TableId table, std::string_view key, IoTask* task) {
  Slot& slot = slots_[at];
  slot.tree = store_->SessionTable(table);
  slot.task = task;
  slot.lookup = Lookup(key);
  if (!session_->writes.empty()) {
    if (const RowWrite* write = session_->writes.Find(table, key)) {
      slot.value.assign(write->value);
      slot.found = !write->erase;
      done_.push_back(at);
      return;
    }
  }
  Run(at);
}

void BtreeReadQueue::StartAll(TableId table, std::span<const std::string_view> keys) {
  constexpr size_t kByTurns = 16;  // about as many cache lines as a processor fetches at once
  const Tree* const tree = store_->SessionTable(table);
  for (size_t first = 0; first < keys.size(); first += kByTurns) {
    const size_t n = std::min(kByTurns, keys.size() - first);
    turns_.clear();
    for (size_t i = first; i < first + n; ++i) turns_.emplace_back(keys[i], &slots_[i].value);
    if (session_->writes.empty()) LookUpByTurns(tree);
    for (size_t i = 0; i < n; ++i) {
      const auto at = static_cast<uint32_t>(first + i);
      const CachedLookup::State state = turns_[i].state;
      if (state == CachedLookup::State::kFound || state == CachedLookup::State::kAbsent) {
        slots_[at].found = state == CachedLookup::State::kFound;
        done_.push_back(at);
      } else {
        Start(at, table, keys[at], nullptr);
      }
    }
  }
}

void BtreeReadQueue::LookUpByTurns(const Tree* tree) {
  for (size_t left = turns_.size(); left > 0;) {
    for (CachedLookup& lookup : turns_) {
      if (lookup.ended()) continue;
      if (lookup.at_row() && !LeafHasNewest(tree, lookup.key)) {
        lookup.GiveUp();
      } else {
        tree->Step(client_->context(), &lookup);
      }
      if (lookup.ended()) --left;
    }
  }
}

// Returns whether no commit of several rows is writing the row, and the change buffer does not have
// the row. A look-up calls this after it has taken the version of the row's leaf. If the caller has
// seen another row of a commit before, that commit has either changed this version already, or
// makes this return false.
bool BtreeReadQueue::LeafHasNewest(const Tree* tree, std::string_view key) const {
  const ChangeBuffer* const buffer = store_->change_buffer();
  return store_->RowUnlocked(tree, key) && (buffer == nullptr || !buffer->Knows(tree->table()));
}

// Continues a look-up until it has a result or must wait.
void BtreeReadQueue::Run(uint32_t at) {
  Slot& slot = slots_[at];
  const IoTask::Work work(slot.task);
  if (!store_->RowUnlocked(slot.tree, slot.lookup.key)) {
    aside_.push_back(at);
    return;
  }
  // A look-up in the change buffer does reads of its own, for which the thread must wait.
  if (const ChangeBuffer* buffer = store_->change_buffer();
      buffer != nullptr && buffer->Knows(slot.tree->table())) {
    long_.push_back(at);
    return;
  }
  TreeContext* context = client_->context();
  switch (slot.tree->Continue(context, &slot.lookup, &slot.value)) {
    case Lookup::State::kFound:
      slot.found = true;
      done_.push_back(at);
      return;
    case Lookup::State::kAbsent:
      slot.found = false;
      done_.push_back(at);
      return;
    case Lookup::State::kBusy:
      aside_.push_back(at);
      return;
    case Lookup::State::kLong:
      long_.push_back(at);
      return;
    case Lookup::State::kMissing:
      break;
  }
  const Pool::MissingPage& missing = slot.lookup.missing;
  try {
    store_->file()->StartRead(&ring_, missing.id, missing.page, at);
  } catch (...) {
    store_->pool()->EndRead(missing, false);
    throw;
  }
  slot.reads = true;
  context->client.misses.Add(1);
}

void BtreeReadQueue::TakeRead() {
  answers_ = 0;
  EndRead(ring_.Take());
}

void BtreeReadQueue::EndRead(const ReadRing::Ended& ended) {
  const auto at = static_cast<uint32_t>(ended.tag);
  Slot& slot = slots_[at];
  slot.reads = false;
  const Pool::MissingPage missing = slot.lookup.missing;
  try {
    const IoTask::Work work(slot.task);  // FinishRead may read the rest of a short read itself
    store_->file()->FinishRead(missing.id, missing.page, ended.result);
    store_->pool()->EndRead(missing, true);
  } catch (const Error& error) {
    store_->pool()->EndRead(missing, false);
    slot.tree->FailedRead(&slot.lookup, error);
  } catch (...) {
    store_->pool()->EndRead(missing, false);
    throw;
  }
  Run(at);
  if (!aside_.empty()) RunAside();
}

void BtreeReadQueue::RunAside() {
  answers_since_try_ = 0;
  again_.clear();
  std::swap(again_, aside_);
  for (const uint32_t at : again_) Run(at);
}

void BtreeReadQueue::EndReads() {
  while (ring_.in_flight() > 0) TakeRead();
}

void BtreeReadQueue::RunAlone(std::deque<uint32_t>* waiting) {
  if (before_waiting_) before_waiting_();
  const uint32_t at = waiting->front();
  waiting->pop_front();
  Slot& slot = slots_[at];
  const IoTask::Work work(slot.task);
  slot.found = client_->Get(slot.tree, slot.lookup.key, &slot.value);
  done_.push_back(at);
}

// While look-ups find their pages in the pool, this looks now and then for reads that have ended,
// for look-ups that were set aside and for those that must run alone.
void BtreeReadQueue::KeepTurns() {
  constexpr uint32_t kAnswersPerLook = 16;  // a look is a system call
  constexpr size_t kAnswersPerTry = 16;     // a try descends the tree again
  if (ring_.in_flight() > 0 && ++answers_ >= kAnswersPerLook) {
    answers_ = 0;
    while (ring_.in_flight() > 0) {
      const std::optional<ReadRing::Ended> ended = ring_.TakeIfEnded();
      if (!ended) break;
      EndRead(*ended);
    }
  }
  // However many look-ups were set aside, they cost at most one try per answer.
  if (aside_.empty()) {
    answers_since_try_ = 0;
  } else if (++answers_since_try_ >= std::max(kAnswersPerTry, aside_.size())) {
    RunAside();
  }
  if (long_.empty()) {
    answers_before_long_ = 0;
  } else if (++answers_before_long_ > slots_.size()) {
    // Every other slot may have been answered since this look-up began to wait, so the reads in
    // flight are ended and the look-up runs.
    EndReads();
    RunAlone(&long_);
    answers_before_long_ = 0;
  }
}

uint32_t BtreeReadQueue::Finish(bool* found, std::string_view* value) {
  KeepTurns();
  while (done_.empty()) {
    if (ring_.in_flight() > 0) {
      TakeRead();
      continue;
    }
    // No read is in flight and nothing is latched, so this thread may wait.
    std::deque<uint32_t>& waiting = long_.empty() ? aside_ : long_;
    if (waiting.empty()) throw Error(Error::kRun, "btree: no read was started");
    RunAlone(&waiting);
  }
  const uint32_t at = done_.front();
  done_.pop_front();
  *found = slots_[at].found;
  *value = slots_[at].value;
  return at;
}

}  // namespace testbed::btree
