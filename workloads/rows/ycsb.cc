#include "workloads/rows/ycsb.h"

#include <array>
#include <map>
#include <string>
#include <utility>

#include "workloads/rows/insert.h"
#include "workloads/rows/mixed.h"

namespace testbed {
namespace {

struct YcsbMix {
  const char* name;
  const char* summary;
  const char* distribution;
  std::map<std::string, double> shares;
};

constexpr size_t kMixes = 6;

const std::array<YcsbMix, kMixes>& Mixes() {
  static const std::array<YcsbMix, kMixes> mixes = {{
      {"ycsb-a",
       "YCSB A, a session store: half reads, half updates",
       "scrambled",
       {{"point-read", 50}, {"update", 50}}},
      {"ycsb-b",
       "YCSB B, tags of photos: 95 % reads, 5 % updates",
       "scrambled",
       {{"point-read", 95}, {"update", 5}}},
      {"ycsb-c", "YCSB C, user profiles: reads only", "scrambled", {{"point-read", 100}}},
      {"ycsb-d",
       "YCSB D, status updates: 95 % reads of the latest rows, 5 % inserts",
       "latest",
       {{"point-read", 95}, {"insert", 5}}},
      {"ycsb-e",
       "YCSB E, threads of messages: 95 % scans of 1 to 100 rows, 5 % inserts",
       "scrambled",
       {{"scan", 95}, {"insert", 5}}},
      {"ycsb-f",
       "YCSB F, a user database: half reads, half read-modify-writes",
       "scrambled",
       {{"point-read", 50}, {"read-modify-write", 50}}},
  }};
  return mixes;
}

// The key of a row is a hash of its number, as with YCSB's insertorder=hashed, so that rows which a
// phase inserts lie all over the table. With permuted keys they would all lie behind the last one.
const std::vector<std::pair<std::string, std::string>> kRowDefaults = {
    {"key-size", "23"}, {"value-size", "1000"}, {"key-order", "random"}};

std::unique_ptr<Workload> MakeYcsbLoad(std::shared_ptr<const Dataset> dataset,
                                       const WorkloadOptions& options) {
  return MakeInsertAs("ycsb-load", std::move(dataset), options);
}

template <size_t kMix>
std::unique_ptr<Workload> MakeYcsb(std::shared_ptr<const Dataset> dataset,
                                   const WorkloadOptions& options) {
  WorkloadOptions with = options;
  with.mix = Mixes()[kMix].shares;
  return MakeMixedAs(Mixes()[kMix].name, true, std::move(dataset), with);
}

template <size_t... kMix>
std::vector<WorkloadInfo> Infos(std::index_sequence<kMix...>) {
  std::vector<WorkloadInfo> infos = {WorkloadInfo{.name = Mixes()[kMix].name,
                                                  .summary = Mixes()[kMix].summary,
                                                  .loads = false,
                                                  .make = MakeYcsb<kMix>}...};
  for (size_t i = 0; i < infos.size(); ++i) {
    const bool reads = Mixes()[i].shares.size() == 1;
    infos[i].reads_only = reads;
    infos[i].run_options = MixedRunOptions();
    infos[i].defaults = kRowDefaults;
    infos[i].defaults.emplace_back("distribution", Mixes()[i].distribution);
  }
  return infos;
}

}  // namespace

std::vector<WorkloadInfo> YcsbInfos() {
  std::vector<WorkloadInfo> infos = Infos(std::make_index_sequence<kMixes>());
  infos.insert(infos.begin(), {.name = "ycsb-load",
                               .summary = "the load phase of YCSB: insert with YCSB's rows",
                               .loads = true,
                               .make = MakeYcsbLoad,
                               .defaults = kRowDefaults});
  return infos;
}

}  // namespace testbed
