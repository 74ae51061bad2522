#include "tools/experiment/cluster/host_check.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>
#include <thread>

#include "device/file/directory.h"
#include "device/machine/host_activity.h"
#include "device/os/sys_file.h"
#include "tools/experiment/cluster/claim.h"
#include "tools/experiment/results_dir.h"
#include "tools/option_values.h"
#include "tools/output/json_text.h"
#include "tools/output/output_file.h"
#include "tools/report/foreign_cpu.h"
#include "tools/run/surroundings.h"

namespace testbed {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

uint64_t ThrottleCount() {
  uint64_t sum = 0;
  for (long cpu = 0; cpu < ::sysconf(_SC_NPROCESSORS_CONF); ++cpu) {
    const std::string at = fmt::format("/sys/devices/system/cpu/cpu{}/thermal_throttle/", cpu);
    sum += ReadNumber(at + "core_throttle_count").value_or(0);
  }
  return sum;
}

// The file that has the kind of the first host (FirstOf).
constexpr char kFirst[] = "first";

std::string HostFile(const std::string& out, const std::string& host) {
  // A host may have that name. It must not put its own kind in place of the first host's.
  return fmt::format("{}/hosts/{}{}.json", out, host, host == kFirst ? ".host" : "");
}

// The file of a refusal stays when a later check of the host finds it fit (ForgetRefusals).
std::string RefusalFile(const std::string& out, const std::string& host) {
  return HostFile(out, host + ".refused");
}

json ReadHost(const fs::path& file) {
  const json host = ParseJson(ReadSmallFile(file).value_or(""));
  const bool ours = host.is_object() && host.value("schema", "") == kHostSchema;
  return ours ? host : json();
}

std::vector<json> ReadHosts(const std::string& out) {
  std::vector<json> hosts;
  if (!IsDirectoryThere(out + "/hosts")) return hosts;
  for (const std::string& name : NamesIn(out + "/hosts")) {
    json host = ReadHost(out + "/hosts/" + name);
    if (host.is_object()) hosts.push_back(std::move(host));
  }
  return hosts;
}

std::string FirstFile(const std::string& out) {
  return fmt::format("{}/hosts/{}.json", out, kFirst);
}

// Returns the facts of the first host that passed the checks, whose kind all hosts of these results
// must have. They are `mine` when no host was before this one.
json FirstOf(const std::string& out, const json& mine) {
  const std::string file = FirstFile(out);
  const std::string whole = HostFile(out, NodeName());
  if (!IsThere(file)) (void)LinkFile(whole, file);  // when another host was first, it decides
  const json first = ReadHost(file);
  return first.is_object() ? first : mine;
}

std::vector<std::string> ModelsOf(const BlockDevice& device) {
  std::vector<std::string> models;
  for (const std::string& disk : device.disks()) {
    models.push_back(ReadLine(fmt::format("/sys/block/{}/device/model", disk)));
  }
  return models;
}

// Writes back what an earlier task has left in the page cache, such as one that was interrupted. It
// would keep the disk busy as other programs do.
void WriteBackUnder(const std::string& directory) {
  const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::syncfs(fd);
  ::close(fd);
}

}  // namespace

HostChecks ParseHostChecks(const std::string& list) {
  if (list == "none") return {false, false, false};
  constexpr char kAccepted[] = "a list of load, throttle and kind, or none";
  if (list.empty()) RefuseValue("--host-checks", list, kAccepted);
  HostChecks checks{false, false, false};
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, ',');) {
    bool* const check = word == "load"       ? &checks.load
                        : word == "throttle" ? &checks.throttle
                        : word == "kind"     ? &checks.kind
                                             : nullptr;
    if (check == nullptr) RefuseValue("--host-checks", list, kAccepted);
    *check = true;
  }
  return checks;
}

FrequencyCap LowestCap(const std::string& directory, long cpus) {
  FrequencyCap lowest;
  for (long cpu = 0; cpu < cpus; ++cpu) {
    const std::string at = fmt::format("{}/cpu{}/cpufreq/", directory, cpu);
    const uint64_t capped = ReadNumber(at + "scaling_max_freq").value_or(0);
    const uint64_t full = ReadNumber(at + "cpuinfo_max_freq").value_or(0);
    if (capped == 0 || full == 0) continue;  // it is offline, or the kernel tells nothing
    // The processors of a chip may have different full frequencies.
    const bool lower = static_cast<double>(capped) * static_cast<double>(lowest.full_khz) <
                       static_cast<double>(lowest.capped_khz) * static_cast<double>(full);
    if (lowest.full_khz == 0 || lower) lowest = {capped, full};
  }
  return lowest;
}

HostMoment WatchHost(const BlockDevice* disk) {
  HostMoment moment;
  moment.cap = LowestCap("/sys/devices/system/cpu", ::sysconf(_SC_NPROCESSORS_CONF));
  constexpr std::chrono::milliseconds kWatch(1000);
  const uint64_t throttled = ThrottleCount();
  const DeviceStats disk_before = disk == nullptr ? DeviceStats() : disk->Stats();
  const CpuUse before = ReadCpuUse();
  std::this_thread::sleep_for(kWatch);
  const CpuUse after = ReadCpuUse();
  if (disk != nullptr) {
    const DeviceStats seen = disk->Stats() - disk_before;
    moment.in_flight =
        static_cast<double>(seen.read_ms + seen.write_ms) / static_cast<double>(kWatch.count());
  }
  const auto cpus = static_cast<int64_t>(::sysconf(_SC_NPROCESSORS_ONLN));
  moment.foreign_cpu = ForeignCpuShare(before, after, cpus);
  moment.steal = StealShare(before, after, cpus);
  moment.throttled = ThrottleCount() - throttled;
  return moment;
}

