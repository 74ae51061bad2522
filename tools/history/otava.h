// Change points of a history by Apache Otava (https://otava.apache.org/), a program of its own that
// reads CSV files or a PostgreSQL table. Thread-safe, but FindChangePoints may only be called where
// RunProgram may.
#ifndef TESTBED_TOOLS_HISTORY_OTAVA_H_
#define TESTBED_TOOLS_HISTORY_OTAVA_H_

#include <optional>
#include <string>
#include <vector>

#include "tools/history/history_series.h"

namespace testbed {

struct ChangePoint {
  const HistorySeries* series;
  std::string commit;            // the first with the new value
  double before = 0, after = 0;  // means
  size_t index = 0;              // position of the point in its series
};

// Writes a CSV file for each cell (seriesN.csv, with a column for each metric) and otava.yaml,
// which names them as tests, into an existing directory. Returns the names of the files. Throws
// Error (kIo).
std::vector<std::string> WriteOtavaFiles(const std::vector<HistorySeries>& series,
                                         const std::string& directory);

// Writes files for Otava's PostgreSQL importer into an existing directory: history.sql, an SQL
// script that fills the table testbed_history with the branch's results in place of earlier
// ones, and otava.yaml, whose tests read that table and note change points in it. Returns the names
// of the files. Throws Error (kIo).
std::vector<std::string> WriteOtavaDatabase(const std::vector<HistorySeries>& series,
                                            const std::string& branch,
                                            const std::string& directory);

// Returns the change points that the program at `otava` finds in files that WriteOtavaFiles wrote
// to `directory`. Throws Error (kRun), which quotes the program, when it fails or its output is not
// understood.
std::vector<ChangePoint> FindChangePoints(const std::vector<HistorySeries>& series,
                                          const std::string& otava, const std::string& directory);

}  // namespace testbed

#endif  // TESTBED_TOOLS_HISTORY_OTAVA_H_
