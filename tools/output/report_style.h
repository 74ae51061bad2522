// How a report prints: for a terminal, or as Markdown for an issue or a post.
#ifndef TESTBED_TOOLS_OUTPUT_REPORT_STYLE_H_
#define TESTBED_TOOLS_OUTPUT_REPORT_STYLE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "tools/output/table.h"

namespace testbed {

struct ReportStyle {
  bool wide = false;      // all columns, however wide; otherwise lines of 100 characters
  bool markdown = false;  // tables as GitHub draws them

  // Returns the number of characters that a line of text may have.
  size_t most() const { return wide ? SIZE_MAX : Table::kNarrow; }
};

// Returns the text as a block of Markdown that shows it as it is. The fence is longer than any run
// of its characters in the text, so that no name can end the block.
std::string Fenced(const std::string& text);

}  // namespace testbed

#endif  // TESTBED_TOOLS_OUTPUT_REPORT_STYLE_H_
