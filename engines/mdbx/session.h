// This header has the sessions and cursors of the mdbx engine: those of
// engines/data_file/snapshot_session.h with libmdbx's calls.
#ifndef TESTBED_ENGINES_MDBX_SESSION_H_
#define TESTBED_ENGINES_MDBX_SESSION_H_

#include <mdbx.h>

#include <cstddef>
#include <string_view>

#include "engines/data_file/snapshot_session.h"
#include "engines/mdbx/environment.h"

namespace testbed::mdbx {

struct MdbxLibrary {
  using Environment = mdbx::Environment;
  using Snapshot = mdbx::Snapshot;
  using Txn = MDBX_txn;
  using Table = MDBX_dbi;
  using Cursor = MDBX_cursor;
  using Move = MDBX_cursor_op;
  static constexpr const char* kName = "mdbx";
  static constexpr size_t kShortestKey = 0;  // in bytes
  static constexpr int kNotFound = MDBX_NOTFOUND, kBadSize = MDBX_BAD_VALSIZE;
  static constexpr Move kFirst = MDBX_FIRST, kLast = MDBX_LAST, kNext = MDBX_NEXT,
                        kPrev = MDBX_PREV, kFrom = MDBX_SET_RANGE;

  static int Get(Txn* txn, Table table, std::string_view key, std::string_view* value) {
    const MDBX_val wanted = ToVal(key);
    MDBX_val found;
    const int code = ::mdbx_get(txn, table, &wanted, &found);
    if (code == MDBX_SUCCESS) *value = ToView(found);
    return code;
  }
  static int Put(Txn* txn, Table table, std::string_view key, std::string_view value) {
    const MDBX_val k = ToVal(key);
    MDBX_val v = ToVal(value);
    return ::mdbx_put(txn, table, &k, &v, MDBX_UPSERT);
  }
  static int Erase(Txn* txn, Table table, std::string_view key) {
    const MDBX_val k = ToVal(key);
    return ::mdbx_del(txn, table, &k, nullptr);
  }
  static int Open(Txn* txn, Table table, Cursor** cursor) {
    return ::mdbx_cursor_open(txn, table, cursor);
  }
  static int Renew(Txn* txn, Cursor* cursor) { return ::mdbx_cursor_renew(txn, cursor); }
  static void Close(Cursor* cursor) { ::mdbx_cursor_close(cursor); }
  static int MoveTo(Cursor* cursor, Move move, std::string_view* key, std::string_view* value) {
    MDBX_val k = ToVal(*key), v{};
    const int code = ::mdbx_cursor_get(cursor, &k, &v, move);
    if (code != MDBX_SUCCESS) return code;
    *key = ToView(k);
    *value = ToView(v);
    return code;
  }

 private:
  // MDBX_val has a pointer to non-const bytes, but libmdbx does not write to keys and values it is
  // given.
  static MDBX_val ToVal(std::string_view bytes) {
    return {const_cast<char*>(bytes.data() != nullptr ? bytes.data() : ""), bytes.size()};
  }
  static std::string_view ToView(const MDBX_val& val) {
    return {static_cast<const char*>(val.iov_base), val.iov_len};
  }
};

using MdbxSession = SnapshotSession<MdbxLibrary>;

}  // namespace testbed::mdbx

#endif  // TESTBED_ENGINES_MDBX_SESSION_H_
