#include "tools/run/readahead_2014.h"

#include <span>

#include "tools/run/readahead_model.h"

namespace testbed {

Readahead2014 ReplayReadahead2014(const ReadTrace::Recording& recording, uint64_t operations,
                                  uint64_t cache_bytes, bool random) {
  const std::span<const ReadTrace::Read> reads = recording.reads();
  Readahead2014 result{.reads_recorded = reads.size(),
                       .reads_dropped = recording.dropped,
                       .cache_bytes = cache_bytes,
                       .settings = {}};
  const size_t half = reads.size() / 2;
  const uint64_t all = reads.size() + recording.dropped;
  for (const uint64_t kb : {0, 4, 8, 16, 32, 64, 128}) {
    ReadaheadModel model(
        {.read_ahead_bytes = kb << 10, .cache_bytes = cache_bytes, .random = random});
    for (size_t i = 0; i < reads.size(); ++i) {
      const ReadTrace::Read& read = reads[i];
      if (i == half) model.ResetTotals();
      read.mapped ? model.Touch(read.file, read.offset, read.bytes)
                  : model.Read(read.file, read.offset, read.bytes);
    }
    const ReadaheadModel::Totals& t = model.totals();
    const double counted = all == 0 ? 0
                                    : static_cast<double>(operations) *
                                          static_cast<double>(t.calls) / static_cast<double>(all);
    result.settings.push_back({kb, t.reads, t.read_bytes, counted});
  }
  return result;
}

}  // namespace testbed
