// A Host does the IO of one database of Pebble: its functions, which the library calls
// (engines/pebble/library/interface.h), do it through device/file/file.h, which counts it.
//
// What Pebble reads on the thread of a client is charged to the client's operation. What Go's own
// threads do is charged by the file and its purpose: the log to log-write, a flush to flush, and
// everything else to compaction, which is also who reads there.
//
// Pebble knows no direct IO. With it, the Host does what the page cache would have done: it gathers
// the writes of a table into a megabyte of whole blocks, and reads ahead 256 KiB for compactions
// and long scans, where Pebble asks the system to.
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
  // Tables are read by the IO mode and with the advice; with kDirect they are written so, too.
  Host(IoMode io, Advice advice);
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  // The library keeps the pointer as long as the database is open.
  PebbleHost* functions() { return &functions_; }
  uint64_t log_bytes() const { return log_bytes_.load(std::memory_order_relaxed); }

 private:
  friend struct HostFile;
  friend struct HostCalls;

  const IoMode io_;
  const Advice advice_;
  std::atomic<uint64_t> log_bytes_{0};  // written to logs
  PebbleHost functions_{};
};

}  // namespace testbed::pebble

#endif  // TESTBED_ENGINES_PEBBLE_HOST_H_
