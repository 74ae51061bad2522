// Where the tables of a RocksDB database are.
//
// key-prefix, the default: all tables stand in the default column family. A key begins with the
// number of its table, four bytes with the most significant first, as MyRocks and MongoRocks have
// it; so all tables share one tree of sorted runs and one pair of write buffers. Table 0 is the
// directory: its row without a name says that this is the layout, each other one gives a table's
// number by its name.
//
// column-families: each table is a column family, "default" the default one; the keys are the
// user's own, so that RocksDB's tools read them.
//
// A database keeps the layout that it was made with.
#ifndef TESTBED_ENGINES_ROCKSDB_TABLES_H_
#define TESTBED_ENGINES_ROCKSDB_TABLES_H_

#include <rocksdb/db.h>
#include <rocksdb/options.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engines/engine.h"

namespace testbed {

enum class RocksdbLayout : uint8_t { kKeyPrefix, kColumnFamilies };
const char* RocksdbLayoutName(RocksdbLayout layout);  // "key-prefix", "column-families"

struct RocksdbTable {
  rocksdb::ColumnFamilyHandle* family = nullptr;
  std::string prefix;  // of each key; empty where the family is the table's own
  std::string end;     // the first key behind those of the prefix
};

// Thread-safe. Does not own the database, but its column family handles.
class RocksdbTables {
 public:
  // `families`: all that the database has, the default one first. A database that has no row yet
  // gets the layout asked for. Throws Error (kUsage) when it has another one.
  RocksdbTables(rocksdb::DB* db, const rocksdb::ColumnFamilyOptions& options,
                const std::vector<rocksdb::ColumnFamilyHandle*>& families,
                std::optional<RocksdbLayout> wanted, const std::string& dir);

  // Makes the table when it is new; that it exists is durable when this returns.
  TableId Open(const std::string& name);
  std::vector<RocksdbTable> opened() const;  // by TableId
  std::vector<rocksdb::ColumnFamilyHandle*> families() const;
  RocksdbLayout layout() const { return layout_; }

 private:
  RocksdbTable FindOrMakeFamily(const std::string& name);
  RocksdbTable FindOrMakeNumber(const std::string& name);
  void WriteDirectory(std::string_view name, std::string_view value);

  rocksdb::DB* const db_;
  const rocksdb::ColumnFamilyOptions options_;
  RocksdbLayout layout_ = RocksdbLayout::kKeyPrefix;

  mutable std::mutex mutex_;  // guards what follows
  // To delete a handle lets go of it; the database must still be open.
  std::vector<std::unique_ptr<rocksdb::ColumnFamilyHandle>> families_;
  std::vector<std::string> names_;  // of those opened, by TableId
  std::vector<RocksdbTable> opened_;
};

}  // namespace testbed

#endif  // TESTBED_ENGINES_ROCKSDB_TABLES_H_
