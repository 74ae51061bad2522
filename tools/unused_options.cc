#include "tools/unused_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "device/error.h"
#include "device/file/file.h"
#include "tools/command/command_words.h"
#include "tools/rate/rate_options.h"
#include "workloads/dataset.h"
#include "workloads/registry.h"
#include "workloads/workload.h"

namespace testbed {
namespace {

// Throws Error (kUsage) when the shape of another distribution than the run's is given.
void CheckShape(const RunOptions& options, const std::vector<std::string>& words) {
  const Distribution own = options.workload.distribution;
  const bool skewed = own == Distribution::kZipfian || own == Distribution::kScrambled ||
                      own == Distribution::kLatest;
  const auto refuse = [&](const std::string& option, const char* of) {
    if (!Gives(words, option)) return;
    throw Error(Error::kUsage,
                fmt::format("{} belongs to --distribution {}, and that of this run is {}; give "
                            "such a distribution, or leave {} out",
                            option, of, DistributionName(own), option));
  };
  if (!skewed) refuse("--zipf-theta", "zipfian, scrambled or latest");
  if (own == Distribution::kHot) return;
  refuse("--hot-fraction", "hot");
  refuse("--hot-probability", "hot");
}

// Returns whether the workload draws rows by --distribution. One that does has popular rows with a
// distribution that makes some popular.
bool DrawsRows(const WorkloadInfo& info, const std::shared_ptr<const Dataset>& dataset,
               WorkloadOptions options) {
  options.distribution = Distribution::kZipfian;
  return info.make(dataset, options)->has_popular_rows();
}

// Throws Error (kUsage) when rows are to be drawn, and no workload draws any. A run that only loads
// may have the options of the runs that follow it.
void CheckDrawn(const RunOptions& options, const std::vector<std::string>& words) {
  const bool distribution =
      Gives(words, "--distribution") && options.workload.distribution != Distribution::kUniform;
  const bool misses = Gives(words, "--hit-ratio") && options.workload.hit_ratio < 1;
  // Popular rows of a phase's own are checked with the workloads (CheckOwnPhases).
  if ((!distribution && !misses) || !options.phase_popular.empty()) return;
  const auto dataset = std::make_shared<const Dataset>(options.data);
  bool only_loads = true;
  for (const std::string& name : options.workloads) {
    const WorkloadInfo& info = FindWorkload(name);
    if (info.loads || info.only_settles) continue;
    only_loads = false;
    if (DrawsRows(info, dataset, options.workload)) return;
  }
  if (only_loads) return;
  throw Error(
      Error::kUsage,
      fmt::format("{} is for workloads that draw rows, such as point-read, mixed and ycsb-a, and "
                  "--workload {} has none; leave it out",
                  distribution ? "--distribution" : "--hit-ratio",
                  fmt::join(options.workloads, ",")));
}

void CheckAdvice(const RunOptions& options) {
  if (options.engine.mmap_advice == Advice::kNormal || options.engine.io == IoMode::kMmap) return;
  throw Error(Error::kUsage,
              fmt::format("--mmap-advice {} is for mapped files, and this run has --io {}; give "
                          "--io mmap, or leave --mmap-advice out",
                          AdviceName(options.engine.mmap_advice), IoModeName(options.engine.io)));
}

}  // namespace

void CheckUnusedOptions(const RunOptions& options, const std::vector<std::string>& words) {
  CheckArrivals(options);
  CheckShape(options, words);
  CheckDrawn(options, words);
  CheckAdvice(options);
}

}  // namespace testbed
