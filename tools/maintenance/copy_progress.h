// Shows on standard error how far a backup or a compaction is: the bytes that were read, of those
// that are to be read, the rate, and the time left.
//
//   const CopyProgress progress("backup d/db", LengthOfFiles("d/db"), {.quiet = false});
//   engine->Backup("copy");
//
// A terminal has the line from the second second on; elsewhere one is printed each minute
// (tools/output/progress.h). The bytes are those that the ledger counts of data files while the
// object lives, so the engine does its IO through device/file/file.h.
#ifndef TESTBED_TOOLS_MAINTENANCE_COPY_PROGRESS_H_
#define TESTBED_TOOLS_MAINTENANCE_COPY_PROGRESS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include "device/os/mutex.h"
#include "tools/output/progress.h"
#include "tools/output/progress_options.h"

namespace testbed {

// Returns the text of a line. `total` is an estimate: when more bytes were read than that, the text
// says that all were.
std::string CopyProgressText(double seconds, uint64_t read_bytes, uint64_t total);

class CopyProgress {
 public:
  CopyProgress(const std::string& what, uint64_t total, ProgressOptions options);
  // A thread of the object calls `read_bytes` for the number of bytes that were read so far. It
  // calls it every `interval`, for the first time after two intervals.
  CopyProgress(const std::string& what, uint64_t total, ProgressOptions options,
               std::function<uint64_t()> read_bytes, std::chrono::milliseconds interval);
  // Removes the line from the terminal.
  ~CopyProgress();
  CopyProgress(const CopyProgress&) = delete;
  CopyProgress& operator=(const CopyProgress&) = delete;

 private:
  void Watch(std::chrono::milliseconds interval);

  const uint64_t total_;
  const std::function<uint64_t()> read_bytes_;
  ProgressLine line_;  // only the thread uses it, while there is one
  Mutex mutex_;
  CondVar wake_;
  bool ended_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_MAINTENANCE_COPY_PROGRESS_H_
