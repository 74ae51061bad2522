// The second pass of recovery runs the rows of the log's transactions again
// (docs/engines/btree.md). It needs no free space: the disk may be full, and space can be made only
// in a database that opens.
#include <functional>
#include <optional>
#include <utility>

#include "engines/btree/pool/redo.h"
#include "engines/btree/store/last_writes.h"
#include "engines/btree/store/replay_spool.h"
#include "engines/btree/store/store.h"
#include "engines/btree/tree/overflow.h"

namespace testbed::btree {
namespace {

// Calls `use` for each row of each whole transaction, in log order, with the range of the log
// record that ends the transaction. Returns the number of transactions.
uint64_t ForEachRow(ReplaySpool* spool,
                    const std::function<void(const LogRange& range, const RowWrite& op)>& use) {
  TransactionParts parts;
  uint64_t transactions = 0;
  spool->ForEach([&](const SpooledRecord& record) {
    std::optional<std::string_view> operations = parts.Add(record.part);
    if (!operations) return;
    RowWrite op;
    while (NextOperation(&*operations, &op)) use(record.range, op);
    ++transactions;
  });
  return transactions;
}

}  // namespace

// Runs the last write of each row again, as far as LastWrites knows which it is. A write for which
// a full disk has no page is put off until all others have run: its leaf may still hold an older
// and longer version of another row. In the end the leaf holds the rows that it held before the
// crash, and had room for.
void Store::RunAgain(ReplaySpool* spool) {
  Node::PrepareThread();
  StoreClient client(this);
  client.context()->recovers = true;
  LastWrites last(spool->bytes());
  ForEachRow(spool, [&](const LogRange&, const RowWrite& op) { last.Note(op.table, op.key); });
  PutOff put_off;
  const uint64_t kept = spool->bytes() > 0 ? KeepFreePages() : 0;
  recovery_.transactions = ForEachRow(spool, [&](const LogRange& range, const RowWrite& op) {
    // A row of the catalogue is never left out: the rows of its table come after it.
    if (!last.IsLast(op.table, op.key) && op.table != kCatalogueTable) return;
    client.context()->commit = range;
    const std::optional<Error> error = TryOperation(&client, op, false);
    if (error) {
      put_off.insert_or_assign({op.table, std::string(op.key)},
                               std::pair{range, std::string(op.value)});
    } else if (!put_off.empty()) {
      put_off.erase({op.table, std::string(op.key)});  // an earlier write of the row
    }
  });
  if (kept > 0) space_->Unpromise(kept);
  RunPutOff(&client, &put_off);
}

// Promises all free pages of the file if the disk is full, and returns their number. Commits whose
// records are only in the log had reserved these pages. Splits that replay needs only for a while
// must not take them.
uint64_t Store::KeepFreePages() {
  const uint64_t free = space_->file_pages() - space_->used_pages();
  try {
    space_->Promise(free + 1);
  } catch (const Error& e) {
    if (!e.disk_is_full()) throw;
    space_->Promise(free);
    return free;
  }
  space_->Unpromise(free + 1);
  return 0;
}

// Runs the writes that were put off. For writes that still find no page, it writes the rows to the
// change buffer. Rows that had not reached their leaf before the crash were in the buffer then, and
// their leaf may have no room for them.
void Store::RunPutOff(StoreClient* client, PutOff* put_off) {
  bool keep = false;
  while (!put_off->empty()) {
    std::optional<Error> error;
    const size_t before = put_off->size();
    // Long values come first, because they need runs of consecutive pages, while splits take any
    // page.
    for (const bool is_long : {true, false}) {
      for (auto at = put_off->begin(); at != put_off->end();) {
        const auto& [row, write] = *at;
        client->context()->commit = write.first;
        if (Table(row.first)->NeedsOverflow(row.second.size(), write.second.size()) != is_long) {
          ++at;
        } else if (auto none =
                       TryOperation(client, {false, row.first, row.second, write.second}, keep)) {
          error = std::move(none);
          ++at;
        } else {
          at = put_off->erase(at);
        }
      }
    }
    if (put_off->size() == before && std::exchange(keep, true)) throw Error(*error);
  }
}

// Runs a write. Returns the error when there is no page for it on a full disk; without `keep` the
// row is unchanged then. With `keep`, writes a row that is short enough to the change buffer.
std::optional<Error> Store::TryOperation(StoreClient* client, const RowWrite& op, bool keep) {
  const LeafWrite row{op.key, op.erase, {op.value, false}};
  try {
    if (keep && change_buffer_ != nullptr && op.table != kCatalogueTable &&
        change_buffer_->Takes(row)) {
      // The leaf may refer to a run of this row that was not written again. So the row's version in
      // the leaf is erased first.
      RunOperation(client, {true, op.table, op.key, {}});
      change_buffer_->Keep(client->context(), Table(op.table), row);
    } else {
      RunOperation(client, op);
    }
  } catch (const Error& e) {
    if (op.erase || !e.disk_is_full()) throw;
    return e;
  }
  return std::nullopt;
}

void Store::RunOperation(StoreClient* client, const RowWrite& op) {
  if (Table(op.table) == nullptr) {
    throw Error(Error::kCorruption, "the log in " + LogPath(dir_) +
                                        " names a table that the catalogue does not have: restore "
                                        "the database from a copy, or load it again");
  }
  if (op.table == kCatalogueTable && !op.erase) {
    AddTable(std::string(op.key), op.value);
    LoadChangeBuffer();
  }
  Tree* tree = Table(op.table);
  TreeContext* context = client->context();
  LeafWrite row{op.key, op.erase, {op.value, false}};
  std::string encoded;
  OverflowRef run;
  if (!op.erase && tree->NeedsOverflow(op.key.size(), op.value.size())) {
    if (RewriteLongValue(context, tree, op)) return;
    run = WriteOverflow(pool_.get(), space_.get(), &redo_, &context->client, op.table, op.value,
                        context->commit.begin);
    encoded = Node::EncodeOverflow(run);
    row.value = {encoded, true};
  }
  try {
    if (change_buffer_ != nullptr && op.table != kCatalogueTable) {
      change_buffer_->WriteThrough(context, tree, row);
    } else {
      tree->Write(context, row);
    }
  } catch (...) {
    if (run.pages > 0) space_->Cancel(run.first, run.pages);
    throw;
  }
}

// Writes the value again to the run to which the row's leaf refers, if that has a value of the same
// size. Returns false when there is none. The run is that of this commit, or of a later one, which
// is replayed next. Its pages may be in the page cache alone.
bool Store::RewriteLongValue(TreeContext* context, const Tree* tree, const RowWrite& op) {
  tree->CopyLeaf(context, Tree::Bound::kCover, op.key, context->scratch.data());
  const Node leaf(context->scratch.data(), options_.page_size);
  bool found;
  const uint32_t at = leaf.LowerBound(op.key, &found);
  if (!found || !leaf.Value(at).overflow) return false;
  const OverflowRef run = leaf.Overflow(at);
  if (run.size != op.value.size() || !IsRun(run, *space_, options_.page_size)) return false;
  RewriteOverflow(pool_.get(), &redo_, &context->client, op.table, run, op.value,
                  context->commit.begin);
  pool_->Write(&context->client, leaf.header()->id)
      .MarkDirty(context->commit.begin, context->commit.end);
  if (change_buffer_ != nullptr) change_buffer_->TakeOut(context, tree, op.key);
  return true;
}

}  // namespace testbed::btree
