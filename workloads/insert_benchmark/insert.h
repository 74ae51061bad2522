// The steps of the insert benchmark that insert (ib.i0, ib.i1, ib.i2), and the benchmark's form of
// 2014 (concurrent-inserts). The read steps use the inserting client too (read.h).
#ifndef TESTBED_WORKLOADS_INSERT_BENCHMARK_INSERT_H_
#define TESTBED_WORKLOADS_INSERT_BENCHMARK_INSERT_H_

#include <memory>
#include <vector>

#include "workloads/insert_benchmark/tables.h"
#include "workloads/workload.h"

namespace testbed {

// Inserts `rows` rows behind those that the client has, `rows_per_commit` in each transaction. With
// deletes, each insert (operation 0) is followed by a delete (operation 1) of the client's oldest
// `rows_per_commit` rows. The delete first reads the rows, since the keys of their index entries
// are made from the rows' values. Not thread-safe.
class IbInserter : public Client {
 public:
  struct Work {
    uint64_t rows;
    uint32_t rows_per_commit;
    uint32_t indexes;  // number of indexes that inserts maintain
    bool deletes;
  };
  // `tables` and `session` must outlive the inserter.
  IbInserter(IbTables& tables, uint32_t client, Session& session, const Work& work);
  // Tells the client's query thread that no more rows will come.
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
  uint64_t left_;          // rows still to prepare
  uint64_t next_;          // number of the next row to prepare
  size_t prepared_ = 0;    // operations prepared
  size_t phase_ = 0;       // 1: the first prepared operation is a delete
  std::vector<Row> rows_;  // rows of the prepared inserts
  std::vector<char> values_;
  std::vector<Row> doomed_;  // rows of one delete
  uint64_t first_id_ = 0;    // least id that may still exist
  size_t deleted_ = 0;       // number of rows that the last delete removed
};

// Returns the facts that every step of the insert benchmark reports (docs/workloads.md).
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
