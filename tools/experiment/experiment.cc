#include "tools/experiment/experiment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "device/error.h"
#include "device/file/input_file.h"
#include "tools/command/usage_text.h"

namespace testbed {

bool HasLabel(const Axis& axis, const std::string& label) {
  return std::any_of(axis.values.begin(), axis.values.end(),
                     [&](const AxisValue& value) { return value.label == label; });
}

const Axis* Experiment::FindAxis(const std::string& axis) const {
  for (const Axis& a : axes) {
    if (a.name == axis) return &a;
  }
  return nullptr;
}

const ExperimentMetric* Experiment::FindMetric(const std::string& metric) const {
  for (const ExperimentMetric& m : metrics) {
    if (m.name == metric) return &m;
  }
  return nullptr;
}

std::vector<MetricSeries> MetricSeriesOf(const Experiment& experiment) {
  constexpr size_t kLeastNumbers = 3, kMostDigits = 9;
  std::vector<MetricSeries> all;
  for (size_t i = 0; i < experiment.metrics.size(); ++i) {
    const ExperimentMetric& metric = experiment.metrics[i];
    const std::string& name = metric.name;
    const size_t bar = name.rfind('_'), digits = name.find_last_not_of("0123456789") + 1;
    if (bar == std::string::npos || bar == 0 || digits <= bar) continue;
    if (digits == name.size() || name.size() - digits > kMostDigits) continue;
    const std::string letters = name.substr(bar + 1, digits - bar - 1);
    if (!experiment.series.contains(letters)) continue;
    const std::string stem = name.substr(0, letters.empty() ? bar : digits);
    auto series = std::find_if(all.begin(), all.end(), [&](const MetricSeries& one) {
      const ExperimentMetric& first = experiment.metrics[one.places.begin()->second];
      return one.stem == stem && one.letters == letters && first.unit == metric.unit;
    });
    if (series == all.end()) series = all.insert(all.end(), MetricSeries{stem, letters, {}});
    series->places.emplace(static_cast<unsigned>(std::stoul(name.substr(digits))), i);
  }
  std::erase_if(all, [](const MetricSeries& one) { return one.places.size() < kLeastNumbers; });
  return all;
}

Experiment LoadExperiment(const std::string& name) {
  if (name.ends_with(".toml")) {
    InputFile file({.path = name,
                    .name = "the experiment file " + name,
                    .advice = "`testbed experiment show NAME` prints one to begin with"});
    Experiment experiment = ParseExperiment(file.ReadAll(), name, true);
    experiment.file = name;
    return experiment;
  }
  const auto& shipped = ShippedExperiments();
  const auto found = shipped.find(name);
  if (found == shipped.end()) {
    std::vector<std::string> names;
    for (const auto& [known, text] : shipped) names.push_back(known);
    const std::string guess = name.empty() ? "" : NearestName(name, names);
    throw Error(Error::kUsage,
                fmt::format("there is no experiment '{}'; there are {}, or give a file that ends "
                            "in .toml{}",
                            name, fmt::join(names, ", "),
                            guess.empty() ? "" : "; did you mean " + guess + "?"));
  }
  return ParseExperiment(found->second, name + ".toml", false);
}

}  // namespace testbed
