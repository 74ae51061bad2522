#include "workloads/measure/background_work.h"

#include <utility>

namespace testbed {

std::vector<BackgroundWork> BackgroundSampler::Totals(const LedgerCounts& counts) {
  std::vector<BackgroundWork> totals;
  for (const OpKind op : DefinedOps()) {
    BackgroundWork work{op};
    if (OpGround(op) == Ground::kBackground) {
      const FileCounts file = counts.ops[op.id].FileTotal();
      const BlockCounts kernel = counts.ops[op.id].KernelTotal();
      const bool files = file.read_bytes + file.write_bytes > 0;
      work.read_bytes = files ? file.read_bytes : kernel.read_bytes;
      work.write_bytes = files ? file.write_bytes : kernel.write_bytes;
    }
    totals.push_back(work);
  }
  return totals;
}

BackgroundSampler::BackgroundSampler(AccountDepth depth) : depth_(depth) {
  if (depth_ == AccountDepth::kOff) return;
  const LedgerCounts counts = Ledger::Get().Counts();
  last_ = Totals(counts);
  last_others_ = counts.OtherPrograms();
}

std::vector<BackgroundWork> BackgroundSampler::Sample() {
  std::vector<BackgroundWork> moved;
  if (depth_ == AccountDepth::kOff) return moved;
  const LedgerCounts counts = Ledger::Get().Counts();
  others_ = counts.OtherPrograms();
  others_ -= std::exchange(last_others_, others_);
  std::vector<BackgroundWork> now = Totals(counts);
  for (size_t i = 0; i < now.size(); ++i) {
    const BackgroundWork before = i < last_.size() ? last_[i] : BackgroundWork{now[i].op};
    // The totals of a kind can fall: they change from its kernel requests to its file calls when it
    // makes its first file call.
    const auto since = [](uint64_t after, uint64_t then) {
      return after > then ? after - then : 0;
    };
    const BackgroundWork work{now[i].op, since(now[i].read_bytes, before.read_bytes),
                              since(now[i].write_bytes, before.write_bytes)};
    if (work.read_bytes + work.write_bytes > 0) moved.push_back(work);
  }
  last_ = std::move(now);
  return moved;
}

}  // namespace testbed
