// The engine "log" is the write-ahead log layer (device/log/log.h) by itself: it only appends. A
// run on it measures what durable log records cost the device and nothing else: how many bytes
// reach the device for each byte of a record, depending on the write size, the padding, the kind of
// sync and the way in which log space is provided.
//
// A transaction is one log record, which holds the transaction's rows one after the other. With
// sync durability Commit waits until the record's group is durable. Nothing can be read: Get and
// NewCursor throw Error (kUsage), and Capabilities::reads is false. The newest `log_keep` bytes of
// the log are kept; segments before them are recycled or removed, as after a checkpoint.
//
//   row = u32 table, highest bit set when it is erased; u32 key length; u32 value length;
//         key; value. The three numbers take kRowHeaderBytes, in native byte order.
//   DIR/append-log/        the log's segments
//   DIR/append-log/tables  names of the tables (table_names.h)
#ifndef TESTBED_ENGINES_LOG_LOG_ENGINE_H_
#define TESTBED_ENGINES_LOG_LOG_ENGINE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "device/log/log.h"
#include "engines/registry.h"

namespace testbed {

EngineInfo LogEngineInfo();

namespace append_log {

inline constexpr size_t kRowHeaderBytes = 12;

struct Row {
  TableId table = 0;
  bool erase = false;
  std::string_view key, value;
};
// Takes the first row off a transaction's record: *row points into the record's bytes, and *record
// becomes the rest. Returns false when *record is empty. Throws Error (kCorruption) when *record
// does not begin with a whole row.
bool NextRow(std::string_view* record, Row* row);
// Returns the position before which a thread truncates the log after its record, which ends at
// `end`: `keep` bytes before that. Returns nothing unless the log is longer than `keep` by two
// segments. `begin` is where the log began after its last truncation. `begin` may lie behind `end`:
// other threads have appended more than `keep` bytes while this one waited, and one of them has
// truncated the log.
std::optional<Lsn> TruncationPoint(Lsn begin, Lsn end, uint64_t keep, uint64_t segment_bytes);
// Returns the directory of the log, given the directory of the database.
std::string LogDirectory(const std::string& dir);

}  // namespace append_log
}  // namespace testbed

#endif  // TESTBED_ENGINES_LOG_LOG_ENGINE_H_
