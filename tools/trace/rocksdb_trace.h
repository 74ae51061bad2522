// Makes a trace of RocksDB's query traces (DB::StartTrace; trace_replay/trace_replay.cc of RocksDB,
// trace version 0.2).
#ifndef TESTBED_TOOLS_TRACE_ROCKSDB_TRACE_H_
#define TESTBED_TOOLS_TRACE_ROCKSDB_TRACE_H_

#include <iosfwd>
#include <string>

#include "tools/trace/trace_import.h"

namespace testbed {

// Imports such a trace as ImportTrace does. Each get, multi-get, seek and write batch becomes one
// operation. All are of one client, since RocksDB does not record which thread called. A merge
// counts as a write of its operand. Range deletions are left out, and so are the steps after a
// seek, which RocksDB does not record.
uint64_t ImportRocksdbTrace(std::istream& in, const ImportOptions& options, const std::string& to);

}  // namespace testbed

#endif  // TESTBED_TOOLS_TRACE_ROCKSDB_TRACE_H_
