#include "engines/inspect.h"

#include <algorithm>

namespace testbed {

std::string Fault::Text() const {
  std::string text = page ? "page " + std::to_string(*page) + " of file " + file : "file " + file;
  if (byte) text += ", byte " + std::to_string(*byte);
  if (!table.empty()) text += ", table " + table;
  text += ": " + what;
  if (!expected.empty()) text += ": expected " + expected;
  if (!found.empty()) text += (expected.empty() ? ": found " : ", found ") + found;
  return Printable(std::move(text));  // a table's name may contain line breaks
}

std::string Printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(),
      [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }, '?');
  return text;
}

void Faults::Add(Fault fault) {
  ++count;
  if (kept.size() < most) kept.push_back(std::move(fault));
}

uint64_t SumOf(const NamedBytes& parts) {
  uint64_t sum = 0;
  for (const auto& [name, bytes] : parts) sum += bytes;
  return sum;
}

uint64_t TreeStats::Pages() const {
  uint64_t pages = overflow_pages;
  for (const LevelStats& level : levels) pages += level.pages;
  return pages;
}

std::string KeyText(std::string_view key) {
  constexpr size_t kText = 24, kBinary = 8;
  const bool is_text = std::all_of(
      key.begin(), key.end(), [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
  std::string text;
  if (is_text) {
    text = "\"" + std::string(key.substr(0, kText)) + "\"";
  } else {
    text = "0x";
    for (const char c : key.substr(0, kBinary)) {
      text += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4];
      text += "0123456789abcdef"[static_cast<unsigned char>(c) & 15];
    }
  }
  return key.size() > (is_text ? kText : kBinary) ? text + ".." : text;
}

}  // namespace testbed
