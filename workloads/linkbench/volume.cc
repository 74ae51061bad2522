#include "workloads/linkbench/volume.h"

#include <algorithm>
#include <map>

#include "device/os/mutex.h"
#include "workloads/linkbench/random.h"
#include "workloads/linkbench/schema.h"

namespace testbed::linkbench {
namespace {

uint64_t Transactions(uint64_t rows) { return (rows + kBulk - 1) / kBulk; }

LoadVolume Count(const DegreeOptions& options) {
  const LinkDegrees degrees(options);
  LoadVolume volume;
  for (uint64_t begin = 0; begin < options.nodes; begin += kChunk) {
    uint64_t links = 0, counts = 0;
    const uint64_t end = std::min(begin + kChunk, options.nodes);
    for (uint64_t id = begin; id < end; ++id) {
      const uint64_t total = degrees.LinksOfRank(degrees.Rank(id));
      for (uint32_t type = 0; type < options.types; ++type) {
        const uint64_t n = degrees.LinksOfType(total, type);
        links += n;
        counts += n > 0;
      }
    }
    ++volume.chunks;
    volume.links += links;
    volume.counts += counts;
    volume.link_transactions += Transactions(links);
    volume.count_transactions += Transactions(counts);
  }
  return volume;
}

}  // namespace

LoadVolume VolumeOf(const DegreeOptions& options) {
  static Mutex mutex;
  static std::map<DegreeOptions, LoadVolume> known GUARDED_BY(mutex);
  LockGuard lock(mutex);
  const auto at = known.find(options);
  return at != known.end() ? at->second : known.emplace(options, Count(options)).first->second;
}

uint64_t MeanDataBytes(uint64_t median) {
  return static_cast<uint64_t>(LogNormalSize(median, kMaxNodeData).Mean());
}

uint64_t IndexBytes(uint64_t links, uint64_t link_data_size) {
  return links * (kIndexKeySize + kIndexHead + MeanDataBytes(link_data_size));
}

}  // namespace testbed::linkbench
