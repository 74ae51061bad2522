#include "tools/option_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "device/error.h"
#include "engines/extra_options.h"
#include "tools/command/usage_text.h"
#include "workloads/dataset.h"

namespace testbed {
namespace {

std::string OfUnit(const std::string& unit) { return unit.empty() ? "" : " of " + unit; }

}  // namespace

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
                    uint64_t most, const std::string& of) {
  uint64_t n = 0;
  const char* end = text.data() + text.size();
  auto [at, error] = std::from_chars(text.data(), end, n);
  uint64_t unit = 1;
  if (error == std::errc() && at + 1 == end) {  // one letter follows: a decimal unit
    unit = *at == 'k' || *at == 'K' ? 1000 : *at == 'M' ? 1000000 : *at == 'G' ? 1000000000 : 0;
    at = end;
  }
  if (error != std::errc() || at != end || unit == 0 || n > most / unit || n * unit < least) {
    RefuseValue(
        option, text,
        most == UINT64_MAX
            ? fmt::format("a whole number{} from {} (k, M and G are accepted)", OfUnit(of), least)
            : fmt::format("a whole number{} from {} to {}", OfUnit(of), least, most));
  }
  return n * unit;
}

std::vector<int> ParseCounts(const std::string& option, const std::string& text, int least,
                             int most) {
  std::vector<int> counts;
  for (const std::string& part : Split(text, ',')) {
    int count = 0;
    try {
      count = static_cast<int>(
          ParseCount(option, part, static_cast<uint64_t>(least), static_cast<uint64_t>(most)));
    } catch (const Error&) {
      RefuseValue(option, text,
                  fmt::format("a whole number from {} to {}, or several with commas between them, "
                              "such as 1,8,16",
                              least, most));
    }
    if (std::find(counts.begin(), counts.end(), count) != counts.end()) {
      throw Error(Error::kUsage,
                  fmt::format("{} {}: {} is in the list twice; give it once", option, text, count));
    }
    counts.push_back(count);
  }
  return counts;
}

double ParseReal(const std::string& option, const std::string& text, double least, double most,
                 const std::string& of) {
  double x = 0;
  const char* end = text.data() + text.size();
  auto [at, error] = std::from_chars(text.data(), end, x);
  if (error != std::errc() || at != end || !(x >= least) || !(x <= most)) {
    RefuseValue(option, text,
                most > 1e15 ? fmt::format("a number{} from {}", OfUnit(of), least)
                            : fmt::format("a number{} from {} to {}", OfUnit(of), least, most));
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
  const std::optional<uint64_t> bytes = ParseBytes(text);
  if (!bytes || *bytes < least || *bytes > most) {
    RefuseValue(option, text,
                fmt::format("a size from {} to {} in bytes or with k, M, G or T", ShortSize(least),
                            ShortSize(most)));
  }
  return *bytes;
}

namespace {

// Sets the sizes of SIZE, FIELDSxSIZE or LEAST-MOST. Throws Error (kUsage) when the text is none.
void SetSizes(const std::string& option, const std::string& text, uint64_t least_field,
              uint64_t most_fields, DatasetOptions* data) {
  // A '-' at the begin is the sign of a number.
  if (text.find('x') == std::string::npos && text.find('-', 1) == std::string::npos) {
    data->value_size = ParseSize(option, text, 0, kMostValueSize);
    return;
  }
  if (const size_t to = text.find('-'); to != std::string::npos) {
    data->most_value = ParseSize(option, text.substr(to + 1), 1, kMostValueSize);
    data->least_value = ParseSize(option, text.substr(0, to), 0, data->most_value - 1);
    data->value_size = (data->least_value + data->most_value) / 2;
    data->value_sizes = ValueSizes::kUniform;
    return;
  }
  const size_t times = text.find('x');
  const uint64_t fields = ParseCount(option, text.substr(0, times), 2, most_fields);
  const uint64_t size =
      ParseSize(option, text.substr(times + 1), least_field, kMostValueSize / fields);
  data->fields = static_cast<uint32_t>(fields);
  data->value_size = fields * size;
}

}  // namespace

void SetValueSize(const std::string& option, const std::string& text, DatasetOptions* data) {
  constexpr uint64_t kLeastField = 16, kMostFields = 1000;
  data->fields = 1;
  data->value_sizes = ValueSizes::kOne;
  data->least_value = data->most_value = 0;
  if (text == "column") {
    data->value_sizes = ValueSizes::kColumn;  // the data set computes the mean
    return;
  }
  try {
    SetSizes(option, text, kLeastField, kMostFields, data);
  } catch (const Error&) {
    RefuseValue(option, text,
                fmt::format("a size up to {}; FIELDSxSIZE, 2 to {} fields of {} bytes or more and "
                            "{} in all, such as 10x100; LEAST-MOST, the first below the second, "
                            "such as 100-1000; or column",
                            ShortSize(kMostValueSize), kMostFields, kLeastField,
                            ShortSize(kMostValueSize)));
  }
}

std::map<std::string, double> ParseShares(const std::string& option, const std::string& text) {
  constexpr char kPairs[] =
      "operation=share pairs with shares from 0 to 1000000000, such as "
      "point-read=80,update=15,insert=5";
  std::map<std::string, double> shares;
  for (const std::string& part : Split(text, ',')) {
    const size_t equals = part.find('=');
    if (equals == std::string::npos) RefuseValue(option, text, kPairs);
    double share = 0;
    try {
      share = ParseReal(option, part.substr(equals + 1), 0, 1e9);
    } catch (const Error&) {
      RefuseValue(option, text, kPairs);
    }
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

void AddSetting(const std::string& name, const std::string& given, std::string* value) {
  const bool is_list = name == "server_option" || name == "options";
  *value = (is_list && !value->empty() ? *value + ";" : "") + given;
}

void ParseSettings(const std::string& option, const std::vector<std::string>& settings,
                   std::map<std::string, std::string>* values) {
  for (const std::string& setting : settings) {
    const size_t equals = setting.find('=');
    if (equals == std::string::npos || equals == 0) {
      RefuseValue(option, setting, "name=value; `testbed list` shows the names");
    }
    const std::string name = setting.substr(0, equals);
    AddSetting(name, setting.substr(equals + 1), &(*values)[name]);
  }
}

}  // namespace testbed
