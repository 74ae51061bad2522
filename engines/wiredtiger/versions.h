// This header has all differences between the releases of WiredTiger for which the adapter is
// compiled, 11.0 to 11.3. The rest of the adapter is written for the newest of them and names no
// release. WiredTiger 12 is not among them: it ignores direct_io, on which `--io direct` rests.
#ifndef TESTBED_ENGINES_WIREDTIGER_VERSIONS_H_
#define TESTBED_ENGINES_WIREDTIGER_VERSIONS_H_

#include <wiredtiger.h>

#define TESTBED_WIREDTIGER_FROM(major, minor) \
  (WIREDTIGER_VERSION_MAJOR > (major) ||      \
   (WIREDTIGER_VERSION_MAJOR == (major) && WIREDTIGER_VERSION_MINOR >= (minor)))

// An installation of the user's own may be of any release.
#if TESTBED_WIREDTIGER_FROM(11, 4)
#error "testbed runs WiredTiger 11.0 to 11.3: a later one ignores direct_io and would read buffered"
#elif !TESTBED_WIREDTIGER_FROM(11, 0)
#error "testbed runs WiredTiger 11.0 to 11.3: this one is older"
#endif

namespace testbed {

// This is the statistic that counts checkpoints. From 11.3 on it counts only those that were
// completed.
#if TESTBED_WIREDTIGER_FROM(11, 3)
constexpr int kWiredtigerCheckpoints = WT_STAT_CONN_CHECKPOINTS_TOTAL_SUCCEED;
#elif TESTBED_WIREDTIGER_FROM(11, 2)
constexpr int kWiredtigerCheckpoints = WT_STAT_CONN_CHECKPOINTS;
#else
constexpr int kWiredtigerCheckpoints = WT_STAT_CONN_TXN_CHECKPOINT;
#endif

// Sets *key and *value to the bytes of the cursor's row; the table's formats must be "u". Returns a
// code of WiredTiger.
inline int GetRow(WT_CURSOR* cursor, WT_ITEM* key, WT_ITEM* value) {
#if TESTBED_WIREDTIGER_FROM(11, 2)
  return cursor->get_raw_key_value(cursor, key, value);
#else
  const int code = cursor->get_key(cursor, key);
  return code != 0 ? code : cursor->get_value(cursor, value);
#endif
}

}  // namespace testbed

#endif  // TESTBED_ENGINES_WIREDTIGER_VERSIONS_H_
