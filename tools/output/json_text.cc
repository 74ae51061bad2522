#include "tools/output/json_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

namespace testbed {
namespace {

using nlohmann::json;

bool IsHexDigit(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

// Returns whether the text begins with \xHH.
bool BeginsWithEscape(std::string_view text) {
  return text.size() >= 4 && text[0] == '\\' && text[1] == 'x' && IsHexDigit(text[2]) &&
         IsHexDigit(text[3]);
}

// Returns the length in bytes of the UTF-8 character that the text begins with; 0 when the text
// does not begin with one (RFC 3629).
size_t CharacterBytes(std::string_view text) {
  const auto byte = [text](size_t i) { return static_cast<uint8_t>(text[i]); };
  if (byte(0) < 0x80) return 1;
  const size_t n = byte(0) >= 0xC2 && byte(0) < 0xE0   ? 2
                   : byte(0) >= 0xE0 && byte(0) < 0xF0 ? 3
                   : byte(0) >= 0xF0 && byte(0) < 0xF5 ? 4
                                                       : 0;
  if (n == 0 || text.size() < n) return 0;
  for (size_t i = 1; i < n; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const bool overlong = (byte(0) == 0xE0 && byte(1) < 0xA0) || (byte(0) == 0xF0 && byte(1) < 0x90);
  const bool surrogate = byte(0) == 0xED && byte(1) >= 0xA0;
  const bool beyond = byte(0) == 0xF4 && byte(1) >= 0x90;
  return overlong || surrogate || beyond ? 0 : n;
}

std::string Escaped(std::string_view text) {
  std::string escaped;
  while (!text.empty()) {
    const size_t n = CharacterBytes(text);
    if (n == 0 || BeginsWithEscape(text)) {
      escaped += fmt::format("\\x{:02x}", static_cast<uint8_t>(text[0]));
      text.remove_prefix(1);
    } else {
      escaped += text.substr(0, n);
      text.remove_prefix(n);
    }
  }
  return escaped;
}

std::string Unescaped(std::string_view text) {
  std::string bytes;
  while (!text.empty()) {
    const bool escape = BeginsWithEscape(text);
    bytes += escape ? static_cast<char>(std::stoi(std::string(text.substr(2, 2)), nullptr, 16))
                    : text[0];
    text.remove_prefix(escape ? 4 : 1);
  }
  return bytes;
}

bool IsPlainText(std::string_view text) {
  while (!text.empty()) {
    const size_t n = CharacterBytes(text);
    if (n == 0 || BeginsWithEscape(text)) return false;
    text.remove_prefix(n);
  }
  return true;
}

// Returns whether JSON text has all strings and all fields' names of the document as they are.
bool IsPlain(const json& document) {
  if (document.is_string()) return IsPlainText(document.get_ref<const std::string&>());
  if (document.is_array()) {
    return std::all_of(document.begin(), document.end(),
                       [](const json& one) { return IsPlain(one); });
  }
  if (!document.is_object()) return true;
  for (const auto& [name, value] : document.items()) {
    if (!IsPlainText(name) || !IsPlain(value)) return false;
  }
  return true;
}

// Returns a copy of the document with each string and each field's name as valid UTF-8.
json EscapedCopy(const json& document) {
  if (document.is_string()) return Escaped(document.get_ref<const std::string&>());
  if (document.is_array()) {
    json all = json::array();
    for (const json& one : document) all.push_back(EscapedCopy(one));
    return all;
  }
  if (!document.is_object()) return document;
  json all = json::object();
  for (const auto& [name, value] : document.items()) all[Escaped(name)] = EscapedCopy(value);
  return all;
}

bool MayHaveEscape(const std::string& text) { return text.find("\\x") != std::string::npos; }

// Gives each string and each field's name of the document its bytes. The document is changed in
// place: that of a long run takes several times the bytes of its text, and hardly any name in it
// has an escape.
void Unescape(json* node) {
  if (node->is_string()) {
    auto& text = node->get_ref<std::string&>();
    if (MayHaveEscape(text)) text = Unescaped(text);
  } else if (node->is_array()) {
    for (json& element : *node) Unescape(&element);
  } else if (node->is_object()) {
    bool renamed = false;
    for (auto at = node->begin(); at != node->end(); ++at) {
      renamed = renamed || MayHaveEscape(at.key());
      Unescape(&at.value());
    }
    if (!renamed) return;
    json all = json::object();
    for (auto at = node->begin(); at != node->end(); ++at) {
      all[Unescaped(at.key())] = std::move(at.value());
    }
    *node = std::move(all);
  }
}

// Returns how deep the arrays and objects of the text are nested.
size_t Depth(std::string_view text) {
  size_t depth = 0, most = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string && c == '\\') {
      ++i;
    } else if (c == '"') {
      in_string = !in_string;
    } else if (!in_string && (c == '[' || c == '{')) {
      most = std::max(most, ++depth);
    } else if (!in_string && (c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return most;
}

// The depth is bounded because functions that walk a document recurse at each level.
constexpr size_t kMostLevels = 500;

}  // namespace

std::string Utf8Text(std::string_view text) { return Escaped(text); }

std::string BytesOfUtf8Text(std::string_view text) { return Unescaped(text); }

std::string JsonText(const json& document, int indent) {
  // A copy of a long document would take its memory again.
  return IsPlain(document) ? document.dump(indent) : EscapedCopy(document).dump(indent);
}

json ParseJson(std::string_view text) {
  if (Depth(text) > kMostLevels) return json(json::value_t::discarded);
  json document = json::parse(text.begin(), text.end(), nullptr, false);
  Unescape(&document);
  return document;
}

std::string JsonErrorText(const json::exception& error) {
  const std::string text = error.what();
  const size_t code = text.find("] ");
  return code == std::string::npos ? text : text.substr(code + 2);
}

json FiniteJson(double value) { return std::isfinite(value) ? json(value) : json(); }

}  // namespace testbed
