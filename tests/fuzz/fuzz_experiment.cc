#include <exception>
#include <string>

#include "device/error.h"
#include "tests/fuzz/fuzz_target.h"
#include "tools/experiment/experiment.h"
#include "tools/experiment/plan/plan.h"

namespace testbed {
namespace {

template <typename Step>
void Attempt(const Step& step) {
  try {
    step();
  } catch (const Error& e) {
    Require(e.kind() == Error::kUsage, e.what());
  } catch (const std::exception& e) {
    Require(false, e.what());
  }
}

// Returns the number of cells of one round, or 0 when planning them would take long.
uint64_t Cells(const Experiment& experiment) {
  uint64_t cells = 1;
  for (const Axis& axis : experiment.axes) {
    cells *= axis.values.size();
    if (cells > 2000) return 0;
  }
  return cells;
}

}  // namespace

// Takes any text for an experiment, which must be planned, or refused with a sentence.
TESTBED_FUZZ_TARGET(experiment) {
  Experiment experiment;
  bool parsed = false;
  Attempt([&] {
    experiment = ParseExperiment(std::string(bytes), "experiment.toml");
    parsed = true;
  });
  if (!parsed || Cells(experiment) == 0) return;
  for (const auto& [scale, ignored] : experiment.scales) {
    PlanOptions options;
    options.scale = scale;
    options.rounds = 1;
    Attempt([&] { (void)PlanCells(experiment, options); });
  }
}

}  // namespace testbed
