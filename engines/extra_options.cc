#include "engines/extra_options.h"

#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "device/error.h"
#include "device/lower_case.h"

namespace testbed {
namespace {

// Reads the number that `text` begins with and leaves the rest in *rest.
template <typename T>
bool Leading(std::string_view text, T* value, std::string_view* rest) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), *value);
  if (code != std::errc()) return false;
  *rest = text.substr(static_cast<size_t>(end - text.data()));
  return true;
}

// Returns a number as people write it: 0.001, 1000000000.
std::string Written(uint64_t number) { return std::to_string(number); }
std::string Written(double number) {
  char text[400];  // the largest double has 309 digits
  const auto [end, code] =
      std::to_chars(text, text + sizeof text, number, std::chars_format::fixed);
  return code == std::errc() ? std::string(text, end) : std::to_string(number);
}

// Returns the factor of a unit ("", "k", "KiB", "M", ...); 0 when `text` is not a unit.
uint64_t Unit(std::string_view text) {
  const std::string unit = LowerCase(text);
  if (unit.empty() || unit == "b") return 1;
  const size_t power = std::string_view("kmgt").find(unit[0]);
  const std::string_view rest = std::string_view(unit).substr(1);
  if (power == std::string_view::npos || !(rest.empty() || rest == "b" || rest == "ib")) return 0;
  return 1ull << (10 * (power + 1));
}

// Returns the number that a text says, 1 for "on" and 0 for "off"; nothing for another text.
std::optional<double> NumberOf(std::string_view text) {
  const std::string word = LowerCase(text);
  if (word == "on" || word == "true") return 1;
  if (word == "off" || word == "false") return 0;
  double number = 0;
  std::string_view unit;
  if (!Leading(text, &number, &unit) || Unit(unit) == 0) return std::nullopt;
  return number * static_cast<double>(Unit(unit));
}

}  // namespace

std::optional<uint64_t> ParseBytes(std::string_view text) {
  std::string_view unit;
  uint64_t whole = 0;
  if (Leading(text, &whole, &unit)) {
    if (const uint64_t factor = Unit(unit); factor != 0) {
      if (whole > UINT64_MAX / factor) return std::nullopt;
      return whole * factor;
    }
  }
  double number = 0;
  if (!Leading(text, &number, &unit) || Unit(unit) == 0) return std::nullopt;
  const double bytes = number * static_cast<double>(Unit(unit));
  if (!(bytes >= 0) || !(bytes < 0x1p64) || bytes != std::floor(bytes)) return std::nullopt;
  return static_cast<uint64_t>(bytes);
}

bool IsAnotherValue(std::string_view given, std::string_view in_force) {
  constexpr double kRounding = 1e-6;  // engines write six decimal places
  std::optional<double> a = NumberOf(given);
  const std::optional<double> b = NumberOf(in_force);
  if (!a || !b) return false;
  // For -1, RocksDB takes the greatest value of its unsigned numbers.
  if (*a < 0 && *b >= 0x1p63) *a += 0x1p64;
  return std::abs(*a - *b) > kRounding;
}

const std::string* ExtraOptions::Find(const std::string& name) const {
  const auto it = values_.find(name);
  return it == values_.end() ? nullptr : &it->second;
}

void ExtraOptions::Refuse(const std::string& name, const std::string& accepted) const {
  throw Error(Error::kUsage, owner_ + " cannot honour " + option_ + " " + name + "=" + *Find(name) +
                                 "; it accepts " + accepted);
}

bool ExtraOptions::Flag(const std::string& name, bool otherwise) const {
  const std::string* value = Find(name);
  if (value == nullptr) return otherwise;
  if (*value == "1" || *value == "true" || *value == "on") return true;
  if (*value == "0" || *value == "false" || *value == "off") return false;
  Refuse(name, "on and off");
}

template <typename T>
T ExtraOptions::Ranged(const std::string& name, T otherwise, T min, T max, const char* kind) const {
  const std::string* value = Find(name);
  if (value == nullptr) return otherwise;
  T number = 0;
  std::string_view rest;
  if (!Leading(*value, &number, &rest) || !rest.empty() || !(number >= min && number <= max)) {
    Refuse(name, std::string(kind) + " from " + Written(min) + " to " + Written(max));
  }
  return number;
}

uint64_t ExtraOptions::Integer(const std::string& name, uint64_t otherwise, uint64_t min,
                               uint64_t max) const {
  return Ranged(name, otherwise, min, max, "whole numbers");
}

double ExtraOptions::Number(const std::string& name, double otherwise, double min,
                            double max) const {
  return Ranged(name, otherwise, min, max, "numbers");
}

uint64_t ExtraOptions::Bytes(const std::string& name, uint64_t otherwise, uint64_t min,
                             uint64_t max) const {
  const std::string* value = Find(name);
  if (value == nullptr) return otherwise;
  const std::optional<uint64_t> bytes = ParseBytes(*value);
  if (!bytes || *bytes < min || *bytes > max) {
    Refuse(name, "sizes such as 4096, 64k or 1G, from " + std::to_string(min) + " to " +
                     std::to_string(max) + " bytes");
  }
  return *bytes;
}

std::string ExtraOptions::Choice(const std::string& name, const std::string& otherwise,
                                 const std::vector<std::string>& accepted) const {
  const std::string* value = Find(name);
  if (value == nullptr) return otherwise;
  std::string list;
  for (const std::string& word : accepted) {
    if (word == *value) return word;
    list += (list.empty() ? "" : ", ") + word;
  }
  Refuse(name, list);
}

namespace {

constexpr char kConflictWait[] = "conflict_wait_ms";
constexpr uint32_t kConflictWaitMs = 10000;

}  // namespace

uint32_t ConflictWaitOption(const ExtraOptions& extra) {
  return static_cast<uint32_t>(extra.Integer(kConflictWait, kConflictWaitMs, 0, 1000000));
}

std::pair<std::string, std::string> ConflictWaitMeaning(const std::string& what) {
  return {kConflictWait,
          "milliseconds for which " + what + " (" + std::to_string(kConflictWaitMs) + ")"};
}

}  // namespace testbed
