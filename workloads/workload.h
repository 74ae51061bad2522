// A workload is a set of operations that threads perform on an engine. Each thread prepares its
// operations outside the timed part and executes them inside it.
//
//   auto workload = FindWorkload("point-read").make(dataset, options);
//   workload->OpenTables(engine);
//   auto client = workload->NewClient(session, thread, threads);   // one per thread
//   while (size_t n = client->Generate(64)) {                      // untimed: keys and values
//     for (size_t i = 0; i < n; ++i) client->Execute(i);           // timed: one operation per call
//   }
//
// A workload uses Engine and Session, never a concrete engine. workloads/registry.h says how a
// workload joins the build; row_chooser.h says how it chooses rows.
#ifndef TESTBED_WORKLOADS_WORKLOAD_H_
#define TESTBED_WORKLOADS_WORKLOAD_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "engines/engine.h"
#include "workloads/consume.h"
#include "workloads/dataset.h"

namespace testbed {

class Population;
class WritingPhases;

enum class Distribution : uint8_t {
  kUniform,
  kZipfian,
  kLatest,
  kHot,
  kScrambled,
  kExponential,
  kSequential
};
// Returns all distributions with the names that --distribution gives them.
const std::vector<std::pair<std::string, Distribution>>& Distributions();
const char* DistributionName(Distribution distribution);

struct WorkloadOptions {
  uint32_t rows_per_transaction = 1;
  Distribution distribution = Distribution::kUniform;
  double zipf_theta = 0.99;
  double hot_fraction = 0.5;     // the hot rows: this share of the keys
  double hot_probability = 1.0;  // share of the accesses that goes to the hot rows
  double hit_ratio = 1.0;        // share of point reads whose key exists
  // The number of a set of popular rows, from 1: each number makes other rows popular, or hot. The
  // hot rows of number 1 are the first rows, those of number 2 follow them, and so on; after
  // 1 / hot_fraction numbers the first rows come again.
  uint32_t popular_rows = 1;
  uint32_t scan_rows = 100;
  std::map<std::string, double> mix;  // operation -> share; for workload mixed
  // The values of --workload-option name=value, which only the named workload understands.
  std::map<std::string, std::string> extra;
  uint64_t seed = 42;
  // The directory for temporary files, on the device of the database; empty: the system's
  // directory.
  std::string directory;
  // The rows of the data set that the database holds; null means all of them, and no others.
  std::shared_ptr<Population> population;
  // The numbers of the phases that write to the database (writing_phases.h). Null: the phases are
  // not numbered.
  std::shared_ptr<WritingPhases> writing_phases;
  // The workload that loaded the database, or loads it in this run; empty when it is not known.
  std::string loader;
};

// The most bytes of keys and values that a client prepares at once, unless a single operation has
// more. They are memory of the run, beside what is measured.
inline constexpr size_t kBatchBytes = 1 << 20;

// One thread's part of a workload. Not thread-safe.
class Client {
 public:
  virtual ~Client() = default;
  // Prepares up to `max` operations and returns how many it prepared; 0 means that this thread's
  // work is done, unless the client waits.
  virtual size_t Generate(size_t max) = 0;
  // Returns whether the last call of Generate prepared nothing because other clients hold what this
  // one needs, until their next calls of Generate. It is then to be called again. The client must
  // not wait for them itself: in a phase of slices they may rest until it rests, too.
  virtual bool Waits() const { return false; }
  // Performs the i-th prepared operation, including its commit.
  virtual void Execute(size_t i) = 0;
  // For workloads whose operations are single point reads (WorkloadInfo::point_reads). The runner
  // may call these two in place of Execute: RequestOf returns the key that the i-th prepared
  // operation looks up, and TakeAnswer receives the result. `value` stays valid until Verify(i).
  struct Request {
    TableId table = 0;
    std::string_view key;
  };
  virtual Request RequestOf(size_t i) const { return {}; }
  virtual void TakeAnswer(size_t i, bool found, std::string_view value) {}
  // Returns the index into Workload::ops() of the i-th prepared operation's kind.
  virtual size_t OpOf(size_t i) const { return 0; }
  // For a workload that sets its operations' times (Workload::timed): returns when the i-th
  // prepared operation is to start, in nanoseconds since the phase began. Never less than that of
  // the one before it.
  virtual uint64_t DueNs(size_t i) const { return 0; }
  // For a workload that knows the times of all operations to come (Workload::knows_due_times):
  // returns when the first operation is to start that Execute has not performed and that no earlier
  // call has passed over, and passes over `n` operations from it on, at least one. The runner calls
  // it when the phase has ended.
  virtual uint64_t PassOver(uint64_t n) { return UINT64_MAX; }
  // Tells the client, before a call of Execute, whether Verify will check it. It is not called
  // before TakeAnswer, which Verify may check at any time.
  void set_to_verify(bool to_verify) { to_verify_ = to_verify; }
  // Tells the client, before its first operation, whether all operations are checked (--verify
  // all), and not a sample of them. Verify may then look at more.
  void set_verifies_all(bool verifies_all) { verifies_all_ = verifies_all; }
  // Tells the client, before its first operation, how to learn that the phase performs no further
  // operations. A call of Generate that may look for the next one for long asks it meanwhile.
  void set_is_over(std::function<bool()> is_over) { is_over_ = std::move(is_over); }
  // Returns whether the last call of Execute(i) or TakeAnswer(i) found the right result. The runner
  // calls it for a sample of the operations, before it asks anything else of the session.
  virtual bool Verify(size_t i) = 0;
  // Returns whether the last call of Execute kept rows for Verify, which took a part of its time.
  // The runner asks only after an operation that Verify will check.
  virtual bool Kept() const { return false; }

