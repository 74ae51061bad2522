// The tables of sysbench's OLTP benchmarks, and the random numbers with which they are filled and
// queried (sysbench 1.0: src/lua/oltp_common.lua, src/sb_rand.c).
//
// Table sbtestN holds rows (id, k, c, pad): the key is the id as 4 big-endian bytes, the value is k
// as 4 such bytes, then c and pad, strings of digits that spaces pad to 120 and 60 bytes. Table
// sbtestN_k is the index on k: its keys are k and id. Table sbtest records whether rows of the load
// may be missing. The first digits of c and of pad determine the rest of each, and those of c
// belong to the id, so that every row can be checked.
#ifndef TESTBED_WORKLOADS_SYSBENCH_SCHEMA_H_
#define TESTBED_WORKLOADS_SYSBENCH_SCHEMA_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engines/engine.h"
#include "workloads/random.h"
#include "workloads/workload.h"

namespace testbed::sysbench {

inline constexpr size_t kIdBytes = 4, kKBytes = 4, kCBytes = 120, kPadBytes = 60;
inline constexpr size_t kRowBytes = kKBytes + kCBytes + kPadBytes;

enum class RandType : uint8_t { kSpecial, kUniform, kGaussian, kPareto, kZipfian };

struct Settings {
  uint32_t table_size = 0;  // rows of a table when it is loaded: --rows
  uint32_t tables = 1;
  RandType rand_type = RandType::kSpecial;
  uint32_t range_size = 100, point_selects = 10;
  bool skip_trx = false;  // each statement is a transaction of its own
  bool check = true;
  uint64_t seed = 42;

  // Throws Error (kUsage) for values that are refused. `workload` is named in the sentence.
  static Settings From(const std::string& workload, const Dataset& dataset,
                       const WorkloadOptions& options);
};
// Return the names and meanings of the settings that a database is made with, and of the others,
// for WorkloadInfo.
std::vector<std::pair<std::string, std::string>> ContentOptions();
std::vector<std::pair<std::string, std::string>> RunOptions();

// Draws ids and values of k from 1 to table_size, as --rand-type of sysbench does. Not thread-safe.
class Ids {
 public:
  Ids(const Settings& settings, uint64_t seed);
  uint32_t Next();
  // Draws a table, from 0.
  uint32_t Table() { return static_cast<uint32_t>(random_.Below(tables_)); }
  Random& random() { return random_; }

 private:
  double Special();

  const RandType type_;
  const uint32_t size_, tables_;
  Random random_;
  Zipfian zipfian_;
};

// Write the bytes of a part of a row to `to`.
void PutBigEndian(uint32_t number, char* to);
void PutC(uint32_t id, uint64_t random, char* to);  // kCBytes
void PutPad(uint64_t random, char* to);             // kPadBytes
// Writes an entry of the index to `to`: k, then the id; 8 bytes.
void PutEntry(uint32_t k, uint32_t id, char* to);
uint32_t BigEndian(std::string_view bytes);
// Returns whether `row` can be the row of this id.
bool CheckRow(uint32_t id, std::string_view row);

// The tables of a database. Immutable after Open and thread-safe.
struct Tables {
  struct Pair {
    TableId rows = 0, index = 0;
  };
  std::vector<Pair> all;
  TableId record = 0;
  bool engine_keeps_indexes = false;  // the engine writes the entries of the indexes

  void Open(Engine& engine, uint32_t tables);
  // Records whether each id from 1 to Settings::table_size has a row: true when the load is done,
  // false before a phase that deletes rows.
  void RecordWhole(Session& session, bool whole) const;
  bool Whole(Session& session) const;
  // Reads all rows and entries, unless the run is asked to stop before. Each id from 1 to
  // `table_size` must have a row where RecordWhole has recorded so. Adds the number of rows to
  // *rows. Returns a sentence about the first error, or an empty string.
  std::string Check(Engine& engine, uint32_t table_size, uint64_t* rows) const;
};

}  // namespace testbed::sysbench

#endif  // TESTBED_WORKLOADS_SYSBENCH_SCHEMA_H_
