#include "tools/output/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace testbed {

std::string Table::Text() const {
  std::vector<size_t> width(columns_.size());
  for (size_t c = 0; c < columns_.size(); ++c) {
    width[c] = columns_[c].size();
    for (const auto& row : rows_) width[c] = std::max(width[c], row[c].size());
  }
  auto line = [&](const std::vector<std::string>& cells) {
    std::string text = fmt::format("  {:<{}}", cells[0], width[0]);
    for (size_t c = 1; c < cells.size(); ++c) {
      text += cells_ == kWords ? fmt::format("  {:<{}}", cells[c], width[c])
                               : fmt::format("  {:>{}}", cells[c], width[c]);
    }
    return text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
  };
  std::string text = title_ + "\n" + line(columns_);
  for (const auto& row : rows_) text += line(row);
  return text + "\n";
}

std::string Table::Csv() const {
  auto quoted = [](const std::string& cell) {
    if (cell.find_first_of(",\"\n") == std::string::npos) return cell;
    std::string out = "\"";
    for (char c : cell) out += c == '"' ? std::string("\"\"") : std::string(1, c);
    return out + "\"";
  };
  auto line = [&](const std::string& first, const std::vector<std::string>& cells) {
    std::string text = quoted(first);
    for (const std::string& cell : cells) text += "," + quoted(cell);
    return text + "\n";
  };
  std::string text = line("table", columns_);
  for (const auto& row : rows_) text += line(title_, row);
  return text + "\n";
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

std::string Percent(double share) {
  return std::isfinite(share) ? fmt::format("{:.1f} %", share * 100) : "-";
}

}  // namespace testbed
