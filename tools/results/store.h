// The store of `testbed results`: a SQLite file with the runs of many results documents
// (docs/results.md), for questions that go over all of them.
//
//   ResultsStore store("results.db");            // made when there is none
//   store.Add({document, "run.json"});
//   const auto file = OpenStore("results.db");   // to read
//   file->Prepare("SELECT phase, max(rate) FROM results GROUP BY phase");
//
// Its tables (docs/store.md): "documents", a row for each document; "runs", "results", "series" and
// "causes", the rows that a document makes (tools/report/rows.h), by these names and columns, each
// with the number of its document; "cells", a row for each cell, round and metric of an experiment.
//
// The file names itself by kStoreApplication and kStoreVersion; other programs' files are refused
// and never written to. A document is added in one transaction, so a killed process leaves it whole
// or not at all, and several processes may add and read at the same time. A store of an earlier
// testbed gets the columns that it lacks; one whose columns have another meaning has another
// version and is refused.
//
// Not thread-safe. Functions throw Error: kUsage for what is no store or may not be written, kIo
// when reading or writing fails, and what SqliteFile throws.
#ifndef TESTBED_TOOLS_RESULTS_STORE_H_
#define TESTBED_TOOLS_RESULTS_STORE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tools/report/rows.h"
#include "tools/results/sqlite_file.h"

namespace testbed {

constexpr int64_t kStoreApplication = 0x74627273;  // "tbrs"; application_id of the file
constexpr int64_t kStoreVersion = 1;               // user_version of the file

// A metric of a cell of an experiment, in one round.
struct CellMetric {
  std::string metric, unit;
  double value = 0;  // NaN when it is not known
};

// A results document, and facts about it that it does not hold itself.
struct StoredDocument {
  const nlohmann::json& document;
  std::string path = {};                    // the file that it was read from
  std::string experiment = {}, scale = {};  // empty unless it is of an experiment
  std::vector<CellMetric> metrics = {};     // metrics of its cell in the experiment
};

// The numbers of rows that were added.
struct AddedRows {
  size_t documents = 0, runs = 0, results = 0, series = 0, cells = 0, causes = 0;
  AddedRows& operator+=(const AddedRows& o);
};

// Returns the tables of a store with their columns, "document" being the first.
std::vector<std::pair<std::string, std::vector<std::string>>> StoreColumns();

class ResultsStore {
 public:
  explicit ResultsStore(const std::string& path);

  // Adds the rows of a document. One that is there already adds nothing, whatever the file's name
  // and layout; when it was first added without an experiment and `stored` names one, the
  // experiment and the metrics are added.
  AddedRows Add(const StoredDocument& stored);

 private:
  void PrepareTables();
  SqliteStatement& Insert(const std::string& table, const std::vector<std::string>& columns);
  size_t AddRows(const RowTable& table, const StoredDocument& stored, int64_t document);
  size_t AddCells(const StoredDocument& stored, int64_t document);
  AddedRows AddKnown(const StoredDocument& stored, int64_t document, bool told);

  std::unique_ptr<SqliteFile> file_;
  std::map<std::string, std::unique_ptr<SqliteStatement>> inserts_;  // by table
};

// Opens a store to read from it. Throws Error (kUsage) when `path` holds no store with results.
std::unique_ptr<SqliteFile> OpenStore(const std::string& path);

}  // namespace testbed

#endif  // TESTBED_TOOLS_RESULTS_STORE_H_
