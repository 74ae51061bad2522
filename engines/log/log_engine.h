// Engine "log": the write-ahead log layer (device/log/log.h) by itself, as an engine that only appends.
// A run on it shows what making records durable costs the device, and nothing else: how the write
// size, padding, the kind of sync and where the space comes from decide how many bytes reach the
// device for each byte of a record.
//
// A transaction is one log record, which holds its rows one after the other; Commit makes the group
// it is in durable as --durability says. Nothing can be read: Get and cursors are errors
// (Capabilities::reads). Of the log the newest `log_keep` bytes are kept, as if a checkpoint had
// made the older ones unnecessary; their segments are recycled or removed.
//
//   row = u32 table, highest bit set when it is erased; u32 key length; u32 value length; key;
//         value (kRowHeaderBytes)
//   directory/append-log/  segments, and `tables`: names of tables after "default", a line each
#ifndef TESTBED_ENGINES_LOG_LOG_ENGINE_H_
#define TESTBED_ENGINES_LOG_LOG_ENGINE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

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
// Takes the first row off a transaction's record. Returns false when none is left; throws
// kCorruption for what is none.
bool NextRow(std::string_view* record, Row* row);
// Where the log of a database of this engine is.
std::string LogDirectory(const std::string& dir);

}  // namespace append_log
}  // namespace testbed

#endif  // TESTBED_ENGINES_LOG_LOG_ENGINE_H_
