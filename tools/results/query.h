// Questions to a results store (store.h), in SQL that only reads, and their answers as a table for
// a terminal, as CSV and as JSON.
//
//   const QueryAnswer answer = AskStore("results.db", "SELECT phase, rate FROM results");
//   fmt::print("{}", AnswerTable(answer, 100));
//
// Thread-safe.
#ifndef TESTBED_TOOLS_RESULTS_QUERY_H_
#define TESTBED_TOOLS_RESULTS_QUERY_H_

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/results/sqlite_file.h"

namespace testbed {

struct QueryAnswer {
  std::vector<std::string> columns;
  std::vector<std::vector<nlohmann::json>> rows;  // null, numbers and texts
};

// Returns the rows that the SQL selects. Throws Error as SqliteFile does.
QueryAnswer Ask(SqliteFile* store, const std::string& sql);

// Opens the store for one question. Throws Error as OpenStore does, too.
QueryAnswer AskStore(const std::string& path, const std::string& sql);

// Returns an aligned table, texts to the left and numbers to the right. With `most`, columns that
// would make a line longer than that many characters are left out, and a line counts them.
std::string AnswerTable(const QueryAnswer& answer, size_t most);

std::string AnswerCsv(const QueryAnswer& answer);

// Returns a list with an object for each row. Throws Error (kUsage) when two columns have the same
// name, since an object would lose one.
std::string AnswerJson(const QueryAnswer& answer);

}  // namespace testbed

#endif  // TESTBED_TOOLS_RESULTS_QUERY_H_
