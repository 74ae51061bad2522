// RocksdbTables maps the tables of a database to RocksDB's column families, by one of two layouts.
// A database keeps the layout that it was created with.
//
// key-prefix, the default: all tables are in the default column family. A key begins with the
// number of its table in four bytes, big-endian, as in MyRocks and MongoRocks. So all tables share
// one LSM tree and one set of memtables. Table 0 is the directory of tables: its row with an empty
// name marks this layout, and each other row maps a table's name to its number.
//
// column-families: each table is a column family of the same name. RocksDB's tools can read the
// keys, which are those of the user.
#ifndef TESTBED_ENGINES_ROCKSDB_TABLES_H_
#define TESTBED_ENGINES_ROCKSDB_TABLES_H_

#include <rocksdb/db.h>
#include <rocksdb/options.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/os/mutex.h"
#include "engines/engine.h"

namespace testbed {

enum class RocksdbLayout : uint8_t { kKeyPrefix, kColumnFamilies };
const char* RocksdbLayoutName(RocksdbLayout layout);  // "key-prefix", "column-families"

struct RocksdbTable {
  rocksdb::ColumnFamilyHandle* family = nullptr;
  std::string prefix;  // first bytes of each key; empty when the table has a family of its own
  std::string end;     // smallest key above all keys with the prefix
};

// Thread-safe. The caller owns the database, which must outlive this object; this object owns the
// column family handles.
class RocksdbTables {
 public:
  // Takes ownership of `families`, which are all families of the database, the default family
  // first. A database without rows gets the layout `wanted`, by default key-prefix. Throws Error
  // (kUsage) when the database has a layout other than `wanted`.
  RocksdbTables(rocksdb::DB* db, const rocksdb::ColumnFamilyOptions& options,
                const std::vector<rocksdb::ColumnFamilyHandle*>& families,
                std::optional<RocksdbLayout> wanted, const std::string& dir);

  // Returns the table's id, and creates the table durably when it does not exist. Throws Error when
  // RocksDB fails.
  TableId Open(const std::string& name);
  std::vector<RocksdbTable> opened() const;  // indexed by TableId
  std::vector<rocksdb::ColumnFamilyHandle*> families() const;
  RocksdbLayout layout() const { return layout_; }

 private:
  RocksdbTable FindOrMakeFamily(const std::string& name) REQUIRES(mutex_);  // for column-families
  RocksdbTable FindOrMakeNumber(const std::string& name);  // for the layout key-prefix
  void WriteDirectory(std::string_view name, std::string_view value);

  rocksdb::DB* const db_;
  const rocksdb::ColumnFamilyOptions options_;
  RocksdbLayout layout_ = RocksdbLayout::kKeyPrefix;

  mutable Mutex mutex_;  // protects the members below
  // The handles must be deleted before the database is closed.
  std::vector<std::unique_ptr<rocksdb::ColumnFamilyHandle>> families_ GUARDED_BY(mutex_);
  std::vector<std::string> names_ GUARDED_BY(mutex_);    // names of the tables in opened_
  std::vector<RocksdbTable> opened_ GUARDED_BY(mutex_);  // indexed by TableId
};

}  // namespace testbed

#endif  // TESTBED_ENGINES_ROCKSDB_TABLES_H_
