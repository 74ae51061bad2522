#include "tools/output/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace testbed {

namespace {

// Returns how many characters a terminal shows of UTF-8 text.
size_t Characters(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

std::string Padded(const std::string& text, size_t width, bool left) {
  const size_t n = Characters(text);
  const std::string spaces(width > n ? width - n : 0, ' ');
  return left ? text + spaces : spaces + text;
}

// Returns the text on one line, and escapes what Markdown or HTML would take for markup, and what
// GitHub would take for the number of an issue: "#2", the second run on a load.
std::string MarkdownCell(const std::string& raw) {
  const std::string text = OneLine(raw);
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '#':
        out += i + 1 < text.size() && text[i + 1] >= '0' && text[i + 1] <= '9' ? "#<!-- -->" : "#";
        break;
      default:
        if (std::string_view("|\\`*_[]").find(c) != std::string_view::npos) out += '\\';
        out += c;
    }
  }
  return out;
}

}  // namespace

std::string FirstCharacters(const std::string& text, size_t most) {
  size_t at = 0;
  for (size_t n = 0; at < text.size() && n < most; ++n) {
    do ++at;
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80);
  }
  return text.substr(0, at);
}

std::vector<size_t> Table::Shown(bool all) const {
  std::vector<size_t> shown;
  for (size_t c = 0; c < columns_.size(); ++c) {
    if (all || !wide_.contains(columns_[c])) shown.push_back(c);
  }
  return shown;
}

std::vector<size_t> Table::Widths() const {
  std::vector<size_t> width(columns_.size());
  for (size_t c = 0; c < columns_.size(); ++c) {
    width[c] = Characters(columns_[c]);
    for (const auto& row : rows_) width[c] = std::max(width[c], Characters(row[c]));
  }
  return width;
}

std::string Table::Text(size_t most) const {
  const std::vector<size_t> width = Widths();
  std::vector<size_t> shown = Shown(most == SIZE_MAX);
  const auto line_width = [&] {
    size_t sum = 0;
    for (const size_t c : shown) sum += 2 + width[c];
    return sum;
  };
  const size_t before = shown.size();
  while (shown.size() > 2 && line_width() > most) {
    auto out = shown.end() - 1;
    while (out > shown.begin() + 1 && kept_.contains(columns_[*out])) --out;
    shown.erase(out);
  }
  auto line = [&](const std::vector<std::string>& cells) {
    std::string text;
    for (const size_t c : shown) {
      text += "  " + Padded(OneLine(cells[c]), width[c], IsLeft(c));
    }
    return text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
  };
  std::string text = Wrapped(OneLine(title_) + "\n", most) + line(columns_);
  for (const auto& row : rows_) text += line(row);
  if (before != shown.size()) {
    const size_t out = columns_.size() - shown.size();  // --wide shows those of Wide, too
    text += fmt::format("  ({} with --wide)\n", Counted(out, "more column"));
  }
  return text + "\n";
}

std::string Table::Markdown(bool all) const {
  const std::vector<size_t> shown = Shown(all);
  std::string text = "### " + MarkdownCell(title_) + "\n\n|", rule = "|";
  for (const size_t c : shown) {
    text += " " + MarkdownCell(columns_[c]) + " |";
    rule += IsLeft(c) ? "---|" : "---:|";
  }
  text += "\n" + rule + "\n";
  for (const auto& row : rows_) {
    text += "|";
    for (const size_t c : shown) text += " " + MarkdownCell(row[c]) + " |";
    text += "\n";
  }
  return text + "\n";
}

std::string OneLine(const std::string& text) {
  std::string line = SeveralLines(text);
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

std::string SeveralLines(const std::string& text) {
  std::string lines;
  lines.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    // In UTF-8, U+0080 to U+009F are two bytes.
    const bool second = c == 0xc2 && i + 1 < text.size() &&
                        (static_cast<unsigned char>(text[i + 1]) & 0xe0) == 0x80;
    const bool control = (c < 0x20 && c != '\n') || c == 0x7f || second;
    lines += control ? ' ' : text[i];
    if (second) ++i;
  }
  return lines;
}

std::string Wrapped(const std::string& text, size_t most) {
  std::string out;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    const size_t indent = line.find_first_not_of(' ');
    while (Characters(line) > most) {
      size_t at = line.rfind(' ', most);
      if (at == std::string::npos || indent == std::string::npos || at <= indent + 2) break;
      out += line.substr(0, at) + "\n";
      line = std::string(indent + 2, ' ') + line.substr(at + 1);
      if (line.find(' ', indent + 2) == std::string::npos) break;
    }
    out += line + "\n";
    begin = end + 1;
  }
  return out;
}

std::string Short(double x) {
  if (!std::isfinite(x)) return "-";
  if (x == 0) return "0";
  const double size = std::abs(x);
  if (size >= 1e18) return fmt::format("{:.2e}", x);  // larger than any counter
  if (size >= 100000) {
    return (x < 0 ? "-" : "") + Count(static_cast<uint64_t>(std::llround(size)));
  }
  if (size >= 100) return fmt::format("{:.0f}", x);
  if (size >= 10) return fmt::format("{:.1f}", x);
  if (size >= 1) return fmt::format("{:.2f}", x);
  if (size >= 0.001) return fmt::format("{:.3f}", x);
  return fmt::format("{:.1e}", x);
}

std::string Count(uint64_t n) {
  std::string digits = std::to_string(n);
  for (size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string Counted(uint64_t n, const std::string& noun, const std::string& plural) {
  return WithNoun(Count(n), noun, plural);
}

std::string WithNoun(const std::string& number, const std::string& noun,
                     const std::string& plural) {
  const bool one = number == "1" || number == "-1";
  return number + " " + (one ? noun : plural.empty() ? noun + "s" : plural);
}

std::string Percent(double share) {
  if (!std::isfinite(share)) return "-";
  std::string text = fmt::format("{:.1f} %", share * 100);
  if (share > 0 && text == "0.0 %") return "<0.1 %";
  if (share < 1 && text == "100.0 %") return ">99.9 %";
  return text;
}

}  // namespace testbed
