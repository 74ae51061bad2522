#include "workloads/linkbench/access.h"

#include <algorithm>
#include <cmath>

#include "device/error.h"
#include "engines/extra_options.h"

namespace testbed::linkbench {
namespace {

constexpr double kMultigetProbability = 0.382;  // parameter of the geometric distribution of
                                                // multiget sizes

struct NamedMix {
  const char* name;
  Mix mix;
};
constexpr NamedMix kMixes[] = {
    {"2017",
     {5.35038, 0.98401, 4.75589, 4.27898, 12.14725, 22.57039, 2.61198, 3.06256, 0.25166, 43.9869}},
    {"2011",
     {8.9886601, 2.9907664, 8.0122125, 4.8863567, 0.5261142, 50.7119145, 2.5732789, 7.366437,
      1.0115914, 12.9326683}},
    {"read-node", {1, 1, 1, 1, 1, 1, 1, 1, 1, 91}},
    {"read-list", {1, 1, 1, 1, 1, 91, 1, 1, 1, 1}},
};

ExtraOptions Extra(const WorkloadOptions& options) {
  return {"linkbench", options.extra, "--workload-option"};
}

std::string MixName(const Settings& settings, const WorkloadOptions& options) {
  return Extra(options).Choice("mix", settings.is_2017 ? "2017" : "2011",
                               {"2017", "2011", "read-node", "read-list"});
}

double Shape(const WorkloadOptions& options, const char* name, double otherwise) {
  return Extra(options).Number(name, otherwise, 0.01, 0.99);
}

double Share(const WorkloadOptions& options, const char* name, double otherwise) {
  return Extra(options).Number(name, otherwise, 0, 100) / 100;
}

Access::Blend ReadBlend(uint64_t nodes, const WorkloadOptions& options,
                        const InvertibleShuffler* degrees, const InvertibleShuffler* own) {
  const GrayZipf zipf(nodes, Shape(options, "read_shape", 0.8));
  return {{zipf, degrees}, {zipf, own}, Share(options, "read_uncorrelated", 99.5)};
}

// With LinkBench's bug, the uncorrelated stream of writes and its share are those of reads.
Access::Blend WriteBlend(uint64_t nodes, const WorkloadOptions& options, const Access::Blend& reads,
                         bool bug, const InvertibleShuffler* degrees,
                         const InvertibleShuffler* own) {
  const GrayZipf zipf(nodes, Shape(options, "write_shape", 0.741));
  const double share = Share(options, "write_uncorrelated", 95);
  if (bug) return {{zipf, degrees}, reads.uncorrelated, reads.uncorrelated_share};
  return {{zipf, degrees}, {zipf, own}, share};
}

}  // namespace

const Mix& MixOf(const std::string& name) {
  for (const NamedMix& known : kMixes) {
    if (name == known.name) return known.mix;
  }
  throw Error(Error::kUsage, "linkbench has no mix " + name);
}

std::vector<std::pair<std::string, std::string>> AccessOptions() {
  return {
      {"mix",
       "shares of the operations: 2017, 2011, read-node or read-list [that of distribution]"},
      {"read_shape", "Zipf exponent of link reads [0.8]"},
      {"read_uncorrelated", "per cent of link reads that do not follow the degrees [99.5]"},
      {"write_shape", "Zipf exponent of link writes [0.741]"},
      {"write_uncorrelated",
       "with bugs=mended, per cent of link writes that do not follow the degrees [95]"},
      {"node_read_shape", "Zipf exponent of node reads [0.625]"},
      {"node_update_shape", "Zipf exponent of node updates [0.606]"},
  };
}

Access::Access(const Settings& s, const WorkloadOptions& options)
    : settings(s),
      degrees(s.Degrees()),
      mix_name(MixName(s, options)),
      mix(MixOf(mix_name)),
      uncorrelated_(kUncorrelatedSeed, s.nodes),
      nodes_(kNodeAccessSeed, s.nodes),
      link_reads_(ReadBlend(s.nodes, options, &degrees.shuffler(), &uncorrelated_)),
      link_writes_(WriteBlend(s.nodes, options, link_reads_, s.bugs_kept, &degrees.shuffler(),
                              &uncorrelated_)),
      node_reads_{GrayZipf(s.nodes, Shape(options, "node_read_shape", 0.625)), &nodes_},
      node_updates_{GrayZipf(s.nodes, Shape(options, "node_update_shape", 0.606)), &nodes_} {}

Chooser::Chooser(const Access& access, uint64_t seed) : access_(access), random_(seed) {
  double sum = 0;
  for (size_t k = 0; k < kOps; ++k) sums_[k] = sum += access.mix[k];
}

Op Chooser::NextOp() {
  const double r = random_.Unit() * 100;
  const auto at =
      std::find_if(sums_.begin(), sums_.end() - 1, [r](double sum) { return sum >= r; });
  return static_cast<Op>(at - sums_.begin());
}

uint64_t Chooser::Id2(uint64_t id1, uint64_t type, double loaded) {
  if (random_.Unit() >= loaded) return random_.Below(access_.settings.max_id());
  const uint64_t links =
      access_.degrees.Links(id1 - kFirstId, static_cast<uint32_t>(type - kFirstLinkType));
  return id1 + random_.Below(std::max<uint64_t>(1, links));
}

int Chooser::MultigetSize() {
  // LinkBench adds the smallest size, 1, to a geometric value that itself starts at 1.
  const double geometric =
      std::ceil(std::log1p(-random_.Unit()) / std::log1p(-kMultigetProbability));
  const int size = std::max(1, static_cast<int>(geometric));
  return std::min(kMaxMultiget, access_.settings.bugs_kept ? 1 + size : size);
}

void Chooser::Multiget(uint64_t id1, uint64_t type, std::vector<uint64_t>* ids) {
  constexpr int kTries = 100;
  const auto size = static_cast<size_t>(MultigetSize());
  ids->clear();
  while (ids->size() < size) {
    uint64_t id2 = Id2(id1, type, kGetLoaded);
    for (int i = 0; i < kTries && std::find(ids->begin(), ids->end(), id2) != ids->end(); ++i) {
      id2 = Id2(id1, type, kGetLoaded);
    }
    ids->push_back(id2);
  }
}

}  // namespace testbed::linkbench
