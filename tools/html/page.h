// Writes the page of `testbed report --html`: one file that opens from disk without a network.
#ifndef TESTBED_TOOLS_HTML_PAGE_H_
#define TESTBED_TOOLS_HTML_PAGE_H_

#include <nlohmann/json.hpp>
#include <string>

namespace testbed {

// Returns the page for `data` (page_data.h). The data stand in a script element as JSON, in which
// every "<" is escaped, and the page's modules write them as text, never as markup. A content
// security policy forbids every connection and every script but the page's own.
std::string PageHtml(const nlohmann::json& data);

}  // namespace testbed

#endif  // TESTBED_TOOLS_HTML_PAGE_H_
