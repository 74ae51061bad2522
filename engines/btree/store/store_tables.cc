// This file has the tables of a store: the catalogue, and the making of a table.
#include <algorithm>
#include <cstring>

#include "device/error.h"
#include "device/os/mutex.h"
#include "engines/btree/store/commit_attempt.h"
#include "engines/btree/store/store.h"

namespace testbed::btree {

void Store::ThrowNotOpened(uint32_t table) {
  throw Error(Error::kUsage, "btree: table " + std::to_string(table) + " was not opened");
}

std::map<std::string, uint32_t> Store::TableNames() const {
  LockGuard lock(tables_mutex_);
  return table_names_;
}

Tree* Store::AddTable(const std::string& name, std::string_view value) {
  struct {
    uint32_t id;
    PageId root;
  } row;
  if (value.size() != sizeof row) {
    throw Error(Error::kCorruption,
                "the catalogue of the btree database in " + dir_ + " is damaged at table " + name);
  }
  std::memcpy(&row, value.data(), sizeof row);
  if (row.id >= kMaxTables) {
    throw Error(Error::kUsage, "the btree database in " + dir_ + " cannot have more than " +
                                   std::to_string(kMaxTables - 1) + " tables");
  }
  if (Table(row.id) != nullptr) return Table(row.id);
  owned_tables_.push_back(
      std::make_unique<Tree>(TreeEnv{pool_.get(), space_.get(), &redo_}, row.id, row.root));
  table_names_[name] = row.id;
  // The number is taken when nothing can fail any more. If it were taken before a failure, the next
  // new table would get the tree that the failed one leaves, and so would the table after that.
  tables_[row.id].store(owned_tables_.back().get(), std::memory_order_release);
  next_table_ = std::max(next_table_, row.id + 1);
  return owned_tables_.back().get();
}

// Creates a new table by one log record, with the image of its root page and its row of the
// catalogue, so that a crash leaves both or neither.
Tree* Store::OpenTable(const std::string& name) {
  LockGuard lock(tables_mutex_);
  if (auto known = table_names_.find(name); known != table_names_.end()) {
    return Table(known->second);
  }
  if (name.size() > MaxKeySize(options_.page_size)) {
    throw Error(Error::kUsage, "the table name " + name.substr(0, 40) + "... is longer than " +
                                   std::to_string(MaxKeySize(options_.page_size)) + " bytes");
  }
  CheckUsable();
  StoreClient client(this);
  client.runs_.clear();
  TreeContext* context = client.context();
  StoreClient::Attempt attempt(&client, {2, 2 * MaxInlineRow(options_.page_size), 1,
                                         Table(kCatalogueTable)->Levels(context)});
  // Once the log may have the table, an error leaves the store out of service. The table has no
  // name then, so that a second call is refused, too.
  const auto give_up = [&](const std::exception& e) REQUIRES(tables_mutex_) {
    Fail(e);
    table_names_.erase(name);
  };
  const PageId root = space_->Reserve(1);
  std::string value(8, '\0');
  std::memcpy(value.data(), &next_table_, 4);
  std::memcpy(value.data() + 4, &root, 4);
  Tree* tree = nullptr;
  try {
    ExclusiveGuard page = pool_->WriteNew(&context->client, root);
    tree = AddTable(name, value);  // the last step that can fail before the log
    Tree::FormatRoot(page.page(), options_.page_size, root, tree->table());
    StructureRecord& record = context->record;
    record.Clear();
    record.Use(root, 1);
    record.Image(page.page(), options_.page_size);
    std::string operation;
    AppendOperation({false, kCatalogueTable, name, value}, &operation);
    context->commit = redo_.Append(record.Encode(operation));
    attempt.Logged();
    space_->MarkUsed(root, 1);
    page.MarkDirty(context->commit.begin, context->commit.end);
  } catch (const std::exception& e) {
    if (tree != nullptr) give_up(e);
    space_->Cancel(root, 1);
    throw;
  }
  try {
    const Pool::Applying applying(pool_.get());
    Table(kCatalogueTable)->Write(context, {name, false, {value, false}});
    attempt.Applied();
    if (options_.durability == Durability::kSync) redo_.WaitDurable(context->commit.end);
  } catch (const std::exception& e) {
    give_up(e);
    throw;
  }
  return tree;
}

}  // namespace testbed::btree
