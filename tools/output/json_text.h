// Converts JSON documents to and from text when their strings may contain any bytes.
//
// Names that users choose (directories, files, values of options) may contain any bytes, but JSON
// is UTF-8. In a document in memory such names are unchanged. In text, each byte that is not part
// of valid UTF-8 is written as \xHH: a backslash, an x and two lower-case hexadecimal digits. A
// backslash that begins such a sequence in the name itself is escaped the same way. So every name
// is read back unchanged. All JSON that testbed writes or reads goes through these functions.
#ifndef TESTBED_TOOLS_OUTPUT_JSON_TEXT_H_
#define TESTBED_TOOLS_OUTPUT_JSON_TEXT_H_

#include <istream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace testbed {

// Returns the document as text, on one line when `indent` is below 0.
std::string JsonText(const nlohmann::json& document, int indent = -1);
// Return the document, or a discarded one (is_discarded()) when the text is not JSON.
nlohmann::json ParseJson(std::string_view text);
nlohmann::json ParseJson(std::istream& in);

}  // namespace testbed

#endif  // TESTBED_TOOLS_OUTPUT_JSON_TEXT_H_
