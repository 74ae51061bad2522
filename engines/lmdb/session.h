// This header has the sessions and cursors of the lmdb engine: those of
// engines/data_file/snapshot_session.h with LMDB's calls.
#ifndef TESTBED_ENGINES_LMDB_SESSION_H_
#define TESTBED_ENGINES_LMDB_SESSION_H_

#include <lmdb.h>

#include <cstddef>
#include <string_view>

#include "engines/data_file/snapshot_session.h"
#include "engines/lmdb/environment.h"

namespace testbed::lmdb {

struct LmdbLibrary {
  using Environment = lmdb::Environment;
  using Snapshot = lmdb::Snapshot;
  using Txn = MDB_txn;
  using Table = MDB_dbi;
  using Cursor = MDB_cursor;
  using Move = MDB_cursor_op;
  static constexpr const char* kName = "lmdb";
  static constexpr size_t kShortestKey = 1;  // in bytes
  static constexpr int kNotFound = MDB_NOTFOUND, kBadSize = MDB_BAD_VALSIZE;
  static constexpr Move kFirst = MDB_FIRST, kLast = MDB_LAST, kNext = MDB_NEXT, kPrev = MDB_PREV,
                        kFrom = MDB_SET_RANGE;

  static int Get(Txn* txn, Table table, std::string_view key, std::string_view* value) {
    MDB_val wanted = ToVal(key), found;
    const int code = ::mdb_get(txn, table, &wanted, &found);
    if (code == 0) *value = ToView(found);
    return code;
  }
  static int Put(Txn* txn, Table table, std::string_view key, std::string_view value) {
    MDB_val k = ToVal(key), v = ToVal(value);
    return ::mdb_put(txn, table, &k, &v, 0);
  }
  static int Erase(Txn* txn, Table table, std::string_view key) {
    MDB_val k = ToVal(key);
    return ::mdb_del(txn, table, &k, nullptr);
  }
  static int Open(Txn* txn, Table table, Cursor** cursor) {
    return ::mdb_cursor_open(txn, table, cursor);
  }
  static int Renew(Txn* txn, Cursor* cursor) { return ::mdb_cursor_renew(txn, cursor); }
  static void Close(Cursor* cursor) { ::mdb_cursor_close(cursor); }
  static int MoveTo(Cursor* cursor, Move move, std::string_view* key, std::string_view* value) {
    MDB_val k = ToVal(*key), v;
    const int code = ::mdb_cursor_get(cursor, &k, &v, move);
    if (code != 0) return code;
    *key = ToView(k);
    *value = ToView(v);
    return 0;
  }

 private:
  // MDB_val has a pointer to non-const bytes, but LMDB does not write to keys and values it is
  // given.
  static MDB_val ToVal(std::string_view bytes) {
    return {bytes.size(), const_cast<char*>(bytes.data() != nullptr ? bytes.data() : "")};
  }
  static std::string_view ToView(const MDB_val& val) {
    return {static_cast<const char*>(val.mv_data), val.mv_size};
  }
};

using LmdbSession = SnapshotSession<LmdbLibrary>;

}  // namespace testbed::lmdb

#endif  // TESTBED_ENGINES_LMDB_SESSION_H_
