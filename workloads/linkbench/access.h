// Chooses LinkBench's next operation and the ids that it works on: the mixes of operations, the
// skews of access, and the choice of id2.
//
//   Access access(settings, options);             // shared by the threads
//   Chooser chooser(access, seed);                // one per thread
//   if (chooser.NextOp() == kGetLinkList) id1 = chooser.LinkRead();
//
// A stream of accesses draws a rank by Gray's Zipf law and turns the rank into an id with a
// shuffler. Links are accessed by two streams. The correlated stream uses the shuffler of the
// degrees, so that hot ids have many links. The uncorrelated stream has its own shuffler and serves
// most accesses.
#ifndef TESTBED_WORKLOADS_LINKBENCH_ACCESS_H_
#define TESTBED_WORKLOADS_LINKBENCH_ACCESS_H_

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "workloads/linkbench/schema.h"

namespace testbed::linkbench {

// Operations in the order in which LinkBench adds up their shares.
enum Op : uint8_t {
  kAddLink,
  kDeleteLink,
  kUpdateLink,
  kCountLink,
  kGetLink,
  kGetLinkList,
  kAddNode,
  kUpdateNode,
  kDeleteNode,
  kGetNode,
  kOps
};
inline constexpr const char* kOpNames[kOps] = {
    "addlink",     "deletelink", "updatelink", "countlink",  "getlink",
    "getlinklist", "addnode",    "updatenode", "deletenode", "getnode"};

using Mix = std::array<double, kOps>;  // per cent
// Returns the mix named "2017", "2011", "read-node" or "read-list". Throws Error (kUsage) for
// another name.
const Mix& MixOf(const std::string& name);

inline constexpr int kMaxMultiget = 128;

// The choices that all threads share. Immutable after construction and thread-safe.
class Access {
 public:
  // Reads the options that AccessOptions() lists. Throws Error (kUsage) for a value out of range.
  Access(const Settings& settings, const WorkloadOptions& options);
  Access(const Access&) = delete;  // streams point to members
  Access& operator=(const Access&) = delete;

  struct Stream {
    GrayZipf zipf;
    const InvertibleShuffler* shuffler;
  };
  // Two streams; an access uses `uncorrelated` with probability uncorrelated_share.
  struct Blend {
    Stream correlated, uncorrelated;
    double uncorrelated_share;
  };
  const Settings settings;
  const LinkDegrees degrees;
  const std::string mix_name;
  const Mix mix;
  const Blend& link_reads() const { return link_reads_; }
  const Blend& link_writes() const { return link_writes_; }
  const Stream& node_reads() const { return node_reads_; }
  const Stream& node_updates() const { return node_updates_; }

 private:
  const InvertibleShuffler uncorrelated_, nodes_;
  const Blend link_reads_, link_writes_;
  const Stream node_reads_, node_updates_;
};
// Returns the names and meanings of the options that Access reads, for WorkloadInfo.
std::vector<std::pair<std::string, std::string>> AccessOptions();

// Draws one thread's operations and ids. Not thread-safe. `access` must outlive it.
class Chooser {
 public:
  // Equal seeds give equal draws.
  Chooser(const Access& access, uint64_t seed);
  Op NextOp();
  uint64_t LinkRead() { return Draw(access_.link_reads()); }
  uint64_t LinkWrite() { return Draw(access_.link_writes()); }
  // Nodes are drawn from the loaded ids: nodes that a run adds are never read.
  uint64_t NodeRead() { return Draw(access_.node_reads()); }
  uint64_t NodeUpdate() { return Draw(access_.node_updates()); }
  uint64_t NodeDelete() { return kFirstId + random_.Below(access_.settings.nodes); }
  uint64_t LinkType() { return kFirstLinkType + random_.Below(access_.settings.link_types); }
  // Returns an id2 for a link of id1. With probability `loaded` it is one of the ids with which
  // id1's links of this type were loaded, or id1 when none were. Else it is any number below
  // Settings::max_id(), 0 included.
  uint64_t Id2(uint64_t id1, uint64_t type, double loaded);
  // Draws the number of ids of a multiget.
  int MultigetSize();
  // Replaces *ids by MultigetSize() ids. They are distinct, except where 100 draws find no new id.
  void Multiget(uint64_t id1, uint64_t type, std::vector<uint64_t>* ids);
  Random& random() { return random_; }

  // Values for the `loaded` of Id2, by operation.
  static constexpr double kGetLoaded = 0.5, kUpdateLoaded = 0.9, kDeleteLoaded = 0.9,
                          kAddLoaded = 0.05;

 private:
  uint64_t Draw(const Access::Stream& stream) {
    return kFirstId + stream.shuffler->Permute(stream.zipf(random_.Unit()));
  }
  uint64_t Draw(const Access::Blend& blend) {
    const bool uncorrelated = random_.Unit() < blend.uncorrelated_share;
    return Draw(uncorrelated ? blend.uncorrelated : blend.correlated);
  }

  const Access& access_;
  Random random_;
  Mix sums_;
};

}  // namespace testbed::linkbench

#endif  // TESTBED_WORKLOADS_LINKBENCH_ACCESS_H_
