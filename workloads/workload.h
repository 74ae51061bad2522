// A workload is a set of operations that threads perform on an engine. A client prepares operations
// outside the timed part and executes them inside it.
//
//   auto workload = FindWorkload("point-read").make(dataset, options);
//   workload->OpenTables(engine);
//   auto client = workload->NewClient(session, thread, threads);   // one per thread
//   while (size_t n = client->Generate(64)) {                      // untimed: keys and values
//     for (size_t i = 0; i < n; ++i) client->Execute(i);           // timed, each one operation
//   }
//
// A workload knows Engine and Session, never a concrete engine. workloads/registry.h tells how a
// workload joins the build, row_chooser.h how a workload draws rows.
#ifndef TESTBED_WORKLOADS_WORKLOAD_H_
#define TESTBED_WORKLOADS_WORKLOAD_H_

#include <cstdint>
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

enum class Distribution : uint8_t { kUniform, kZipfian, kLatest, kHot };
const char* DistributionName(Distribution distribution);

struct WorkloadOptions {
  uint32_t rows_per_transaction = 1;
  Distribution distribution = Distribution::kUniform;
  double zipf_theta = 0.99;
  double hot_fraction = 0.5;     // the first half of the keys ...
  double hot_probability = 1.0;  // ... takes this share of the accesses
  double hit_ratio = 1.0;        // share of point reads whose key exists
  uint32_t scan_rows = 100;
  std::map<std::string, double> mix;  // for workload mixed: operation -> share
  // Settings that only this workload knows: --workload-option name=value.
  std::map<std::string, std::string> extra;
  uint64_t seed = 42;
  // Directory for temporary files, on the database's device. Empty stands for the system's.
  std::string directory;
  // Says which rows the database holds. Null stands for exactly the rows of the data set.
  std::shared_ptr<Population> population;
};

// One thread's part of a workload. Not thread-safe.
class Client {
 public:
  virtual ~Client() = default;
  // Prepares up to `max` operations and returns their number; 0 when this thread's work is done.
  virtual size_t Generate(size_t max) = 0;
  // Performs the i-th prepared operation, commit included.
  virtual void Execute(size_t i) = 0;
  // In a workload whose operations are single point reads (WorkloadInfo::point_reads), the runner
  // may call these two in place of Execute. RequestOf returns what the i-th prepared operation
  // looks up, and TakeAnswer takes the answer.
  struct Request {
    TableId table = 0;
    std::string_view key;
  };
  virtual Request RequestOf(size_t i) const { return {}; }
  virtual void TakeAnswer(size_t i, bool found, std::string_view value) {}
  // Returns the index into Workload::ops() of the i-th prepared operation.
  virtual size_t OpOf(size_t i) const { return 0; }
  // Returns whether the last call of Execute(i) or TakeAnswer(i) found the right answer. The runner
  // calls it for a sample of the operations, directly after the operation, before any other call of
  // the session.
  virtual bool Verify(size_t i) = 0;

  // What the client has done so far. Other threads read it only after the client's thread has
  // ended.
  struct Totals {
    uint64_t rows_read = 0, rows_written = 0, not_found = 0;
    // Rows, without index entries, that committed operations added to or removed from the database.
    // A scan of the tables finds this number of rows more or fewer.
    uint64_t rows_inserted = 0, rows_erased = 0;
    uint64_t user_bytes_written = 0;  // keys and values, indexes included
    Totals& operator+=(const Totals& o) {
      rows_read += o.rows_read;
      rows_written += o.rows_written;
      not_found += o.not_found;
      rows_inserted += o.rows_inserted;
      rows_erased += o.rows_erased;
      user_bytes_written += o.user_bytes_written;
      return *this;
    }
  };
  const Totals& totals() const { return totals_; }

  // Sets what operations do with the answers that the engine gives them. Without a call they do
  // nothing with them.
  void set_consume(Consume how) { consume_ = Consumer(how); }

 protected:
  Totals totals_;
  // Execute and TakeAnswer call it for every value, and every key of a scan, that the engine gives
  // them.
  Consumer consume_;
};

class Workload {
 public:
  virtual ~Workload() = default;
  virtual const std::string& name() const = 0;
  // Returns the kinds of operations that the workload performs, all of them foreground.
  virtual const std::vector<OpKind>& ops() const = 0;
  // Returns the number of operations, of all threads together, after which the workload ends by
  // itself; 0 when only time ends it. A workload that ends by itself is not ended by --seconds.
  virtual uint64_t operations() const { return 0; }
  // Returns whether the workload writes to the database.
  virtual bool writes() const = 0;
  // Returns about how many bytes of keys and values the workload adds to the database, so that the
  // harness can provide room for them. 0 stands for what --rows, --key-size and --value-size give.
  virtual uint64_t AddedBytes() const { return 0; }
  // Returns whether the runner brings the database to rest after the workload.
  virtual bool settles() const { return writes(); }
  // Returns the threads of a client, each with a role of its own (one inserts, one queries).
  // --threads counts clients, so a phase has clients x threads_per_client() threads.
  virtual int threads_per_client() const { return 1; }
  // Returns the operations per second of a thread, if the workload has a rate of its own. 0 stands
  // for the thread's share of --rate, or for as fast as it goes.
  virtual double ThreadRate(int thread, int threads) const { return 0; }
  virtual void OpenTables(Engine& engine) = 0;
  // The runner calls this and not OpenTables. A workload with tables of each client overrides it.
  virtual void OpenClientTables(Engine& engine, int clients) { OpenTables(engine); }
  // Returns the client of thread `thread` out of `threads`. Equal numbers and an equal seed give
  // equal operations. `session` must outlive the client.
  virtual std::unique_ptr<Client> NewClient(Session& session, int thread, int threads) = 0;
  // Checks the database as a whole, outside the measured time, when all clients have ended. Returns
  // a sentence about the first error that it finds, or an empty string.
  virtual std::string CheckDatabase(Engine& engine) { return {}; }
  // Returns a sentence that says why clients ended before they were told to: the database has no
  // more rows of the kind that the workload needs. Empty when they did not. Thread-safe.
  virtual std::string EndedBecause() const { return {}; }
  // Returns what only this workload knows of its phase; it becomes "details" in the results. Called
  // after CheckDatabase.
  virtual nlohmann::json Details() const { return {}; }
};

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_WORKLOAD_H_
