// Makes a trace from the files of other programs, and a smaller trace from a trace.
//
// A fault of the file is Error (kUsage) with a sentence that names the file and the line or record.
// A trace that cannot be written is an Error of TraceWriter (workloads/trace/trace_writer.h). A
// user who asks to stop ends it by Stopped. None of these leaves a file behind.
#ifndef TESTBED_TOOLS_TRACE_TRACE_IMPORT_H_
#define TESTBED_TOOLS_TRACE_TRACE_IMPORT_H_

#include <cstdint>
#include <iosfwd>
#include <string>

namespace testbed {

struct ImportOptions {
  enum Format : uint8_t {
    kTwitter,  // timestamp, key, key size, value size, client, operation, TTL; no header
    kRocksdb,  // the file of DB::StartTrace (rocksdb_trace.h)
    kCsv,  // a header names the columns: key and any of time, operation, client, table, value_size
  };
  Format format = kCsv;
  std::string from;        // the file's name, for messages
  uint32_t clients = 16;   // most clients of the trace; further ones are folded onto them
  bool hash_keys = false;  // keys become hashes of their length, at least 8 bytes
  uint64_t hash_seed = 0;  // seed of the hashes
  double time_unit = 1;    // seconds in a unit of the times of a CSV file
  // Import sets it to a sentence on the columns of a CSV file that are not used, if there are any.
  // Null: nobody wants to know.
  std::string* unused = nullptr;
};

// Reads a file of options.format from `in` until its end and writes the trace `to`. Returns the
// number of operations. Reads and writes as it goes, in memory that does not grow with the file.
uint64_t ImportTrace(std::istream& in, const ImportOptions& options, const std::string& to);

// Copies from the trace `from` to the trace `to` the operations whose first key belongs to a
// `share` of the keys, chosen by their hashes. A multi-get keeps those of its keys that belong to
// the share, and is copied when any does. All other operations, such as transactions, are copied
// with all of their keys. A trace is refused whose operations need each other
// (TraceOperation::StandsAlone). The new trace has fewer keys, which are accessed as unevenly as
// before, and the operations keep their start times. Returns the number of operations.
uint64_t ScaleTrace(const std::string& from, double share, const std::string& to);

}  // namespace testbed

#endif  // TESTBED_TOOLS_TRACE_TRACE_IMPORT_H_
