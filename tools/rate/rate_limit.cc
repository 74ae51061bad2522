#include "tools/rate/rate_limit.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "tools/option_values.h"

namespace testbed {
namespace {

constexpr char kAccepted[] =
    "a percentile from p50 to p99.99 and a time in us, ms or s, such as 'p99 < 5ms', with the name "
    "of an operation before it where only that kind is limited: 'update p99.9 < 20ms'";
constexpr std::pair<const char*, double> kUnits[] = {{"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
constexpr double kMostNs = 3600e9;

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Parses the number at the front of the text, and removes it.
std::optional<double> TakeNumber(std::string_view* text) {
  double x = 0;
  const char* end = text->data() + text->size();
  const auto [at, error] = std::from_chars(text->data(), end, x, std::chars_format::fixed);
  if (error != std::errc()) return {};
  text->remove_prefix(static_cast<size_t>(at - text->data()));
  return x;
}

std::optional<double> ParseShare(std::string_view name) {
  if (!name.starts_with('p')) return {};
  name.remove_prefix(1);
  const std::optional<double> percent = TakeNumber(&name);
  if (!percent || !name.empty() || !(*percent >= 50) || !(*percent <= 99.99)) return {};
  return *percent / 100;
}

std::optional<uint64_t> ParseTime(std::string_view text) {
  const std::optional<double> number = TakeNumber(&text);
  text = Trimmed(text);
  for (const auto& [unit, ns] : kUnits) {
    if (!number || text != unit) continue;
    const double all = *number * ns;
    if (all >= 1 && all <= kMostNs) return static_cast<uint64_t>(std::llround(all));
  }
  return {};
}

}  // namespace

std::string RateLimit::PercentileName() const {
  return fmt::format("p{}", std::round(share * 1e6) / 1e4);
}

std::string RateLimit::Text() const {
  return fmt::format("{}{}{} < {}", operation, operation.empty() ? "" : " ", PercentileName(),
                     TimeText(limit_ns));
}

uint64_t RateLimit::OperationsNeeded() const {
  return static_cast<uint64_t>(std::ceil(kAbove / (1 - share) * (1 - 1e-9)));
}

RateLimit ParseRateLimit(const std::string& option, const std::string& text) {
  const size_t less = text.find('<');
  const std::string_view all = text;
  if (less == std::string::npos) RefuseValue(option, text, kAccepted);
  std::string_view left = Trimmed(all.substr(0, less));
  RateLimit limit;
  if (const size_t space = left.find(' '); space != std::string_view::npos) {
    limit.operation = left.substr(0, space);
    left = Trimmed(left.substr(space));
  }
  const std::optional<double> share = ParseShare(left);
  const std::optional<uint64_t> time = ParseTime(Trimmed(all.substr(less + 1)));
  if (!share || !time) RefuseValue(option, text, kAccepted);
  limit.share = *share;
  limit.limit_ns = *time;
  return limit;
}

std::string TimeText(uint64_t ns) {
  if (ns % 1000000000 == 0) return fmt::format("{}s", ns / 1000000000);
  if (ns % 1000000 == 0) return fmt::format("{}ms", ns / 1000000);
  return fmt::format("{}us", static_cast<double>(ns) / 1000);
}

}  // namespace testbed
