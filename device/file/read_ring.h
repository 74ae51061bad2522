// A ReadRing keeps several reads in flight on one thread, by io_uring(7): the thread starts reads
// and takes them as they end.
//
//   ReadRing ring(64);
//   ring.Start(file, offset, buffer, n, tag);       // up to 64 at once
//   while (ring.in_flight() > 0) {
//     const ReadRing::Ended ended = ring.Take();    // waits if no read has ended yet
//     Use(ended.tag, ended.result);
//   }
//
// Each Start is a system call of its own. The kernel submits the block requests of a direct read in
// that call on the calling thread, so they are charged to the operation that is running there, as
// they are for pread(2). A direct read that would have to wait for the lock of its file, as while
// another thread changes the file's length, is submitted by a worker of the kernel instead. Its
// requests are counted as the worker's, with the kind of the file, and charged to no operation
// (WhyNotCharged, device/account/grade.h). The first request of a buffered read is submitted in the
// call, too; a read that takes several requests goes on while the thread is in any later Start or
// Take, and the further requests are charged to the operation that is marked then. The file level
// counts a read when it starts, with the bytes asked for.
//
// Not thread-safe: one thread at a time may use a ring. The caller owns the buffer of a read and
// keeps it until the read has ended; the destructor waits for all reads.
#ifndef TESTBED_DEVICE_FILE_READ_RING_H_
#define TESTBED_DEVICE_FILE_READ_RING_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "device/file/file.h"

// The names are liburing's. NOLINTBEGIN(readability-identifier-naming)
struct io_uring;
struct io_uring_cqe;
struct io_uring_sqe;
// NOLINTEND(readability-identifier-naming)

namespace testbed {

class ReadRing {
 public:
  // Makes a ring for at most `depth` reads in flight. With `own_thread` only the thread that makes
  // the ring may use it, which costs the kernel less. Throws Error (kIo) when the kernel has no
  // io_uring, has one without reads (before Linux 5.6), or does not permit it.
  explicit ReadRing(uint32_t depth, bool own_thread = true);
  ~ReadRing();
  ReadRing(const ReadRing&) = delete;
  ReadRing& operator=(const ReadRing&) = delete;

  // Returns whether a ring can be made. If not, sets *why to a sentence, unless `why` is null.
  static bool Available(std::string* why = nullptr);

  // Starts a read; Take returns its `tag` when it has ended. `file` is in direct or buffered mode;
  // in direct mode the request must be aligned to its alignment(). Throws Error (kRun) when `depth`
  // reads are in flight, and Error (kIo) when the kernel refuses the read, which is then not in
  // flight.
  void Start(const File& file, uint64_t offset, void* buffer, size_t n, uint64_t tag);

  struct Ended {
    uint64_t tag;
    int32_t result;  // bytes read, or the negative errno
  };
  // Returns a read that has ended, and waits for the first to end. At least one read must be in
  // flight. A failed read is not an Error but a negative result.
  Ended Take();
  // Returns a read that has ended; nothing when none has. Does not wait, but costs a system call.
  std::optional<Ended> TakeIfEnded();

  uint32_t in_flight() const { return in_flight_; }

 private:
  Ended Consume(io_uring_cqe* entry);

  const std::unique_ptr<io_uring> ring_;
  // refused_ is a submission entry that the kernel refused. The entry stays queued and goes to the
  // kernel with the next submission, so it is a no-op until the next Start writes its read into it.
  io_uring_sqe* refused_ = nullptr;
  const uint32_t depth_;
  uint32_t in_flight_ = 0;
  bool workers_registered_ = false;  // the account knows the kind of file that the workers read
};

}  // namespace testbed

#endif  // TESTBED_DEVICE_FILE_READ_RING_H_
