// Reads CSV as RFC 4180 has it, strictly, for tests.
#ifndef TESTBED_TESTS_CLI_RESULTS_CSV_RECORDS_H_
#define TESTBED_TESTS_CLI_RESULTS_CSV_RECORDS_H_

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace testbed {

using Record = std::map<std::string, std::string>;  // values by the names of the columns

// A quote within a bare field, text after a closing quote and records of another length than the
// header fail the test.
inline std::vector<Record> ParseCsv(const std::string& text) {
  std::vector<std::vector<std::string>> lines(1, std::vector<std::string>(1));
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    std::string& field = lines.back().back();
    const char c = text[i];
    if (quoted) {
      if (c != '"') {
        field += c;
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        field += text[++i];
      } else {
        quoted = false;
        EXPECT_TRUE(i + 1 == text.size() || text[i + 1] == ',' || text[i + 1] == '\n');
      }
    } else if (c == '"') {
      EXPECT_TRUE(field.empty());
      quoted = true;
    } else if (c == ',') {
      lines.back().emplace_back();
    } else if (c == '\n') {
      lines.emplace_back(1);
    } else {
      field += c;
    }
  }
  EXPECT_FALSE(quoted);
  EXPECT_EQ(lines.back(), std::vector<std::string>(1)) << "the last line has an end";
  lines.pop_back();
  std::vector<Record> records;
  const std::vector<std::string> header = lines.at(0);
  EXPECT_EQ(std::set<std::string>(header.begin(), header.end()).size(), header.size())
      << "a name of a column stands twice";
  for (size_t i = 1; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i].size(), header.size()) << "record " << i;
    Record record;
    for (size_t c = 0; c < header.size() && c < lines[i].size(); ++c) {
      record[header[c]] = lines[i][c];
    }
    records.push_back(std::move(record));
  }
  return records;
}

}  // namespace testbed

#endif  // TESTBED_TESTS_CLI_RESULTS_CSV_RECORDS_H_
