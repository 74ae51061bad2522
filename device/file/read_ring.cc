#include "device/file/read_ring.h"

#include <liburing.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "device/account/thread_kinds.h"
#include "device/error.h"
#include "device/file/file_faults.h"

namespace testbed {
namespace {

// One thread submits and takes reads, so the kernel need not interrupt it when a read ends.
constexpr unsigned kOneThread = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;

// Returns whether the kernel has IORING_OP_READ. Linux 5.6 brought both this operation and the
// probe that tells of it. An older kernel has rings, and ends each read with EINVAL.
bool KnowsReads(io_uring* ring) {
  io_uring_probe* const probe = ::io_uring_get_probe_ring(ring);
  if (probe == nullptr) return false;
  const bool knows = ::io_uring_opcode_supported(probe, IORING_OP_READ) != 0;
  ::io_uring_free_probe(probe);
  return knows;
}

}  // namespace

ReadRing::ReadRing(uint32_t depth, bool own_thread)
    : ring_(std::make_unique<io_uring>()), depth_(depth) {
  int error = ::io_uring_queue_init(depth, ring_.get(), own_thread ? kOneThread : 0);
  if (error == -EINVAL) error = ::io_uring_queue_init(depth, ring_.get(), 0);  // before Linux 6.1
  if (error == 0 && !KnowsReads(ring_.get())) {
    ::io_uring_queue_exit(ring_.get());
    error = -EOPNOTSUPP;
  }
  if (error < 0) {
    throw Error(Error::kIo,
                std::string("the kernel gives no io_uring, which reads in flight take: ") +
                    std::strerror(-error) +
                    "; see /proc/sys/kernel/io_uring_disabled, or leave out --queue-depth",
                -error);
  }
}

bool ReadRing::Available(std::string* why) {
  try {
    ReadRing ring(1);
    return true;
  } catch (const Error& error) {
    if (why != nullptr) *why = error.what();
    return false;
  }
}

ReadRing::~ReadRing() {
  try {
    while (in_flight_ > 0) Take();
  } catch (const Error&) {
    // The kernel refuses to wait for the reads, and a destructor cannot report that. Closing the
    // ring ends the reads.
  }
  ::io_uring_queue_exit(ring_.get());
}

void ReadRing::Start(const File& file, uint64_t offset, void* buffer, size_t n, uint64_t tag) {
  if (in_flight_ == depth_) {
    throw Error(Error::kRun, "more reads were started than the ring has room for");
  }
  if (!workers_registered_) {
    RegisterThreads(kRingWorkers, file.options().kind);
    workers_registered_ = true;
  }
  io_uring_sqe* entry = std::exchange(refused_, nullptr);
  if (entry == nullptr) entry = ::io_uring_get_sqe(ring_.get());
  ::io_uring_prep_read(entry, file.fd(), buffer, static_cast<unsigned>(n), offset);
  ::io_uring_sqe_set_data64(entry, tag);
  const CallMark mark(file.options().kind);
  for (;;) {
    const int fault = FileFaults::Next(false);
    const int submitted = fault != 0 ? -fault : ::io_uring_submit_and_get_events(ring_.get());
    if (submitted > 0) break;
    if (submitted < 0 && submitted != -EINTR && submitted != -EAGAIN && submitted != -EBUSY) {
      ::io_uring_prep_nop(entry);
      refused_ = entry;
      throw Error::Io("start a read of", file.path(), -submitted);
    }
  }
  ++in_flight_;
  file.CountStartedRead(offset, n);
}

ReadRing::Ended ReadRing::Take() {
  io_uring_cqe* entry = nullptr;
  for (;;) {
    const int error = ::io_uring_wait_cqe(ring_.get(), &entry);
    if (error == 0) break;
    if (error != -EINTR && error != -EAGAIN) throw Error::Io("wait for reads", "", -error);
  }
  return Consume(entry);
}

std::optional<ReadRing::Ended> ReadRing::TakeIfEnded() {
  io_uring_cqe* entry = nullptr;
  // The kernel completes reads only in calls of the ring's own thread (IORING_SETUP_DEFER_TASKRUN).
  (void)::io_uring_get_events(ring_.get());
  if (::io_uring_peek_cqe(ring_.get(), &entry) != 0) return std::nullopt;
  return Consume(entry);
}

ReadRing::Ended ReadRing::Consume(io_uring_cqe* entry) {
  Ended ended{entry->user_data, entry->res};
  if (const int fault = FileFaults::Next(false)) ended.result = -fault;
  ::io_uring_cqe_seen(ring_.get(), entry);
  --in_flight_;
  return ended;
}

}  // namespace testbed
