#include "tools/maintenance/copy_progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "device/account/ledger.h"
#include "device/os/thread.h"
#include "tools/output/table.h"

namespace testbed {
namespace {

// Returns the bytes that this process has read from data files so far.
uint64_t DataBytesRead() {
  const LedgerCounts counts = Ledger::Get().Counts();
  uint64_t bytes = 0;
  for (const LedgerCounts::Op& op : counts.ops) {
    bytes += op.file[static_cast<size_t>(FileKind::kData)].read_bytes;
  }
  return bytes;
}

}  // namespace

std::string CopyProgressText(double seconds, uint64_t read_bytes, uint64_t total) {
  constexpr uint64_t kMega = 1000000;
  total = std::max(total, read_bytes);
  std::string text = fmt::format("{:.0f} s, {} of {} MB read", seconds, Count(read_bytes / kMega),
                                 Count(total / kMega));
  if (read_bytes == 0 || seconds <= 0) return text;
  const double bytes = static_cast<double>(read_bytes);
  const double fraction = bytes / static_cast<double>(total);
  return text + fmt::format(", {:.0f} MB/s, {:.0f} %, {:.0f} s left",
                            bytes / static_cast<double>(kMega) / seconds, fraction * 100,
                            seconds * (1 - fraction) / fraction);
}

CopyProgress::CopyProgress(const std::string& what, uint64_t total, ProgressOptions options)
    : CopyProgress(
          what, total, options, [before = DataBytesRead()] { return DataBytesRead() - before; },
          std::chrono::seconds(1)) {}

CopyProgress::CopyProgress(const std::string& what, uint64_t total, ProgressOptions options,
                           std::function<uint64_t()> read_bytes, std::chrono::milliseconds interval)
    : total_(total), read_bytes_(std::move(read_bytes)), line_(what, options) {
  if (!options.quiet) {
    thread_ = StartThread("the lines of progress", [this, interval] { Watch(interval); });
  }
}

CopyProgress::~CopyProgress() {
  if (!thread_.joinable()) return;
  {
    LockGuard lock(mutex_);
    ended_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void CopyProgress::Watch(std::chrono::milliseconds interval) {
  const auto begin = std::chrono::steady_clock::now();
  UniqueLock lock(mutex_);
  const auto ended = [this]() REQUIRES(mutex_) { return ended_; };
  if (wake_.wait_for(mutex_, interval, ended)) return;
  while (!wake_.wait_for(mutex_, interval, ended)) {
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    line_.Say(CopyProgressText(seconds, read_bytes_(), total_));
  }
}

}  // namespace testbed
