// A Population says which rows of a data set its database holds, while clients insert and erase
// rows, and from one phase or run to the next.
//
// Rows stand in a queue. The loaded rows have its first places, scattered by a fixed permutation.
// Behind them each inserted row has the place of its own number. An insert takes the place behind
// the last; an erase takes the first row, which is the oldest and, while loaded rows are left, may
// be anywhere in the key space. So the places of the present rows are one range, or a few ranges.
// Popularity belongs to a loaded row and its successors: the rows whose places differ from the
// loaded row's by a multiple of the number of loaded rows.
//
// A client prepares its operations in batches. A batch holds its rows until the client's next
// batch: rows to insert, rows to erase, and kept rows, which no client erases meanwhile. So every
// operation finds its row as it was when the operation was prepared, without a lock in its timed
// part.
//
//   Population::Client client(population);          // one per thread
//   Population::Batch::Taken taken;
//   {
//     Population::Batch batch(client);              // exclusive; releases the last batch's rows
//     taken = batch.TakeInsert();
//   }
//   client.Begin(taken.held);
//   session.Put(...);                               // the row population.RowOf(taken.place)
//   client.Done(taken.held);
//
// Making and destroying a Client or a Batch is thread-safe. The const methods of a Population may
// be called by the thread that has the Batch, or by any thread while there is no Batch. All other
// methods need that no client exists.
#ifndef TESTBED_WORKLOADS_POPULATION_H_
#define TESTBED_WORKLOADS_POPULATION_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "workloads/dataset.h"

namespace testbed {

class Engine;

// A set of numbers, kept as ranges. Not thread-safe.
class RangeSet {
 public:
  struct Range {
    uint64_t begin, end;
    friend bool operator==(const Range&, const Range&) = default;
  };
  void Add(uint64_t begin, uint64_t end);
  void Add(uint64_t n) { Add(n, n + 1); }
  void Remove(uint64_t n);
  bool Contains(uint64_t n) const;
  bool empty() const { return ranges_.empty(); }
  uint64_t count() const { return count_; }
  // Returns how many of the numbers are `n` or greater.
  uint64_t CountFrom(uint64_t n) const;
  // Returns the k-th number, from 0; k < count().
  uint64_t At(uint64_t k) const;
  const std::vector<Range>& ranges() const { return ranges_; }

 private:
  std::vector<Range> ranges_;  // in ascending order, with a gap between neighbours
  uint64_t count_ = 0;
};

class Population {
 public:
  // Makes the population of a database that was just loaded: exactly the rows of the data set.
  explicit Population(std::shared_ptr<const Dataset> dataset);

  class Batch;
  // Holds the rows of a client's last batch, and releases them when it is destroyed. The population
  // must outlive it. Begin and Done may be called without a Batch, by the client's thread.
  class Client {
   public:
    explicit Client(Population& population);
    ~Client();
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    // The client calls these before and after the write of a row that TakeInsert or TakeErase gave;
    // `held` is Taken::held. Between the two it is unknown whether the row is present: a client
    // that is destroyed then, because of an error, leaves the population unknown.
    void Begin(size_t held) { held_[held].state = kBegun; }
    void Done(size_t held) { held_[held].state = kDone; }

   private:
    friend class Batch;
    friend class Population;
    enum State : uint8_t { kTaken, kBegun, kDone };
    struct Held {
      uint64_t place;
      bool insert;
      State state;
    };
    void GiveBack();  // releases the rows; the caller holds the population's mutex

    Population& population_;
    std::vector<Held> held_;
    std::vector<uint64_t> kept_;
    uint64_t least_kept_ = UINT64_MAX;
  };

  // Prepares a batch of operations. It holds the population's mutex while it lives.
  class Batch {
   public:
    // Waits for other batches, and releases the rows of the client's last batch.
    explicit Batch(Client& client);
    struct Taken {
      uint64_t place;
      size_t held;  // argument of Client::Begin and Client::Done
    };
    // Takes a row to insert, which was never present.
    Taken TakeInsert();
    // Takes the oldest row that no client keeps, to erase it. Returns nothing when there is none.
    std::optional<Taken> TakeErase();
    // Keeps a row from being erased until the client's next batch.
    void Keep(uint64_t place);
    // Returns whether rows are present, or may be present after the next batches of clients that
    // hold rows now.
    bool Hopeful() const;

   private:
    Client& client_;
    Population& population_;
    std::lock_guard<std::mutex> lock_;
  };

  // Converts between a row and its place, whether or not the row is present. Thread-safe.
  uint64_t RowOf(uint64_t place) const;
  uint64_t PlaceOf(uint64_t row) const;
  const Dataset& dataset() const { return *dataset_; }

  // Returns the places of the present rows, without those that a client holds to erase them.
  const RangeSet& there() const { return there_; }
  // Returns the place behind the last row that was ever inserted.
  uint64_t next() const { return next_; }
  // Returns whether the present rows are exactly those of the data set.
  bool as_loaded() const { return next_ == dataset_->rows() && there_.count() == dataset_->rows(); }

  // Returns whether it is known which rows are present.
  bool known() const { return known_; }
  void Forget() { known_ = false; }
  // Returns {"rows": number of rows, "places": [[begin, end], ...], "next": place}; null when the
  // population is unknown.
  nlohmann::json ToJson() const;
  // Takes over what ToJson returned. Null makes the population unknown. Throws Error (kRun) for any
  // other value.
  void FromJson(const nlohmann::json& json);
  // Finds out which rows the database holds by a scan of its main table. The population stays
  // unknown when `stop` returns true before the end. Throws Error (kRun) when a key belongs to no
  // row.
  void Count(Engine& engine, bool (*stop)() = nullptr);

 private:
  bool Kept(uint64_t place) const;  // the caller holds mutex_

  const std::shared_ptr<const Dataset> dataset_;
  const Permutation scatter_;  // place of a loaded row -> row
  std::mutex mutex_;           // held by a Batch
  bool known_ = true;
  RangeSet there_;
  RangeSet unused_;  // places that inserts took and gave back unwritten
  uint64_t next_;
  std::vector<Client*> clients_;
};

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_POPULATION_H_
