// What a workload is: the operations that threads perform on an engine, prepared outside the timed
// part and executed inside it.
//
//   auto workload = FindWorkload("point-read").make(dataset, options);
//   workload->OpenTables(engine);
//   auto client = workload->NewClient(session, thread, threads);   // one a thread
//   while (size_t n = client->Generate(64)) {                      // untimed: keys and values
//     for (size_t i = 0; i < n; ++i) client->Execute(i);           // timed, each one operation
//   }
//
// A workload knows Engine and Session, never a concrete engine. workloads/registry.h tells how one
// joins, row_chooser.h how it draws rows.
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
  std::map<std::string, double> mix;  // operation -> share, of workload mixed
  // Settings that only this workload knows: --workload-option name=value.
  std::map<std::string, std::string> extra;
  uint64_t seed = 42;
  std::string directory;  // for temporary files, on the database's device; empty: the system's
  // Which rows of the data set the database holds; null: all of them, and no others.
  std::shared_ptr<Population> population;
};

// One thread's part of a workload. Not thread-safe.
class Client {
 public:
  virtual ~Client() = default;
  // Prepares up to `max` operations and returns how many; 0 when this thread's work is done.
  virtual size_t Generate(size_t max) = 0;
  // Performs the i-th prepared operation, commit included.
  virtual void Execute(size_t i) = 0;
  // For workloads whose operations are single point reads (WorkloadInfo::point_reads): what the
  // i-th prepared one looks up, and what came of it, in place of Execute.
  struct Request {
    TableId table = 0;
    std::string_view key;
  };
  virtual Request RequestOf(size_t i) const { return {}; }
  virtual void TakeAnswer(size_t i, bool found, std::string_view value) {}
  // Index into Workload::ops() of the i-th prepared operation.
  virtual size_t OpOf(size_t i) const { return 0; }
  // Whether what Execute(i) or TakeAnswer(i), the last one of them, found is right. Called for a
  // sample of the operations, before anything else is asked of the session.
  virtual bool Verify(size_t i) = 0;

  // What was done so far. Read by other threads when the client's own has ended.
  struct Totals {
    uint64_t rows_read = 0, rows_written = 0, not_found = 0;
    // Rows, index entries apart, that came to be or ceased to be in the database, committed: a scan
    // of the tables finds as many more or fewer.
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

  // What operations do with what they are given; nothing, until it is said.
  void set_consume(Consume how) { consume_ = Consumer(how); }

 protected:
  Totals totals_;
  // For every value, and every key of a scan, that the engine hands to Execute or TakeAnswer.
  Consumer consume_;
};

class Workload {
 public:
  virtual ~Workload() = default;
  virtual const std::string& name() const = 0;
  // The operation kinds it performs, foreground.
  virtual const std::vector<OpKind>& ops() const = 0;
  // Operations of all threads together when it ends by itself; 0 when only time ends it. What ends
  // by itself is not ended by --seconds.
  virtual uint64_t operations() const { return 0; }
  virtual bool writes() const = 0;
  // About how many bytes of keys and values it adds to the database, for who provides room; 0: what
  // --rows, --key-size and --value-size say.
  virtual uint64_t AddedBytes() const { return 0; }
  // Whether the runner brings the database to rest after it.
  virtual bool settles() const { return writes(); }
  // Clients may be made of several threads with a role each (one inserts, one queries): --threads
  // counts clients, and `thread` of NewClient goes up to clients x this.
  virtual int threads_per_client() const { return 1; }
  // Operations per second of one thread, for workloads with a rate of their own; 0 = its share of
  // --rate, or as fast as it goes.
  virtual double ThreadRate(int thread, int threads) const { return 0; }
  virtual void OpenTables(Engine& engine) = 0;
  // The same, for who has tables for each client; called in its place.
  virtual void OpenClientTables(Engine& engine, int clients) { OpenTables(engine); }
  // `session` outlives the client. Clients differ by `thread` of `threads`; the same numbers and
  // seed give the same operations.
  virtual std::unique_ptr<Client> NewClient(Session& session, int thread, int threads) = 0;
  // Called when all clients have ended, outside the measured time: looks at the database as a
  // whole. Returns a sentence about the first thing that is wrong, or an empty string.
  virtual std::string CheckDatabase(Engine& engine) { return {}; }
  // Why clients ended before they were told to, in one sentence: nothing is left of what the
  // workload needs. Empty when they did not. Asked by any thread, at any time.
  virtual std::string EndedBecause() const { return {}; }
  // What only this workload knows of its phase; becomes "details" in the results. Called last.
  virtual nlohmann::json Details() const { return {}; }
};

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_WORKLOAD_H_
