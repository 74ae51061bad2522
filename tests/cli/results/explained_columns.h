// What `testbed explain` says of a table, beside the columns that the table has when it is printed.
#ifndef TESTBED_TESTS_CLI_RESULTS_EXPLAINED_COLUMNS_H_
#define TESTBED_TESTS_CLI_RESULTS_EXPLAINED_COLUMNS_H_

#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <string>

#include "tools/output/table.h"
#include "tools/report/explain/columns.h"

namespace testbed {

// Returns the columns that are explained of a table with this title.
inline std::set<std::string> ExplainedColumns(const std::string& table) {
  std::set<std::string> columns;
  for (const ColumnMeaning& m : ColumnMeanings()) {
    if (m.table == table) columns.insert(m.column);
  }
  return columns;
}

inline std::set<std::string> ColumnsOf(const Table& table) {
  return {table.columns().begin(), table.columns().end()};
}

// Returns the columns of the table with this title in a text, in which two spaces or more are
// between them.
inline std::set<std::string> PrintedColumns(const std::string& text, const std::string& title) {
  const size_t at = ("\n" + text).find("\n" + title + "\n");
  if (at == std::string::npos) {
    ADD_FAILURE() << "no table is called " << title << ":\n" << text;
    return {};
  }
  const size_t begin = at + title.size() + 1;
  const std::string line = text.substr(begin, text.find('\n', begin) - begin);
  static const std::regex name("[^ ]+( [^ ]+)*");
  std::set<std::string> columns;
  for (std::sregex_iterator word(line.begin(), line.end(), name), end; word != end; ++word) {
    columns.insert(word->str());
  }
  return columns;
}

}  // namespace testbed

#endif  // TESTBED_TESTS_CLI_RESULTS_EXPLAINED_COLUMNS_H_