  // Counts since the client was created. Another thread may read them after the client's thread
  // ended.
  struct Totals {
    uint64_t rows_read = 0, rows_written = 0, not_found = 0;
    // Rows that committed operations added to or removed from the database, without index entries:
    // a scan of the tables finds the difference.
    uint64_t rows_inserted = 0, rows_erased = 0;
    uint64_t user_bytes_written = 0;  // keys and values, indexes included
    bool rows_unknown = false;        // the workload cannot tell how many were inserted and erased
    Totals& operator+=(const Totals& o) {
      rows_read += o.rows_read;
      rows_written += o.rows_written;
      not_found += o.not_found;
      rows_inserted += o.rows_inserted;
      rows_erased += o.rows_erased;
      user_bytes_written += o.user_bytes_written;
      rows_unknown = rows_unknown || o.rows_unknown;
      return *this;
    }
  };
  const Totals& totals() const { return totals_; }

  // Sets what operations do with the keys and values that they receive; the default is kNone.
  void set_consume(Consume how) { consume_ = Consumer(how); }

 protected:
  // Verify will check the next operation, so Execute must keep what it finds (rows/kept_rows.h).
  bool to_verify_ = false;
  bool verifies_all_ = false;  // all operations are checked
  bool IsOver() const { return is_over_ != nullptr && is_over_(); }
  Totals totals_;
  // Execute and TakeAnswer pass every value that the engine returns, and every key of a scan, to
  // this consumer.
  Consumer consume_;

