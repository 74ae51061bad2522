// Divides the operations of a phase (--operations) among its clients: evenly in advance, or, among
// clients that differ in how many they have, as they go.
//
//   OperationQuota quota(options.operations, clients, workload.uneven());
//   uint64_t most = quota.Of(number);             // a client performs no more
//   const size_t prepared = client.Generate(most);
//   uint64_t n = quota.Claim(prepared);           // it performs n now, and claims again
//
// Thread-safe.
#ifndef TESTBED_WORKLOADS_MEASURE_OPERATION_QUOTA_H_
#define TESTBED_WORKLOADS_MEASURE_OPERATION_QUOTA_H_

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace testbed {

class OperationQuota {
 public:
  // `operations` is 0 when there is no limit.
  OperationQuota(uint64_t operations, int clients, bool uneven)
      : operations_(operations),
        clients_(static_cast<uint64_t>(clients)),
        shared_(uneven && operations != 0),
        unclaimed_(operations) {}

  // Returns how many operations a client performs at most, as far as Claim grants them. A client
  // whose number is not below `clients` has no limit.
  uint64_t Of(int client) const {
    const auto number = static_cast<uint64_t>(client);
    if (operations_ == 0 || number >= clients_ || shared_) return UINT64_MAX;
    return operations_ / clients_ + (number < operations_ % clients_);
  }
  // Returns how many of `n` prepared operations the client may perform next; 0 when the clients
  // have claimed all. Of operations that are divided as they go it is at most a client's equal part
  // of those that are left (guided self-scheduling, Polychronopoulos and Kuck 1987), so that all
  // clients work until the end. A client that starts its operations by the clock claims each one
  // when it begins: others must not wait for what it has claimed.
  uint64_t Claim(uint64_t n) {
    if (!shared_) return n;
    uint64_t left = unclaimed_.load(), claimed;
    do {
      claimed = std::min(n, (left + clients_ - 1) / clients_);
    } while (!unclaimed_.compare_exchange_weak(left, left - claimed));
    return claimed;
  }
  // Returns whether all operations are claimed that are divided as they go.
  bool IsUsedUp() const { return shared_ && unclaimed_.load(std::memory_order_relaxed) == 0; }
  // Returns how many operations a client has left to do when it stops, with `own` left of Of.
  uint64_t Left(uint64_t own) const { return shared_ ? unclaimed_.load() / clients_ : own; }

 private:
  const uint64_t operations_, clients_;
  const bool shared_;                // the clients take operations as they go
  std::atomic<uint64_t> unclaimed_;  // operations that no client has taken
};

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_MEASURE_OPERATION_QUOTA_H_
