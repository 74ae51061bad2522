// A Population records which rows of a data set the database holds while clients insert and erase
// rows. The record carries over from one phase to the next, and from one run to the next.
//
// Every row has a place in a queue. The first places belong to the loaded rows, scattered by a
// fixed permutation; behind them each inserted row has the place of its own number. An insert takes
// the next free place at the end. An erase takes the row at the front, which is the oldest; while
// loaded rows are left, that row may lie anywhere in the key space. So the places of the rows that
// exist form one range, or a few; after a replay of erases they form many. The successors of a
// loaded row are the rows whose places differ from its own by a multiple of the number of loaded
// rows. Each is as popular as that row, also while both exist.
//
// A client prepares its operations in batches. A batch holds rows to insert, rows to erase, and
// rows that are kept, which means that no client erases them meanwhile; the client holds them until
// its next batch begins. So every operation finds its row as it was when the operation was
// prepared, without a lock in the timed part.
//
//   Population::Client client(population);           // one per thread
//   size_t held;
//   {
//     Population::Batch batch(client);               // exclusive; gives back the last batch
//     held = batch.TakeInsert().held;
//   }
//   client.Begin(held);
//   session->Put(table, key, value);
//   client.Done(held);
//
// Creating and ending a Client or a Batch is thread-safe. Everything else is not: a Client belongs
// to one thread, and the const methods of a Population may be called only inside a Batch or while
// no Batch exists.
#ifndef TESTBED_WORKLOADS_POPULATION_H_
#define TESTBED_WORKLOADS_POPULATION_H_

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>
#include <vector>

#include "device/os/mutex.h"
#include "workloads/dataset.h"
#include "workloads/range_set.h"

namespace testbed {

class Engine;

class Population {
 public:
  // Starts with the rows of the data set as they are loaded: all of them, and no others.
  explicit Population(std::shared_ptr<const Dataset> dataset);

  class Batch;
  // Holds the rows of one client's last batch and gives them back when it is destroyed. The
  // population must outlive it.
  class Client {
   public:
    explicit Client(Population& population);
    ~Client();
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    // The caller brackets the write of a place that TakeInsert or TakeErase returned with Begin and
    // Done. Between the two calls it is not known whether the row exists; a client that ends then,
    // because of an error, makes the population unknown.
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
    // Returns held rows to the population according to their state. The caller holds
    // population_.mutex_.
    void GiveBack();

    Population& population_;
    std::vector<Held> held_;
    std::vector<uint64_t> kept_;
  };

  // Holds the population's mutex while it lives, and first gives back what the client's last batch
  // held.
  class Batch {
   public:
    // Waits for other batches, and releases the rows of the client's last batch.
    explicit Batch(Client& client);
    // A place, and the index to pass to Begin and Done.
    struct Taken {
      uint64_t place;
      size_t held;  // argument of Client::Begin and Client::Done
    };
    // Takes the place of a row that the database is not known to have held (next()).
    Taken TakeInsert();
    // Takes the oldest row that no client keeps. Returns nothing when no such row exists.
    std::optional<Taken> TakeErase();
    // Protects the row from being erased until the client's next batch.
    void Keep(uint64_t place);
    // Returns whether rows exist, or clients still hold rows whose fate is open until their next
    // batches.
    bool Hopeful() const;

   private:
    Client& client_;
    Population& population_;
    LockGuard lock_;
    // The number of oldest rows that are known to be kept. No client gives a row back while the
    // batch lives, so an erase need not look at them again.
    uint64_t kept_rows_ = 0;
  };

  // Returns the row that has this place.
  uint64_t RowOf(uint64_t place) const;
  // Returns the place that a row has, or would have if it existed.
  uint64_t PlaceOf(uint64_t row) const;
  const Dataset& dataset() const { return *dataset_; }

  // Returns the places of the rows that exist and that no client is about to erase.
  const RangeSet& there() const { return there_; }
  // Returns the place behind the last row that is known to have been inserted. Count knows only the
  // rows that exist, so inserts after it may take the places of rows that were erased before.
  uint64_t next() const { return next_; }
  // Returns whether the database holds exactly the rows of the data set.
  bool as_loaded() const { return next_ == dataset_->rows() && there_.count() == dataset_->rows(); }

  // Divides the rows that are inserted from now on among several processes that work on the
  // database at once: this one is number `share` of `shares`, from 0. Blocks of kInsertBlock places
  // belong to the processes in turn, from next() on, which must be the same in all of them. It
  // stays so when the population is restored or counted; the blocks then begin at its end.
  void Divide(uint64_t share, uint64_t shares);
  static constexpr uint64_t kInsertBlock = 4096;
  // Returns whether other processes may insert rows, which this population does not have.
  bool divided() const { return shares_ > 1; }

  // Returns whether it is known which rows exist.
  bool known() const { return known_; }
  // Records that it is no longer known which rows exist.
  void Forget() { known_ = false; }
  // Returns {"rows": count, "places": [[begin, end], ...], "next": place}, or null when the rows
  // are not known.
  nlohmann::json ToJson() const;
  // Restores the state that ToJson wrote; null makes the rows unknown. Throws Error (kRun) when the
  // record is damaged.
  void FromJson(const nlohmann::json& json);
  // Returns the record of all rows that several processes know of, from the records of each
  // (ToJson), when none of them has erased a row: null when one of the records is. Throws Error
  // (kRun) when one is damaged.
  static nlohmann::json Unite(const std::vector<nlohmann::json>& records);
  // Finds out which rows the database holds by a scan of its main table. The rows stay unknown when
  // `stop` ends the scan early, and when the table holds a key that belongs to no row, as after a
  // replay of other keys. Returns false in the latter case.
  bool Count(Engine& engine, bool (*stop)() = nullptr);

 private:
  uint64_t TakeNext();  // the caller holds mutex_
  void BeginShares() {
    shares_begin_ = next_;
    taken_of_share_ = 0;
  }

  const std::shared_ptr<const Dataset> dataset_;
  const Permutation scatter_;  // place of a loaded row -> row
  Mutex mutex_;                // held by a Batch
  bool known_ = true;
  RangeSet there_;
  RangeSet unused_;  // places that inserts took but never wrote
  uint64_t next_;
  uint64_t share_ = 0, shares_ = 1;  // arguments of Divide
  uint64_t shares_begin_ = 0;        // the first place of those that are divided
  uint64_t taken_of_share_ = 0;      // how many places this process has taken of its own
  std::vector<Client*> clients_;
  // The number of clients that keep a place, by place. A place that no client keeps has no entry.
  std::unordered_map<uint64_t, uint64_t> kept_;
};

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_POPULATION_H_
