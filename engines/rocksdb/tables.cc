#include "engines/rocksdb/tables.h"

#include <algorithm>
#include <memory>

#include "device/account/ledger.h"
#include "device/error.h"
#include "device/os/mutex.h"
#include "engines/open_tables.h"
#include "engines/rocksdb/errors.h"

namespace testbed {
namespace {

constexpr std::string_view kLayoutMark = "testbed tables by key prefix 1";

}  // namespace

const char* RocksdbLayoutName(RocksdbLayout layout) {
  return layout == RocksdbLayout::kKeyPrefix ? "key-prefix" : "column-families";
}

RocksdbTables::RocksdbTables(rocksdb::DB* db, const rocksdb::ColumnFamilyOptions& options,
                             const std::vector<rocksdb::ColumnFamilyHandle*>& families,
                             std::optional<RocksdbLayout> wanted, const std::string& dir)
    : db_(db), options_(options) {
  for (rocksdb::ColumnFamilyHandle* family : families) families_.emplace_back(family);
  std::string mark;
  const rocksdb::Status status = db_->Get(rocksdb::ReadOptions(), TablePrefix(0), &mark);
  if (!status.IsNotFound()) Check(status, "rocksdb could not read the directory of its tables");
  const bool fresh = families_.size() == 1 && db_->GetLatestSequenceNumber() == 0;
  if (fresh) {
    layout_ = wanted.value_or(RocksdbLayout::kKeyPrefix);
    if (layout_ == RocksdbLayout::kKeyPrefix) WriteDirectory("", kLayoutMark);
    return;
  }
  layout_ = status.ok() && mark == kLayoutMark ? RocksdbLayout::kKeyPrefix
                                               : RocksdbLayout::kColumnFamilies;
  if (!wanted || *wanted == layout_) return;
  throw Error(Error::kUsage, "the database in " + dir +
                                 " was made with tables=" + RocksdbLayoutName(layout_) + ", not " +
                                 RocksdbLayoutName(*wanted) +
                                 ": leave --engine-option tables out, or load it anew");
}

// Writes a row of the directory through the log and syncs it, whatever the run's durability. If a
// crash lost the row but kept rows of the table, the next new table would get the same number and
// these rows.
void RocksdbTables::WriteDirectory(std::string_view name, std::string_view value) {
  IoScope scope(kOpen);
  rocksdb::WriteOptions durable;
  durable.sync = true;
  Check(db_->Put(durable, TablePrefix(0) + std::string(name), rocksdb::Slice(value)),
        "rocksdb could not write the directory of its tables");
}

RocksdbTable RocksdbTables::FindOrMakeFamily(const std::string& name) {
  for (const auto& family : families_) {
    if (family->GetName() == name) return {family.get(), "", ""};
  }
  rocksdb::ColumnFamilyHandle* made = nullptr;
  Check(db_->CreateColumnFamily(options_, name, &made), "rocksdb could not create a table");
  families_.emplace_back(made);
  return {made, "", ""};
}

RocksdbTable RocksdbTables::FindOrMakeNumber(const std::string& name) {
  if (name.empty()) throw Error(Error::kUsage, "rocksdb: a table's name is not empty");
  const std::string end = TablePrefix(1);
  const rocksdb::Slice bound = end;
  rocksdb::ReadOptions read;
  read.iterate_upper_bound = &bound;
  // The rows may have other prefixes than the key that is sought, by which RocksDB would pass over
  // files and hashed memtables (prefix_extractor). A table that is not found gets another's number.
  read.total_order_seek = true;
  uint32_t largest = 0;
  std::optional<uint32_t> found;
  const std::unique_ptr<rocksdb::Iterator> row(db_->NewIterator(read));
  for (row->Seek(TablePrefix(0)); row->Valid(); row->Next()) {
    rocksdb::Slice of = row->key();
    of.remove_prefix(kTablePrefix);
    if (of.empty()) continue;  // the row that marks the layout
    if (row->value().size() != kTablePrefix) {
      throw Error(Error::kCorruption, "rocksdb: the directory of tables has a row of wrong size");
    }
    const uint32_t number = TableNumber({row->value().data(), row->value().size()});
    largest = std::max(largest, number);
    if (of == rocksdb::Slice(name)) found = number;
  }
  Check(row->status(), "rocksdb could not read the directory of its tables");
  if (!found) {
    found = largest + 1;
    WriteDirectory(name, TablePrefix(*found));
  }
  return {db_->DefaultColumnFamily(), TablePrefix(*found), TablePrefix(*found + 1)};
}

TableId RocksdbTables::Open(const std::string& name) {
  LockGuard lock(mutex_);
  const auto open = std::find(names_.begin(), names_.end(), name);
  if (open != names_.end()) return static_cast<TableId>(open - names_.begin());
  opened_.push_back(layout_ == RocksdbLayout::kKeyPrefix ? FindOrMakeNumber(name)
                                                         : FindOrMakeFamily(name));
  names_.push_back(name);
  return static_cast<TableId>(names_.size() - 1);
}

std::vector<RocksdbTable> RocksdbTables::opened() const {
  LockGuard lock(mutex_);
  return opened_;
}

std::vector<rocksdb::ColumnFamilyHandle*> RocksdbTables::families() const {
  LockGuard lock(mutex_);
  std::vector<rocksdb::ColumnFamilyHandle*> all;
  for (const auto& family : families_) all.push_back(family.get());
  return all;
}

}  // namespace testbed
