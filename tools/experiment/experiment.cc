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
