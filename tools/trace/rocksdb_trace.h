// Makes a trace of RocksDB's query traces (DB::StartTrace; trace_replay/trace_replay.cc of RocksDB,
// trace version 0.2).
#ifndef TESTBED_TOOLS_TRACE_ROCKSDB_TRACE_H_
#define TESTBED_TOOLS_TRACE_ROCKSDB_TRACE_H_

#include <iosfwd>
#include <string>

#include "tools/trace/trace_import.h"

namespace testbed {

// Imports the traces as ImportTrace does. Gets, multi-gets, seeks and batches become an operation
// each, all of one client, since RocksDB does not record which thread called. Merges count as
// writes of their operand; range deletions are left out; a seek is a seek alone, since the steps
// after it are not noted.
uint64_t ImportRocksdbTrace(std::istream& in, const ImportOptions& options, const std::string& to);

}  // namespace testbed

#endif  // TESTBED_TOOLS_TRACE_ROCKSDB_TRACE_H_
