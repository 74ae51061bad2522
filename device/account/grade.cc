#include "device/account/grade.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "device/account/block_device.h"
#include "device/account/counts.h"
#include "device/account/journal.h"
#include "device/account/thread_kinds.h"

namespace testbed {
namespace {

// Returns sentences that say why the closure is not what grade A promises; none if it is. Its sums
// mean something only when requests were `counted` in the kernel.
std::vector<std::string> WhyNotClosed(const Closure& c, bool counted) {
  std::vector<std::string> why;
  if (!c.at_rest) {
    why.push_back("the device was not at rest at the beginning or the end of the phase");
  }
  if (!counted) return why;
  if (c.reads != 0 || c.read_bytes != 0 || c.writes != 0 || c.write_bytes != 0) {
    why.push_back(fmt::format(
        "the sum over all threads differs from the device: in reads by {}, in bytes read by {}, "
        "in writes by {}, in bytes written by {}",
        c.reads, c.read_bytes, c.writes, c.write_bytes));
  }
  return why;
}

}  // namespace

std::string WhyNotCovered(const BlockDevice& device, const std::string& path) {
  std::string why = WhyNotCovered(device.name(), device.devices(), device.disks(),
                                  device.files_have_its_number());
  if (why.empty()) why = WhyPartsElsewhere(path);
  if (why.empty()) why = WhyMetadataUnknown(path);
  return why;
}

std::string WhyNotCovered(const std::string& name, const std::vector<std::string>& devices,
                          const std::vector<std::string>& disks, bool files_have_its_number) {
  if (devices.size() >= 2) {
    return fmt::format(
        "the file system sends its requests to {} devices ({}), whose statistics are added up, and "
        "no request is charged to an operation",
        devices.size(), fmt::join(devices, ", "));
  }
  if (disks.size() >= 2) {
    return fmt::format(
        "the file system lies on {} disks ({}), and requests are counted on {} alone", disks.size(),
        fmt::join(disks, ", "), name);
  }
  if (files_have_its_number) return "";
  return fmt::format(
      "the file system gives its files a device number of its own, as btrfs does, and requests on "
      "{} cannot be assigned to them",
      name);
}

std::string WhyNotCharged(const LedgerCounts& counts) {
  if (!KindOfThreads(kRingWorkers)) return "";  // such workers are of other programs alone
  const auto has_read = [](const LedgerCounts::Foreign& f) {
    return f.thread == kRingWorkers && f.counts.read_bytes != 0;
  };
  if (std::none_of(counts.foreign.begin(), counts.foreign.end(), has_read)) return "";
  return "reads in flight that could not be started without waiting, as for the lock of their "
         "file, were issued by threads of the kernel (iou-wrk), and charged to no operation";
}

Grade DecideGrade(const InForce& in_force, const Closure* closure) {
  Grade grade;
  if (!in_force.not_covered.empty()) {
    grade.reasons = in_force.not_covered;
    return grade;
  }
  const bool charged = in_force.counted_in_kernel && in_force.not_charged.empty();
  if (!in_force.counted_in_kernel) {
    grade.reasons.push_back("block requests were not counted in the kernel");
  } else {
    grade.reasons = in_force.not_charged;
  }
  if (!in_force.own_device) {
    grade.reasons.push_back("the device was not the run's alone");
  } else if (!in_force.device_read) {
    grade.reasons.push_back("the device's own statistics were not read");
  }
  const bool own = in_force.own_device && in_force.device_read;
  grade.letter = charged && own ? 'A' : charged || own ? 'B' : 'C';
  // On a device that others use, too, figures without counts in the kernel promise nothing.
  if (closure == nullptr || !(in_force.counted_in_kernel || own)) return grade;
  const std::vector<std::string> open = WhyNotClosed(*closure, in_force.counted_in_kernel);
  if (!open.empty() && grade.letter == 'A') grade.letter = 'B';
  grade.reasons.insert(grade.reasons.end(), open.begin(), open.end());
  return grade;
}

void KeepWorse(const Grade& other, Grade* worst) {
  if (other.letter < worst->letter) return;
  if (other.letter > worst->letter) {
    *worst = other;
    return;
  }
  for (const std::string& reason : other.reasons) {
    const auto known = std::find(worst->reasons.begin(), worst->reasons.end(), reason);
    if (known == worst->reasons.end()) worst->reasons.push_back(reason);
  }
}

}  // namespace testbed
