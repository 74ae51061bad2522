// JSON of strings of any bytes.
//
// What users name (directories, files, values of options) may be any bytes, and JSON is UTF-8. In
// documents in memory such names are as they are; in texts each byte that is no UTF-8 is \xHH, a
// backslash, an x and two hexadecimal digits in lower case, and so is the backslash of a name that
// has such four characters itself. So every name comes back as it was. All JSON that testbed writes
// or reads goes through these two.
#ifndef TESTBED_TOOLS_OUTPUT_JSON_TEXT_H_
#define TESTBED_TOOLS_OUTPUT_JSON_TEXT_H_

#include <istream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace testbed {

// `indent` below 0 gives one line.
std::string JsonText(const nlohmann::json& document, int indent = -1);
// A document for which is_discarded() holds when the text is no JSON.
nlohmann::json ParseJson(std::string_view text);
nlohmann::json ParseJson(std::istream& in);

}  // namespace testbed

#endif  // TESTBED_TOOLS_OUTPUT_JSON_TEXT_H_
