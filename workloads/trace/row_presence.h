// Tracks which rows of a data set the database holds while a replay writes, so that the replay can
// tell which of its puts insert a row and which of its erases remove one.
//
//   RowPresence rows(population, has_erases);
//   {
//     const RowPresence::Hold hold(rows, mine);   // the rows that an operation writes
//     session.Put(table, key, value);
//     inserted += rows.Insert(row);
//   }
//
// A put and an erase of the same row by two clients are counted rightly only in the order in which
// the engine performs them. So in a trace with erases each operation holds its rows until its end.
// Puts alone need no order: whichever comes first inserts the row. Thread-safe.
#ifndef TESTBED_WORKLOADS_TRACE_ROW_PRESENCE_H_
#define TESTBED_WORKLOADS_TRACE_ROW_PRESENCE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "device/os/mutex.h"
#include "workloads/population.h"

namespace testbed {

class RowPresence {
 public:
  // Begins with the rows of the population, which must be known. With `ordered`, operations hold
  // their rows.
  RowPresence(const Population& population, bool ordered);

  // Record a put or an erase of the row. Insert returns whether the row did not exist before, Erase
  // whether it did.
  bool Insert(uint64_t row);
  bool Erase(uint64_t row);
  // Returns how many words of 64 rows hold the rows beyond those of the load. Each takes some 50
  // bytes of the run's memory.
  size_t AddedWords();

  // Holds the rows that the caller is about to write, while it lives. Does nothing unless
  // `ordered`. A thread may have only one, and must hold no lock of the engine when it makes it, so
  // that no two threads wait for each other.
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
    std::mutex held;  // locked by a Hold, in ways that the analysis cannot check
    Mutex mutex;
    // The rows beyond those of the load: a word of 64 bits, one for each row, by row / 64.
    std::unordered_map<uint64_t, uint64_t> added GUARDED_BY(mutex);
  };
  static size_t StripeOf(uint64_t row) { return Mix64(row) % kStripes; }

  const bool ordered_;
  const uint64_t loaded_;                     // rows of the data set
  std::vector<std::atomic<uint64_t>> there_;  // a bit for each of these rows
  std::vector<Stripe> stripes_;
};

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_TRACE_ROW_PRESENCE_H_
