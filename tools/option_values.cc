#include "tools/option_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <charconv>
#include <cmath>

#include "device/error.h"
#include "tools/command/usage_text.h"

namespace testbed {

void RefuseValue(const std::string& option, const std::string& text, const std::string& accepted) {
  throw Error(Error::kUsage, fmt::format("{} {} is not accepted; it takes {}", option,
                                         text.empty() ? "''" : text, accepted));
}

void RefuseName(const std::string& option, const std::string& text,
                const std::vector<std::string>& names) {
  const std::string guess = NearestName(text, names);
  RefuseValue(option, text,
              fmt::format("{}{}", fmt::join(names, ", "),
                          guess.empty() ? "" : "; did you mean " + guess + "?"));
}

uint64_t ParseCount(const std::string& option, const std::string& text, uint64_t least,
                    uint64_t most) {
  uint64_t n = 0;
  const char* end = text.data() + text.size();
  auto [at, error] = std::from_chars(text.data(), end, n);
  uint64_t unit = 1;
  if (error == std::errc() && at + 1 == end) {  // one letter follows: a decimal unit
    unit = *at == 'k' || *at == 'K' ? 1000 : *at == 'M' ? 1000000 : *at == 'G' ? 1000000000 : 0;
    at = end;
  }
  if (error != std::errc() || at != end || unit == 0 || n > most / unit || n * unit < least) {
    RefuseValue(option, text,
                most == UINT64_MAX
                    ? fmt::format("a whole number from {} (k, M and G are accepted)", least)
                    : fmt::format("a whole number from {} to {}", least, most));
  }
  return n * unit;
}

double ParseReal(const std::string& option, const std::string& text, double least, double most) {
  double x = 0;
  const char* end = text.data() + text.size();
  auto [at, error] = std::from_chars(text.data(), end, x);
  if (error != std::errc() || at != end || !(x >= least) || !(x <= most)) {
    RefuseValue(option, text,
                most > 1e15 ? fmt::format("a number from {}", least)
                            : fmt::format("a number from {} to {}", least, most));
  }
  return x;
}

std::vector<std::string> Split(const std::string& text, char at) {
  std::vector<std::string> parts;
  size_t begin = 0;
  while (true) {
    const size_t end = text.find(at, begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string::npos) return parts;
    begin = end + 1;
  }
}

uint64_t ParseSize(const std::string& option, const std::string& text, uint64_t least,
                   uint64_t most) {
  double x = 0;
  const char* end = text.data() + text.size();
  auto [at, error] = std::from_chars(text.data(), end, x);
  std::string unit(at, end);
  for (char& c : unit) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  uint64_t scale = 0;
  if (unit.empty() || unit == "b") scale = 1;
  for (int i = 0; i < 4; ++i) {
    const std::string letter(1, "kmgt"[i]);
    if (unit == letter || unit == letter + "b" || unit == letter + "ib")
      scale = 1ull << (10 * (i + 1));
  }
  const double bytes = x * static_cast<double>(scale);
  if (error != std::errc() || scale == 0 || !(bytes >= static_cast<double>(least)) ||
      !(bytes <= static_cast<double>(most)) || bytes != std::floor(bytes)) {
    RefuseValue(option, text,
                fmt::format("a size from {} to {} in bytes or with k, M, G or T", ShortSize(least),
                            ShortSize(most)));
  }
  return static_cast<uint64_t>(bytes);
}

ValueSize ParseValueSize(const std::string& option, const std::string& text, uint64_t most) {
  const size_t times = text.find('x');
  if (times == std::string::npos) return {1, ParseSize(option, text, 0, most)};
  constexpr uint64_t kLeastField = 16, kMostFields = 1000;
  try {
    const uint64_t fields = ParseCount(option, text.substr(0, times), 2, kMostFields);
    const uint64_t size = ParseSize(option, text.substr(times + 1), kLeastField, most / fields);
    return {static_cast<uint32_t>(fields), fields * size};
  } catch (const Error&) {
    RefuseValue(option, text,
                fmt::format("a size up to {}, or FIELDSxSIZE, 2 to {} fields of {} bytes or more "
                            "and {} in all, such as 10x100",
                            ShortSize(most), kMostFields, kLeastField, ShortSize(most)));
  }
}

std::map<std::string, double> ParseShares(const std::string& option, const std::string& text) {
  std::map<std::string, double> shares;
  for (const std::string& part : Split(text, ',')) {
    const size_t equals = part.find('=');
    if (equals == std::string::npos) {
      RefuseValue(option, text, "operation=share pairs, such as point-read=80,update=15,insert=5");
    }
    const double share = ParseReal(option, part.substr(equals + 1), 0, 1e9);
    if (!shares.emplace(part.substr(0, equals), share).second) {
      RefuseValue(option, text, "each operation once");
    }
  }
  return shares;
}

std::string ShortSize(uint64_t bytes) {
  static constexpr const char* kUnits[] = {"", "k", "M", "G", "T"};
  int unit = 0;
  double x = static_cast<double>(bytes);
  while (x >= 1024 && unit < 4) {
    x /= 1024;
    ++unit;
  }
  return x == std::floor(x) ? fmt::format("{:.0f}{}", x, kUnits[unit])
                            : fmt::format("{:.1f}{}", x, kUnits[unit]);
}

void ParseSettings(const std::string& option, const std::vector<std::string>& settings,
                   std::map<std::string, std::string>* values) {
  for (const std::string& setting : settings) {
    const size_t equals = setting.find('=');
    if (equals == std::string::npos || equals == 0) {
      RefuseValue(option, setting, "name=value; `testbed list` shows the names");
    }
    const std::string name = setting.substr(0, equals);
    std::string& value = (*values)[name];
    // Each of these two is itself a list of settings, so a repeated one extends the list.
    const bool collects = name == "server_option" || name == "options";
    value = (collects && !value.empty() ? value + ";" : "") + setting.substr(equals + 1);
  }
}

}  // namespace testbed
