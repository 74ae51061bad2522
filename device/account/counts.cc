#include "device/account/counts.h"

namespace testbed {

FileCounts& FileCounts::operator+=(const FileCounts& o) {
  reads += o.reads;
  read_bytes += o.read_bytes;
  writes += o.writes;
  write_bytes += o.write_bytes;
  syncs += o.syncs;
  return *this;
}

FileCounts& FileCounts::operator-=(const FileCounts& o) {
  reads -= o.reads;
  read_bytes -= o.read_bytes;
  writes -= o.writes;
  write_bytes -= o.write_bytes;
  syncs -= o.syncs;
  return *this;
}

BlockCounts& BlockCounts::operator+=(const BlockCounts& o) {
  reads += o.reads;
  read_bytes += o.read_bytes;
  writes += o.writes;
  write_bytes += o.write_bytes;
  flushes += o.flushes;
  readahead += o.readahead;
  return *this;
}

BlockCounts& BlockCounts::operator-=(const BlockCounts& o) {
  reads -= o.reads;
  read_bytes -= o.read_bytes;
  writes -= o.writes;
  write_bytes -= o.write_bytes;
  flushes -= o.flushes;
  readahead -= o.readahead;
  return *this;
}

WireCounts& WireCounts::operator+=(const WireCounts& o) {
  round_trips += o.round_trips;
  sent_bytes += o.sent_bytes;
  received_bytes += o.received_bytes;
  return *this;
}

WireCounts& WireCounts::operator-=(const WireCounts& o) {
  round_trips -= o.round_trips;
  sent_bytes -= o.sent_bytes;
  received_bytes -= o.received_bytes;
  return *this;
}

FileCounts LedgerCounts::Op::FileTotal() const {
  FileCounts total;
  for (const FileCounts& c : file) total += c;
  return total;
}

BlockCounts LedgerCounts::Op::KernelTotal() const {
  BlockCounts total;
  for (const BlockCounts& c : kernel) total += c;
  return total;
}

BlockCounts LedgerCounts::KernelTotal() const {
  BlockCounts total;
  for (const Op& op : ops) total += op.KernelTotal();
  for (const Foreign& f : foreign) total += f.counts;
  return total;
}

BlockCounts LedgerCounts::OtherPrograms() const {
  BlockCounts total;
  for (const Foreign& f : foreign) {
    if (f.kind == FileKind::kOtherFile) total += f.counts;
  }
  return total;
}

LedgerCounts& LedgerCounts::operator-=(const LedgerCounts& before) {
  for (size_t i = 0; i < kMaxOps; ++i) {
    Op& op = ops[i];
    const Op& old = before.ops[i];
    op.operations -= old.operations;
    op.wire -= old.wire;
    for (size_t b = 0; b < kBlockBuckets; ++b) {
      op.file_reads[b] -= old.file_reads[b];
      op.kernel_reads[b] -= old.kernel_reads[b];
    }
    for (size_t k = 0; k < kFileKinds; ++k) {
      op.file[k] -= old.file[k];
      op.kernel[k] -= old.kernel[k];
    }
  }
  for (Foreign& f : foreign) {
    for (const Foreign& old : before.foreign) {
      if (old.thread == f.thread && old.kind == f.kind) f.counts -= old.counts;
    }
  }
  std::erase_if(foreign, [](const Foreign& f) { return f.counts == testbed::BlockCounts{}; });
  return *this;
}

}  // namespace testbed
