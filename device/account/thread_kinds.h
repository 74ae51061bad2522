// What direct IO is of that a library does, on its own threads or in one call of several kinds.
//
// The block layer does not see the file of direct IO. Threads of the run say it by their call under
// way (CallMark, device/account/ledger.h); those that a library starts cannot, and are known by their name.
#ifndef TESTBED_DEVICE_ACCOUNT_THREAD_KINDS_H_
#define TESTBED_DEVICE_ACCOUNT_THREAD_KINDS_H_

#include <optional>
#include <string>

#include "device/account/ledger.h"

namespace testbed {

// From now on, and for what such threads did before. Both are thread-safe.
void RegisterThreads(const std::string& name, FileKind kind);
std::optional<FileKind> KindOfThreads(const std::string& name);

// As CallMark, for a call that reads files of one kind and writes those of another.
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