std::string WhyBusy(const HostChecks& checks, const std::function<HostMoment()>& look, int looks) {
  constexpr double kBusyDisk = 0.1;  // requests in flight
  std::string why;
  if (!checks.load && !checks.throttle) return why;
  for (int i = 0; i < looks; ++i) {
    const HostMoment seen = look();
    why.clear();
    if (checks.load && seen.foreign_cpu.value_or(0) >= kNotableForeignCpu) {
      why = fmt::format("it is loaded: other programs use {:.0f} % of its processors",
                        *seen.foreign_cpu * 100);
    } else if (checks.load && seen.in_flight >= kBusyDisk) {
      why = fmt::format(
          "it is loaded: other programs have {:.1f} requests in flight at the disk under its "
          "databases",
          seen.in_flight);
    } else if (checks.throttle && seen.steal.value_or(0) >= kNotableForeignCpu) {
      why = fmt::format("it is throttled: the hypervisor takes {:.0f} % of its processors",
                        *seen.steal * 100);
    } else if (checks.throttle && seen.throttled != 0) {
      why = "it is throttled: its processors are too hot";
    } else if (checks.throttle && seen.cap.capped_khz < seen.cap.full_khz) {
      why = fmt::format("it is throttled: one or more of its processors may run at {} of {} MHz",
                        seen.cap.capped_khz / 1000, seen.cap.full_khz / 1000);
    }
    if (why.empty()) return why;
  }
  return why;
}

std::map<std::string, std::string> KindOf(const HostFacts& host) {
  // Memory that firmware and kernel keep for themselves differs between equal machines.
  const uint64_t gib = (host.memory_bytes + (uint64_t{1} << 29)) >> 30;
  return {{"processor", host.cpu_model},
          {"processors", fmt::format("{} of {}", host.cpus, host.cpus_online)},
          {"memory", fmt::format("{} GiB", gib)},
          {"kernel", host.kernel},
          {"file system", host.file_system}};
}

std::map<std::string, std::string> KindOfDisks(
    const std::vector<std::string>& models,
    const std::vector<std::pair<std::string, std::string>>& queue) {
  std::map<std::string, std::string> kind;
  std::set<std::string> known(models.begin(), models.end());
  known.erase("");  // a disk of a virtual machine may have no model
  if (!known.empty()) kind["disk"] = fmt::format("{}", fmt::join(known, ", "));
  for (const auto& [name, value] : queue) {
    if (name != "read_ahead_kb") kind["disk's " + name] = value;
  }
  return kind;
}

std::string WhyAnotherKind(const std::map<std::string, std::string>& kind,
                           const std::map<std::string, std::string>& first,
                           const std::string& first_host) {
  for (const auto& [name, value] : first) {
    const auto found = kind.find(name);
    const std::string mine = found == kind.end() ? "" : found->second;
    if (mine == value) continue;
    return fmt::format(
        "it is of another kind than {}, which ran the first block: its {} is {}, not {}",
        first_host, name, mine.empty() ? "unknown" : mine, value);
  }
  return "";
}

std::string WhyRefused(const std::string& out, const std::string& databases,
                       const HostChecks& checks) {
  const std::string place = ExistingDirectory(databases);
  const HostFacts facts = ReadHostFacts(place);
  const std::optional<BlockDevice> disk = BlockDevice::Find(place);
  auto kind = KindOf(facts);
  if (disk) kind.merge(KindOfDisks(ModelsOf(*disk), disk->QueueSettings()));
  std::string why;
  // What is measured on a file system of another host is the network.
  if (checks.kind && IsNetworkFileSystem(facts.file_system)) {
    why = fmt::format(
        "its databases would lie on {}, which another host serves; name a local "
        "directory by --databases",
        facts.file_system);
  }
  if (checks.load && why.empty()) WriteBackUnder(place);
  const auto look = [&disk] { return WatchHost(disk ? &*disk : nullptr); };
  if (why.empty()) why = WhyBusy(checks, look, 5);
  MakeDirectories(out + "/hosts");
  json host = {{"schema", kHostSchema}, {"host", NodeName()}, {"kind", kind}, {"refused", why}};
  const std::string file = HostFile(out, NodeName());
  ReplaceFile(file, JsonText(host, 1) + "\n");
  if (checks.kind && why.empty()) {
    const json first = FirstOf(out, host);
    why = WhyAnotherKind(kind, first.at("kind").get<std::map<std::string, std::string>>(),
                         first.value("host", ""));
    host["refused"] = why;
  }
  if (why.empty()) return why;
  for (const std::string& name : {file, RefusalFile(out, NodeName())}) {
    ReplaceFile(name, JsonText(host, 1) + "\n");
  }
  return why;
}

std::map<std::string, std::string> RefusedHosts(const std::string& out) {
  std::map<std::string, std::string> refused;
  for (const json& host : ReadHosts(out)) {
    const std::string why = host.value("refused", "");
    if (!why.empty()) refused[host.value("host", "")] = why;
  }
  return refused;
}

void ForgetRefusals(const std::string& out) {
  for (const auto& [host, why] : RefusedHosts(out)) {
    RemoveFile(HostFile(out, host));
    RemoveFile(RefusalFile(out, host));
  }
}

void ForgetFirst(const std::string& out) {
  const auto names_in = [](const std::string& directory) {
    return IsDirectoryThere(directory) ? NamesIn(directory) : std::vector<std::string>();
  };
  const std::string first = FirstFile(out);
  if (!IsThere(first) || !names_in(out + "/cells").empty()) return;
  const std::string claims = out + "/claims";
  for (const std::string& name : names_in(claims)) {
    if (Claim::IsHeld(claims + "/" + name)) return;
  }
  RemoveFile(first);
}

}  // namespace testbed
