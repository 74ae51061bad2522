// A Host does the IO of one database of Pebble: its functions, which the library calls
// (engines/pebble/library/interface.h), do it through device/file/file.h, which counts it.
//
// What Pebble reads on a client's thread is charged to the client's operation. IO on Go's own
// threads is charged by the file and its purpose: the log to log-write, a flush to flush, and
// everything else to compaction. Reads on these threads are those of compactions.
//
// Pebble knows no direct IO. In direct mode, the Host does what the page cache would have done: it
// gathers the writes of a table into a megabyte of whole blocks, and reads ahead 256 KiB for
// compactions and long scans, where Pebble asks the system to.
#ifndef TESTBED_ENGINES_PEBBLE_HOST_H_
#define TESTBED_ENGINES_PEBBLE_HOST_H_

#include <atomic>
#include <cstdint>
#include <string>

#include "device/file/file.h"
#include "engines/pebble/library/interface.h"

namespace testbed::pebble {

// Returns the kind of a file of Pebble, by its name.
FileKind KindOf(const std::string& path);

class Host {
 public:
  // `io` and `advice` are for reads of tables. With kDirect, tables are also written by direct IO.
  Host(IoMode io, Advice advice);
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  // Returns the functions for the library, which keeps the pointer as long as the database is open.
  PebbleHost* functions() { return &functions_; }
  uint64_t log_bytes() const { return log_bytes_.load(std::memory_order_relaxed); }

 private:
  friend struct HostFile;
  friend struct HostCalls;

  const IoMode io_;
  const Advice advice_;
  std::atomic<uint64_t> log_bytes_{0};  // bytes written to logs
  PebbleHost functions_{};
};

}  // namespace testbed::pebble

#endif  // TESTBED_ENGINES_PEBBLE_HOST_H_
