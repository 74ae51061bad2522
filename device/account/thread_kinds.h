// RegisterThreads registers, by thread name, the kind of file that a library's direct IO is for.
//
// The block layer does not see which file direct IO is for. The run's own threads mark their calls
// (CallMark, device/account/ledger.h). Threads that a library starts make no marks, so the kernel
// account takes the kind of their direct IO from their names. MixedCallMark is for a library's call
// that reads files of one kind and writes files of another.
#ifndef TESTBED_DEVICE_ACCOUNT_THREAD_KINDS_H_
#define TESTBED_DEVICE_ACCOUNT_THREAD_KINDS_H_

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "device/account/ledger.h"

namespace testbed {

// Returns the part of a thread's name that all threads of its sort share: the part before a slash
// ("jbd2/vda-8") and, for io_uring's workers, the part before their number ("iou-wrk-4711").
std::string SortOfThread(std::string_view name);

// This is what the name of the kernel's workers of an io_uring begins with (SortOfThread).
inline constexpr char kRingWorkers[] = "iou-wrk";

// Declares that the direct IO of all threads with this name is for files of `kind`, also that which
// was counted before. `name` is as LedgerCounts::Foreign has it. Thread-safe.
void RegisterThreads(const std::string& name, FileKind kind);
// Returns the kind that was registered for the name, or nothing. Thread-safe.
std::optional<FileKind> KindOfThreads(const std::string& name);

// Returns the registered names that threads of other programs have, too. The account cannot tell
// the requests of such threads from the run's. `names` are those of the other programs' threads,
// such as those of a PostgreSQL of the machine's own. Thread-safe.
std::set<std::string> RegisteredAmong(const std::set<std::string>& names);

// Marks a call as CallMark does, where the call reads files of one kind and writes files of
// another.
class MixedCallMark {
 public:
  MixedCallMark(FileKind reads, FileKind writes) : slot_(Ledger::ThisThread().kernel) {
    slot_->kind.store((static_cast<uint32_t>(reads) + 1) | (static_cast<uint32_t>(writes) + 1) << 8,
                      std::memory_order_relaxed);
  }
  ~MixedCallMark() { slot_->kind.store(0, std::memory_order_relaxed); }
  MixedCallMark(const MixedCallMark&) = delete;
  MixedCallMark& operator=(const MixedCallMark&) = delete;

 private:
  KernelSlot* const slot_;
};

}  // namespace testbed

#endif  // TESTBED_DEVICE_ACCOUNT_THREAD_KINDS_H_
