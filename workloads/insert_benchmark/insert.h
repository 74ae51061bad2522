// The steps of the insert benchmark that insert, and the form of 2014: ib.i0, ib.i1, ib.i2,
// concurrent-inserts. The inserting client serves the read steps too (ib_read.h).
#ifndef TESTBED_WORKLOADS_INSERT_BENCHMARK_INSERT_H_
#define TESTBED_WORKLOADS_INSERT_BENCHMARK_INSERT_H_

#include <memory>
#include <vector>

#include "workloads/insert_benchmark/options.h"
#include "workloads/insert_benchmark/tables.h"
#include "workloads/workload.h"

namespace testbed {

// Inserts `rows` rows, `rows_per_commit` a transaction, after those that the client has. With
// deletes, each insert (operation 0) is followed by a delete (operation 1) of the client's
// `rows_per_commit` oldest rows, which it reads first: what an index entry to erase looks like
// stands in the row.
class IbInserter : public Client {
 public:
  struct Work {
    uint64_t rows;
    uint32_t rows_per_commit;
    uint32_t indexes;  // that inserts maintain
    bool deletes;
  };
  IbInserter(IbTables& tables, uint32_t client, Session& session, const Work& work);
  // Tells the client's other threads that there is nothing more to wait for.
  ~IbInserter() override { state_.inserter.done.store(true, std::memory_order_release); }

  size_t Generate(size_t max) override;
  void Execute(size_t i) override;
  size_t OpOf(size_t i) const override { return work_.deletes ? (i + phase_) % 2 : 0; }
  bool Verify(size_t i) override;

 private:
  struct Row {
    char key[IbSchema::kKeySize];
    char index_keys[IbSchema::kMaxIndexes][IbSchema::kMaxIndexKeySize];
    uint8_t index_key_sizes[IbSchema::kMaxIndexes];
    std::string_view value;
    void SetKeys(uint64_t id, std::string_view row_value, uint32_t indexes);
    std::string_view index_key(uint32_t k) const { return {index_keys[k], index_key_sizes[k]}; }
  };
  void Insert(const Row* rows);
  void Delete();

  const IbTables& tables_;
  const IbTables::Set& set_;
  const uint32_t client_;
  Session& session_;
  IbClientState& state_;
  const Work work_;
  uint64_t left_;          // rows to prepare
  uint64_t next_;          // number of the next row to prepare
  size_t prepared_ = 0;    // operations
  size_t phase_ = 0;       // 1: the first prepared operation is a delete
  std::vector<Row> rows_;  // of the prepared inserts
  std::vector<char> values_;
  std::vector<Row> doomed_;  // rows of one delete
  uint64_t first_id_ = 0;    // least id that may still be there
  size_t deleted_ = 0;       // rows of the last delete
};

// What every step of the insert benchmark tells of itself (docs/workloads.md).
nlohmann::json IbDetails(const IbTables& tables, const IbInserter::Work& work);

std::unique_ptr<Workload> MakeIbI0(std::shared_ptr<const Dataset> dataset,
                                   const WorkloadOptions& options);
std::unique_ptr<Workload> MakeIbI1(std::shared_ptr<const Dataset> dataset,
                                   const WorkloadOptions& options);
std::unique_ptr<Workload> MakeIbI2(std::shared_ptr<const Dataset> dataset,
                                   const WorkloadOptions& options);
std::unique_ptr<Workload> MakeConcurrentInserts(std::shared_ptr<const Dataset> dataset,
                                                const WorkloadOptions& options);

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_INSERT_BENCHMARK_INSERT_H_
