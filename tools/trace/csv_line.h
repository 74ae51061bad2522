// Splits a line of comma-separated values.
#ifndef TESTBED_TOOLS_TRACE_CSV_LINE_H_
#define TESTBED_TOOLS_TRACE_CSV_LINE_H_

#include <string>
#include <string_view>
#include <vector>

namespace testbed {

// Sets *cells to the cells of the line, which lie in *line and change it: the quotes around a cell
// are taken away, and a doubled quote in it becomes one. Returns false when a quote does not end,
// or text follows it in its cell.
inline bool SplitCsvLine(std::string* line, std::vector<std::string_view>* cells) {
  cells->clear();
  char* at = line->data();
  char* const end = at + line->size();
  while (true) {
    char* const cell = at;
    char* to = at;
    if (at != end && *at == '"') {
      for (++at; at != end && (*at != '"' || (at + 1 != end && at[1] == '"')); ++at) {
        if (*at == '"') ++at;
        *to++ = *at;
      }
      if (at++ == end) return false;
    } else {
      while (at != end && *at != ',') ++at;
      to = at;
    }
    cells->push_back({cell, static_cast<size_t>(to - cell)});
    if (at == end) return true;
    if (*at++ != ',') return false;
  }
}

}  // namespace testbed

#endif  // TESTBED_TOOLS_TRACE_CSV_LINE_H_
