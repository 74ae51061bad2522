// Writes and parses JSON whose strings may hold any bytes.
//
// Directories, files and values of options that users name may hold any bytes, but JSON is UTF-8. A
// document in memory holds such names unchanged. In JSON text each byte that is not part of valid
// UTF-8 is written as \xHH: a backslash, an x and two lower-case hexadecimal digits. The backslash
// of a name that contains these four characters itself is written that way, too. So every name is
// read back unchanged. All JSON that testbed writes or reads goes through these functions.
#ifndef TESTBED_TOOLS_OUTPUT_JSON_TEXT_H_
#define TESTBED_TOOLS_OUTPUT_JSON_TEXT_H_

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace testbed {

// Returns the document as text, indented by `indent` columns a level; a negative `indent` gives one
// line.
std::string JsonText(const nlohmann::json& document, int indent = -1);
// Returns the document that the text holds; when the text is not JSON, or is nested deeper than 500
// levels, a document for which is_discarded() is true. A file's text is read to a bound by
// InputFile (device/file/input_file.h).
nlohmann::json ParseJson(std::string_view text);

// Utf8Text returns the text as valid UTF-8: it writes as \xHH the bytes that JSON text writes so.
// BytesOfUtf8Text returns the bytes that such a text stands for.
std::string Utf8Text(std::string_view text);
std::string BytesOfUtf8Text(std::string_view text);

// Returns the number; null when it is not finite, since JSON has no other word for that.
nlohmann::json FiniteJson(double value);

// Returns what the exception says, without the library's code in front.
std::string JsonErrorText(const nlohmann::json::exception& error);

}  // namespace testbed

#endif  // TESTBED_TOOLS_OUTPUT_JSON_TEXT_H_
