// This header has the records that the engine writes to its log. They have what commits wrote, row
// by row with whole values, and which tables were made. The records name no nodes. Replay runs them
// again, in order, on the trees of the checkpoint; the last record of a row decides its value,
// however often replay runs.
//
//   record     u8 kind
//   commit     kind 1: u64 transaction (0: this record is all of it), u8 more, operations
//   operation  u8 erase, u32 table, u16 key size, u32 value size, key, value
//   table      kind 2: u32 table, name
//
// A commit of more than kMostPart bytes is cut into records that carry the same number. It counts
// when the last of them, the one without `more`, is in the log.
#ifndef TESTBED_ENGINES_FRACTAL_LOG_RECORD_H_
#define TESTBED_ENGINES_FRACTAL_LOG_RECORD_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "engines/transaction_parts.h"
#include "engines/write_set.h"

namespace testbed::fractal {

inline constexpr size_t kMostPart = 128 << 10;

void AppendOperation(const RowWrite& op, std::string* to);
std::string CommitHeader(uint64_t transaction, bool more);
std::string TableRecord(uint32_t table, std::string_view name);

struct DecodedRecord {
  bool is_table = false;
  uint32_t table = 0;
  std::string_view name;
  TransactionParts::Part part;
};
// DecodeRecord and NextOperation throw Error (kCorruption) when the bytes are not well-formed.
DecodedRecord DecodeRecord(std::string_view bytes);
// Takes the next operation off the front of *operations. Returns false when there is none.
bool NextOperation(std::string_view* operations, RowWrite* op);

}  // namespace testbed::fractal

#endif  // TESTBED_ENGINES_FRACTAL_LOG_RECORD_H_
