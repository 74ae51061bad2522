// The check that a host must pass before it runs a block of cells, as a scheduler's prolog makes
// it: the host must be idle, run at its full speed, and be of the kind of the host that ran the
// first block.
//
//   const std::string why = WhyRefused(results, databases, ParseHostChecks("load,throttle,kind"));
//   if (!why.empty()) ...     // hosts/HOST.json has the reason, too
//
// `testbed doctor` judges the same facts for a user (tools/inspect/doctor.h).
#ifndef TESTBED_TOOLS_EXPERIMENT_CLUSTER_HOST_CHECK_H_
#define TESTBED_TOOLS_EXPERIMENT_CLUSTER_HOST_CHECK_H_

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "device/account/block_device.h"
#include "device/machine/host.h"

namespace testbed {

struct HostChecks {
  bool load = true;      // other programs use the processors, or the disk under the databases
  bool throttle = true;  // the processors are slowed down, or the hypervisor takes them
  // Another processor, memory, kernel, file system or disk than the first block's host has, or
  // databases that would lie on another host.
  bool kind = true;
};
// Returns the checks that a list of "load", "throttle" and "kind", or "none", names. Throws Error
// (kUsage) for other words.
HostChecks ParseHostChecks(const std::string& list);

// The highest frequency that a processor may run at, and that of its chip; 0 when not known.
struct FrequencyCap {
  uint64_t capped_khz = 0, full_khz = 0;
};
// Returns those of the processor that is capped most, among the first `cpus` in the directory,
// which is /sys/devices/system/cpu.
FrequencyCap LowestCap(const std::string& directory, long cpus);

// What the host did for about a second. Shares are of all its processors, and absent where they are
// not known.
struct HostMoment {
  std::optional<double> foreign_cpu, steal;
  double in_flight = 0;    // mean number of reads and writes that were in flight at the disk
  uint64_t throttled = 0;  // times that a processor was slowed down because it was hot
  FrequencyCap cap = {};   // of the processor that is capped most
};
// `disk` is the one under the databases; null when there is none.
HostMoment WatchHost(const BlockDevice* disk);

// The facts that hosts of one kind share, by name.
std::map<std::string, std::string> KindOf(const HostFacts& host);
// Those facts of the disks under the databases: the disks' models, and the settings of the queue
// (BlockDevice::QueueSettings). The readahead is left out, because runs set it for themselves.
std::map<std::string, std::string> KindOfDisks(
    const std::vector<std::string>& models,
    const std::vector<std::pair<std::string, std::string>>& queue);

// These return why a host is refused; an empty string when it is not. `look` is called again while
// the host is busy, up to `looks` times, because the work before may not have ended quite.
std::string WhyBusy(const HostChecks& checks, const std::function<HostMoment()>& look, int looks);
std::string WhyAnotherKind(const std::map<std::string, std::string>& kind,
                           const std::map<std::string, std::string>& first,
                           const std::string& first_host);

// Checks this host, whose databases will lie in `databases`, and writes the answer to
// hosts/HOST.json of the results in `out`, and a refusal to hosts/HOST.refused.json as well. The
// first host that passes decides the kind (hosts/first.json). Throws Error (kIo).
std::string WhyRefused(const std::string& out, const std::string& databases,
                       const HostChecks& checks);

// Returns the reasons why hosts were refused since the last call of ForgetRefusals, by host. A host
// that has passed a check since is among them: the block that it was refused for has not run.
std::map<std::string, std::string> RefusedHosts(const std::string& out);
// Forgets which hosts were refused, because the reasons may be gone.
void ForgetRefusals(const std::string& out);
// Forgets which host decides the kind, unless a cell of the results is finished or claimed. A host
// that ran the first block and finished nothing, such as one that died, would otherwise have all
// hosts of another kind refused for ever.
void ForgetFirst(const std::string& out);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_CLUSTER_HOST_CHECK_H_
