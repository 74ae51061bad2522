// A results document (docs/results.md) as rows and columns: the one home of the columns' names. CSV
// (csv.h), the results store (tools/results/) and the Python package (python/) have these columns
// and no others.
//
//   ForEachRow(ResultRows(), document, [](const std::vector<nlohmann::json>& cells) {
//     ...                                   // in the order of ResultRows().columns
//   });
//
// Names are stable: a column is added, never renamed. Cells are JSON values; what is not known is
// null. All of it is thread-safe. ForEachRow throws json::exception when a document lacks a part
// that every one has (ReadResults checks).
#ifndef TESTBED_TOOLS_REPORT_ROWS_H_
#define TESTBED_TOOLS_REPORT_ROWS_H_

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace testbed {

// What a column is read from.
enum class ColumnOf : uint8_t {
  kDocument,
  kFact,  // the document; a text that holds a number, as of "machine", becomes one
  kRun,
  kPhase,
  kOperation,      // an entry of the phase's "operations"; null in a row without one
  kCause,          // the entry of the account's "causes" that has the operation's name; the row's
                   // own in CauseRows
  kSecond,         // an entry of the phase's "series"
  kBackground,     // its list "background": names are joined, numbers added up
  kRunIndex,       // number of the run in the document, from 0
  kPhaseIndex,     // number of the phase in the run, from 0
  kOwn,            // OwnDeviceIo (figures.h)
  kOtherPrograms,  // OtherProgramsIo (figures.h); null without the kernel account
  kUnanswered,     // the phase's list "unanswered", added up; null without operations
};

struct RowColumn {
  std::string name;
  ColumnOf of;
  std::string at;  // JSON pointer below what `of` names
};

struct RowTable {
  enum class Per : uint8_t { kRun, kOperation, kSecond, kCause };
  std::string name;
  Per per;
  std::vector<RowColumn> columns;
};

// "runs": a row for each run, those that failed included.
const RowTable& RunRows();
// "results": a row for each run, phase and operation. Rows of one phase differ in "operation" and
// its figures; columns that begin with "phase_" are of the whole phase and repeated in each of
// them. A phase without operations has one row, and so has a run that ended before its first phase
// did, which tells its error.
const RowTable& ResultRows();
// "series": a row for each second of each phase.
const RowTable& SeriesRows();
// "causes": a row for each cause of IO in each phase. Such are the account's "causes", and with the
// kernel account each thread outside the run, whose "ground" is "kernel thread", or "other program"
// when its requests were for files of others.
const RowTable& CauseRows();

// Calls `use` with the cells of each row of the document.
void ForEachRow(const RowTable& table, const nlohmann::json& document,
                const std::function<void(const std::vector<nlohmann::json>&)>& use);

// Returns the four tables as data, {"results": [{"name": "engine", "of": "document", "at":
// "/options/engine"}, ...], ...}, from which other programs make the same rows.
nlohmann::json RowTablesJson();

}  // namespace testbed

#endif  // TESTBED_TOOLS_REPORT_ROWS_H_
