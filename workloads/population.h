// Which rows of a data set its database holds, while clients insert and erase, and from one phase,
// and one run, to the next.
//
// Rows stand in a queue. Its first places are the loaded rows', scattered by a fixed permutation;
// behind them each inserted row has the place of its own number. An insert takes the place behind
// the last; an erase takes the first row, which is the oldest, and anywhere in the key space while
// loaded rows are left. So the places of the rows that are there are one range, or a few. Popularity
// belongs to a loaded row and its successors: the rows whose places differ from its own by a multiple
// of the number of loaded rows.
//
// A client prepares its operations in batches, and each batch holds what it was given until the next
// one: rows to insert, rows to erase, and rows that are kept, which nobody erases meanwhile. So every
// operation finds its row as it was when the operation was prepared, without a lock in its timed
// part.
//
//   Population::Client client(population);          // one a thread
//   {
//     Population::Batch batch(client);              // exclusive; gives back what the last one held
//     std::optional<uint64_t> place = batch.TakeInsert();
//   }
//   client.Begin(*place); ... session.Put(...) ...; client.Done(*place);
//
// Thread-safe where it says so; there() and what follows from it may be read without a Batch while
// nobody has one.
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

// A set of numbers, kept as the ranges that it consists of.
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
  // How many numbers are `n` or greater.
  uint64_t CountFrom(uint64_t n) const;
  // The k-th number, from 0; k < count().
  uint64_t At(uint64_t k) const;
  const std::vector<Range>& ranges() const { return ranges_; }

 private:
  std::vector<Range> ranges_;  // in order, none touching the next
  uint64_t count_ = 0;
};

class Population {
 public:
  // Holds the rows of the data set, as loaded.
  explicit Population(std::shared_ptr<const Dataset> dataset);

  class Batch;
  // What a client's last batch holds. It gives that back when it ends. Outlived by the population.
  class Client {
   public:
    explicit Client(Population& population);
    ~Client();
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    // Around the write of a place that TakeInsert or TakeErase gave. Between the two nobody knows
    // whether the row is there: a client that ends then, for an error, leaves the population unknown.
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
    void GiveBack();  // under the population's mutex

    Population& population_;
    std::vector<Held> held_;
    std::vector<uint64_t> kept_;
    uint64_t least_kept_ = UINT64_MAX;
  };

  // Exclusive, while it lives.
  class Batch {
   public:
    explicit Batch(Client& client);
    // A place and the number to call Begin and Done with.
    struct Taken {
      uint64_t place;
      size_t held;
    };
    // A row that was never there.
    Taken TakeInsert();
    // The oldest row that no client keeps; nothing without one.
    std::optional<Taken> TakeErase();
    // Keeps a row from being erased until the client's next batch.
    void Keep(uint64_t place);
    // Whether rows are there, or clients hold some whose fate is open until their next batches.
    bool Hopeful() const;

   private:
    Client& client_;
    Population& population_;
    std::lock_guard<std::mutex> lock_;
  };

  uint64_t RowOf(uint64_t place) const;
  // Where a row stands, or would.
  uint64_t PlaceOf(uint64_t row) const;
  const Dataset& dataset() const { return *dataset_; }

  // The places of the rows that are there and that no client is about to erase.
  const RangeSet& there() const { return there_; }
  // The place behind the last row that was ever inserted.
  uint64_t next() const { return next_; }
  // Whether the rows there are those of the data set.
  bool as_loaded() const { return next_ == dataset_->rows() && there_.count() == dataset_->rows(); }

  // Whether it is known which rows are there.
  bool known() const { return known_; }
  void Forget() { known_ = false; }
  // {"rows": how many, "places": [[begin, end], ...], "next": place}; null when it is not known.
  nlohmann::json ToJson() const;
  // Takes over what ToJson wrote; throws Error (kRun) for anything else. Null makes it unknown.
  void FromJson(const nlohmann::json& json);
  // Finds out which rows the database holds by a scan of its main table; stays unknown when `stop`
  // ends it before. Throws Error (kRun) when there are others than the data set's.
  void Count(Engine& engine, bool (*stop)() = nullptr);

 private:
  bool Kept(uint64_t place) const;

  const std::shared_ptr<const Dataset> dataset_;
  const Permutation scatter_;
  std::mutex mutex_;
  bool known_ = true;
  RangeSet there_;
  RangeSet unused_;  // places that inserts took and gave back
  uint64_t next_;
  std::vector<Client*> clients_;
};

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_POPULATION_H_
