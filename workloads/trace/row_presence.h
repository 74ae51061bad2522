// Which rows of a data set the database holds while a replay writes: so a replay can tell which of its
// puts insert a row and which of its erases remove one.
//
//   RowPresence rows(population, has_erases);
//   {
//     const RowPresence::Hold hold(rows, mine);   // the rows that an operation writes
//     session.Put(table, key, value);
//     inserted += rows.Insert(row);
//   }
//
// A put and an erase of one row by two clients count right only in the order in which the engine
// performed them, so a trace with erases has an operation's rows held until it has ended. Puts alone
// need no order: whichever comes first inserts the row. Thread-safe.
#ifndef TESTBED_WORKLOADS_TRACE_ROW_PRESENCE_H_
#define TESTBED_WORKLOADS_TRACE_ROW_PRESENCE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_set>
#include <vector>

#include "device/os/mutex.h"
#include "workloads/population.h"

namespace testbed {

class RowPresence {
 public:
  // Begins with the rows of the population, which is known. `ordered`: operations hold their rows.
  RowPresence(const Population& population, bool ordered);

  // Return whether the row came to be, or ceased to be.
  bool Insert(uint64_t row);
  bool Erase(uint64_t row);

  // Holds the rows that the caller is about to write, while it lives; none unless `ordered`. A thread
  // has one at a time, and none of the engine's locks when it makes one, so that no two threads wait
  // for each other.
  class Hold {
   public:
    Hold(RowPresence& presence, const std::vector<uint64_t>& rows);
    ~Hold();
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    RowPresence& presence_;
    std::array<uint64_t, 16> held_{};  // a bit for each stripe
  };

 private:
  static constexpr size_t kStripes = 16 * 64;
  struct Stripe {
    std::mutex held;  // of rows, by a Hold: not checked by the analysis, which ends at a function
    Mutex mutex;
    std::unordered_set<uint64_t> added GUARDED_BY(mutex);  // rows beyond those of the load
  };
  static size_t StripeOf(uint64_t row) { return Mix64(row) % kStripes; }

  const bool ordered_;
  const uint64_t loaded_;                     // rows of the data set
  std::vector<std::atomic<uint64_t>> there_;  // a bit for each of them
  std::vector<Stripe> stripes_;
};

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_TRACE_ROW_PRESENCE_H_
