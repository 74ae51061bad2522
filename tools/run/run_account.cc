#include "tools/run/run_account.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "device/account/grade.h"
#include "device/account/journal.h"
#include "device/account/thread_kinds.h"
#include "device/os/run_cpu.h"
#include "engines/elsewhere.h"
#include "engines/registry.h"
#include "tools/output/table.h"

namespace testbed {

RunAccount::RunAccount(const RunOptions& options, const RunPlan& plan)
    : options_(options), plan_(plan) {
  device_ = BlockDevice::Find(plan_.engine_dir);
  if (device_) why_not_covered_ = WhyNotCovered(*device_, plan_.engine_dir);
  if (options_.account >= AccountDepth::kKernel && device_) {
    // A workload runs two threads for a client at most.
    kernel_ = KernelAccount::Start(
        *device_, &why_no_kernel_,
        KernelAccount::kDefaultThreads + 2 * static_cast<size_t>(plan_.threads));
    if (kernel_) {
      for (const SectorRange& range : JournalUnder(plan_.engine_dir)) {
        kernel_->RegisterJournal(range.first, range.sectors);
      }
    }
  } else if (!device_) {
    why_no_kernel_ = kNoBlockDevice;
  }
  Ledger::Get().Configure(options_.account, kernel_.get());
}

InForce RunAccount::InForceHere() const {
  InForce in_force{.counted_in_kernel = in_kernel(),
                   .own_device = plan_.exclusive_device && device_.has_value(),
                   .not_charged = {},
                   .not_covered = {},
                   .device_read = options_.account == AccountDepth::kDevice};
  if (plan_.read_limit != nullptr) {
    in_force.not_charged.push_back(
        "reads that --read-iops delays are issued by a thread of the kernel, and charged to no "
        "operation");
  }
  if (kernel_ && kernel_->Refused() != 0) {
    in_force.not_charged.push_back(fmt::format(
        "the kernel account had no slot for {} of the run, counted by name as another program's",
        Counted(kernel_->Refused(), "thread")));
  }
  if (kernel_ && kernel_->LacksFiles()) {
    in_force.not_charged.push_back(
        fmt::format("the kernel account has room for {} files, and requests to further ones of the "
                    "run are counted as those of other files",
                    KernelAccount::kMostFiles));
  }
  if (kernel_ && kernel_->LacksNames()) {
    in_force.not_charged.push_back(fmt::format(
        "the kernel account has room for {} pairs of a thread's name and a kind of file, and "
        "requests of threads with further names are counted together, as another program's",
        KernelAccount::kMostNames));
  }
  if (kernel_ && !plan_.exclusive_device) {
    for (const std::string& name : RegisteredAmong(ThreadsOfOtherPrograms())) {
      in_force.not_charged.push_back(
          fmt::format("{} of another program runs here, and its requests cannot be told from those "
                      "of the run's engine (--scratch auto)",
                      name));
    }
  }
  if (WorksElsewhere(options_.engine_name, options_.engine)) {
    in_force.not_covered.push_back(
        "the server that runs already (connect) does the work, and whether its files lie on the "
        "counted device is not known");
  }
  if (!charged_.empty()) {
    in_force.not_covered.push_back(
        fmt::format("the server's blocks are charged {}; its own counters tell totals, from which "
                    "averages follow",
                    charged_));
  }
  if (!why_not_covered_.empty()) in_force.not_covered.push_back(why_not_covered_);
  return in_force;
}

SecondReporter::Levels RunAccount::Levels() const {
  return {.any = options_.account != AccountDepth::kOff,
          .files = FindEngine(options_.engine_name).capabilities.file_layer,
          .kernel = in_kernel(),
          .device = device() != nullptr};
}

RunAccounting RunAccount::Describe() const {
  static constexpr const char* kDepths[] = {"off", "file", "kernel", "device"};
  std::vector<std::string> missing;
  if (!in_kernel()) {
    const std::string why =
        kernel_ ? "the server's blocks are charged " + charged_ : why_no_kernel_;
    missing.push_back("requests and bytes per operation kind and thread at the kernel level" +
                      (why.empty() ? "" : " (" + why + ")"));
  }
  if (!plan_.exclusive_device) {
    missing.push_back(
        in_kernel()
            ? "a device of its own: other programs' IO is named, not excluded (--scratch)"
            : "a device of its own: its statistics include other programs' IO (--scratch, root)");
  }
  if (!FindEngine(options_.engine_name).capabilities.file_layer) {
    missing.push_back("calls to files: " + options_.engine_name + " does its IO itself");
  }
  return {.depth = kDepths[static_cast<size_t>(options_.account)],
          .grade = DecideGrade(InForceHere()),
          .in_kernel = in_kernel(),
          .missing = std::move(missing)};
}

void RunAccount::GradePhase(PhaseRecord* phase, Grade* of_run) const {
  const PhaseAccount& account = phase->account;
  const Closure closure = account.closure.value_or(Closure{.at_rest = account.at_rest});
  InForce in_force = InForceHere();
  // An engine that does its IO itself has its reads by io_uring issued by threads of its own.
  if (account.counts_files) {
    std::string why = WhyNotCharged(account.ledger);
    if (!why.empty()) in_force.not_charged.push_back(std::move(why));
  }
  phase->grade = DecideGrade(in_force, &closure);
  if (phase->kind == PhaseKind::kWarmUp || phase->kind == PhaseKind::kTune) return;
  KeepWorse(phase->grade, of_run);
}

}  // namespace testbed
