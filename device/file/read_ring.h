// Reads in flight: one thread starts many and takes them as they end, by io_uring(7).
//
//   ReadRing ring(64);
//   ring.Start(file, offset, buffer, n, tag);       // up to 64 at once
//   while (ring.in_flight() > 0) {
//     const ReadRing::Ended ended = ring.Take();    // waits when none has ended yet
//     use(ended.tag, ended.result);
//   }
//
// Each Start is a system call of its own: the kernel submits the blocks of a read on the thread
// that starts it, so they are charged to the operation that is open then (the levels add up as they
// do for pread(2)). The read is counted at the file level when it starts, with the bytes asked for.
//
// For one thread at a time; with `own_thread`, which costs less, for the one that made it. Buffers
// must stay until their read has ended; the destructor waits for all.
#ifndef TESTBED_DEVICE_FILE_READ_RING_H_
#define TESTBED_DEVICE_FILE_READ_RING_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "device/file/file.h"

struct io_uring;
struct io_uring_sqe;

namespace testbed {

class ReadRing {
 public:
  // Throws Error (kIo) where the kernel has no io_uring or does not permit it.
  explicit ReadRing(uint32_t depth, bool own_thread = true);
  ~ReadRing();
  ReadRing(const ReadRing&) = delete;
  ReadRing& operator=(const ReadRing&) = delete;

  // Whether the kernel has io_uring and permits it.
  static bool Available(std::string* why = nullptr);

  // `file` is direct or buffered; a direct one takes requests aligned to its alignment() only.
  void Start(const File& file, uint64_t offset, void* buffer, size_t n, uint64_t tag);

  struct Ended {
    uint64_t tag;
    int32_t result;  // bytes read, or the negative errno
  };
  // One that has ended. Something must be in flight.
  Ended Take();

  uint32_t in_flight() const { return in_flight_; }

 private:
  const std::unique_ptr<io_uring> ring_;
  // An entry that the kernel did not take. It is still queued and runs with the next one, so it is
  // made to do nothing until a next read is written into it.
  io_uring_sqe* refused_ = nullptr;
  const uint32_t depth_;
  uint32_t in_flight_ = 0;
};

}  // namespace testbed

#endif  // TESTBED_DEVICE_FILE_READ_RING_H_