 private:
  std::function<bool()> is_over_;
};

class Workload {
 public:
  virtual ~Workload() = default;
  // Returns the workload's name in the registry.
  virtual const std::string& name() const = 0;
  // Returns the kinds of foreground operations that the workload performs.
  virtual const std::vector<OpKind>& ops() const = 0;
  // Returns the kinds that the options ask for. The workload performs no others of ops().
  virtual std::vector<OpKind> planned_ops() const { return ops(); }
  // Returns how many operations all threads perform together until the workload ends by itself, or
  // 0 when only time ends it. --seconds does not end a workload that ends by itself.
  virtual uint64_t operations() const { return 0; }
  // Returns whether the clients may differ in how many operations they have, so that --operations
  // is divided among them as they go, and not evenly in advance.
  virtual bool uneven() const { return false; }
  // Returns whether the workload writes to the database.
  virtual bool writes() const = 0;
  // Returns whether the workload updates rows of the data set with other values of the same size.
  virtual bool updates_rows() const { return false; }
  // Returns whether the rows that the database holds afterwards may have another mean size than
  // those of the data set: the workload stores values of sizes of its own, or erases some of the
  // rows whose values have several sizes.
  virtual bool changes_row_sizes() const { return false; }
  // Returns about how many bytes of keys and values the workload adds to the database, so that the
  // caller can size the device; 0 means the bytes that --rows, --key-size and --value-size give.
  virtual uint64_t AddedBytes() const { return 0; }
  // Returns how many secondary indexes the workload keeps as it adds rows, so that the caller can
  // forecast how long that takes.
  virtual uint32_t kept_indexes() const { return 0; }
  // Returns the seconds after which the workload ends by itself when it keeps the rate that it sets
  // itself; 0 means that it sets none, or that only the caller ends it.
  virtual double planned_seconds() const { return 0; }
  // Returns whether the runner lets the database settle after the workload.
  virtual bool settles() const { return writes(); }
  // Returns the number of threads that make up one client, where they have different roles (one
  // inserts, another queries). --threads counts clients; the `thread` of NewClient counts their
  // threads.
  virtual int threads_per_client() const { return 1; }
  // Returns the number of threads that the workload runs in addition to those of the clients. They
  // are the last ones of NewClient.
  virtual int extra_threads() const { return 0; }
  // Returns the operations per second of one thread, for a workload that sets its own rate; 0 means
  // the thread's share of --rate, or no limit.
  virtual double ThreadRate(int thread, int threads) const { return 0; }
  // Returns whether the workload sets the start of each operation (Client::DueNs). It then is an
  // open loop, as with --rate.
  virtual bool timed() const { return false; }
  // Returns whether such a workload knows the starts of operations that are not prepared, too
  // (Client::PassOver), so that operations can be counted that were due and had not begun.
  virtual bool knows_due_times() const { return false; }
  // Returns whether the workload accesses some rows more than others, by --distribution, so that
  // WorkloadOptions::popular_rows says which.
  virtual bool has_popular_rows() const { return false; }
  // Returns whether point reads of the workload ask for rows that do not exist, as
  // WorkloadOptions::hit_ratio says.
  virtual bool reads_absent_rows() const { return false; }
  // Returns whether the workload has scans whose length WorkloadOptions::scan_rows decides.
  virtual bool takes_scan_rows() const { return false; }
  // Opens the tables of the workload, and creates those that are missing. Throws Error (kUsage)
  // when the database is not as the workload needs it.
  virtual void OpenTables(Engine& engine) = 0;
  // Opens the tables for `clients` clients. The runner calls this one; workloads that have tables
  // for each client override it.
  virtual void OpenClientTables(Engine& engine, int clients) { OpenTables(engine); }
  // Opens the tables for CheckDatabase alone, once other phases have followed: the engine may be
  // another object since. Changes nothing in the database.
  virtual void OpenForCheck(Engine& engine, int clients) { OpenClientTables(engine, clients); }
  // Returns the client of thread number `thread` of `threads`. The same numbers and the same seed
  // give the same operations. `session` must outlive the client.
  virtual std::unique_ptr<Client> NewClient(Session& session, int thread, int threads) = 0;
  // Returns whether its clients can go on after an Execute that threw LostAnswer
  // (engines/engine.h). What it was to write is in the database or not.
  virtual bool bears_lost_answers() const { return false; }
  // Returns whether several processes can perform the workload on one database at once, each with
  // clients of its own: they erase nothing, and insert rows that their population has divided among
  // them (Population::Divide).
  virtual bool runs_in_tasks() const { return false; }
  // Called after all clients have ended, outside the measured time. Checks the database as a whole
  // and returns a sentence about the first error, or an empty string. A check that reads for long
  // ends, with an empty string, when the run is asked to stop (StopRequested).
  virtual std::string CheckDatabase(Engine& engine) { return {}; }
  // Returns whether CheckDatabase looks at the database after a phase that is no load.
  virtual bool checks() const { return false; }
  // Returns a sentence that says why clients ended early, because nothing is left that the workload
  // needs, or an empty string. Called by any thread at any time.
  virtual std::string EndedBecause() const { return {}; }
  // Returns facts that only this workload knows about its phase; they become "details" in the
  // results. Called last.
  virtual nlohmann::json Details() const { return {}; }
};

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_WORKLOAD_H_
