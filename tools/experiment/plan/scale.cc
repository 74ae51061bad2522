#include "tools/experiment/plan/scale.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>
#include <vector>

#include "device/error.h"
#include "tools/option_values.h"

namespace testbed {
namespace {

// Returns the option "ram" at a factor of the scale "full", which has `full` bytes; `name` is the
// factor as it was given. Memory that is not bounded (0) stays so. Throws Error (kUsage) when no
// run takes the product.
std::string ScaledRam(const Experiment& e, const std::string& name, double factor, uint64_t full) {
  constexpr uint64_t kLeast = 32 << 20, kMost = 1ull << 50;  // the bounds of --ram
  const double bytes = factor * static_cast<double>(full);
  if (full == 0) return "0";
  if (!(bytes >= static_cast<double>(kLeast)) || !(bytes <= static_cast<double>(kMost))) {
    throw Error(Error::kUsage,
                fmt::format("--scale {} is not accepted: experiment {} has {} of memory at full, "
                            "and a factor must leave {} to {}",
                            name, e.name, ShortSize(full), ShortSize(kLeast), ShortSize(kMost)));
  }
  return std::to_string(static_cast<uint64_t>(bytes) >> 20 << 20);
}

// Returns whether no cell takes its memory from the scale: the user sets it, or each value of an
// axis has one.
bool ScaleHasNoMemory(const Experiment& e, const PlanOptions& options) {
  const auto has_ram = [](const AxisValue& value) { return value.options.contains("ram"); };
  return options.set.contains("ram") ||
         std::any_of(e.axes.begin(), e.axes.end(), [&](const Axis& axis) {
           return std::all_of(axis.values.begin(), axis.values.end(), has_ram);
         });
}

}  // namespace

uint64_t RamOf(const std::string& text, const PlanOptions& options) {
  return text == "auto" ? AutoRam(options) : ParseSize("--ram", text, 0, UINT64_MAX);
}

ExperimentScale FindScale(const Experiment& e, const PlanOptions& options) {
  const std::string& name = options.scale;
  const auto known = e.scales.find(name);
  if (known != e.scales.end()) {
    ExperimentScale scale = known->second;
    const auto ram = scale.options.find("ram");
    if (ram != scale.options.end()) ram->second = std::to_string(RamOf(ram->second, options));
    return scale;
  }
  double factor = 0;
  const auto [end, code] = std::from_chars(name.data(), name.data() + name.size(), factor);
  const auto full = e.scales.find("full");
  if (code != std::errc() || end != name.data() + name.size() || !(factor > 0) ||
      !std::isfinite(factor) || full == e.scales.end()) {
    std::vector<std::string> names;
    for (const auto& [known_name, scale] : e.scales) names.push_back(known_name);
    throw Error(Error::kUsage,
                fmt::format("--scale {} is not accepted; experiment {} takes {}{}", name, e.name,
                            fmt::join(names, ", "),
                            full == e.scales.end() ? "" : ", or a factor of full such as 0.1"));
  }
  ExperimentScale scale = full->second;
  if (ScaleHasNoMemory(e, options)) return scale;
  const auto scaled = [&](const std::string& ram) {
    return ScaledRam(e, name, factor, RamOf(ram, options));
  };
  std::string ram = "auto";
  for (const OptionMap* given : {&e.options, &full->second.options}) {
    if (const auto found = given->find("ram"); found != given->end()) ram = found->second;
  }
  scale.options["ram"] = scaled(ram);
  for (auto& [engine, of_engine] : scale.engine_options) {
    if (const auto own = of_engine.find("ram"); own != of_engine.end()) {
      own->second = scaled(own->second);
    }
  }
  return scale;
}

}  // namespace testbed
