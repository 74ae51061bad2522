#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "device/file/read_trace.h"
#include "tests/fuzz/fuzz_target.h"
#include "tools/run/readahead_model.h"

namespace testbed {
namespace {

constexpr uint64_t kPage = ReadaheadModel::kPage;

// Returns reads as the input describes them: at any place, at the next place, or at the same place
// again.
std::vector<ReadTrace::Read> MakeTrace(FuzzInput* input) {
  std::vector<ReadTrace::Read> trace;
  ReadTrace::Read read{};
  while (!input->empty() && trace.size() < 300) {
    switch (input->Below(4)) {
      case 0:
        read.file = input->Below(3);
        read.offset = static_cast<uint64_t>(input->Below(1 << 24)) << input->Below(30);
        break;
      case 1:
        read.offset += read.bytes;
        break;
      case 2:
        read.offset -= std::min<uint64_t>(read.offset, input->Below(40000));
        break;
      default:
        break;
    }
    read.bytes = input->Below(4) == 0 ? input->Below(1 << 20) : input->Below(20000);
    read.mapped = input->Below(2);
    trace.push_back(read);
  }
  return trace;
}

uint64_t PagesOf(const ReadTrace::Read& read) {
  if (read.bytes == 0) return 0;
  return (read.offset + read.bytes - 1) / kPage - read.offset / kPage + 1;
}

void Replay(ReadaheadModel* model, const ReadTrace::Read& read) {
  read.mapped != 0 ? model->Touch(read.file, read.offset, read.bytes)
                   : model->Read(read.file, read.offset, read.bytes);
}

}  // namespace

// Replays traces of reads by the readahead model. With an unbounded cache each page that was asked
// for must have been read, and must not be missing when it is asked for again. Without readahead no
// other page may be read.
TESTBED_FUZZ_TARGET(readahead) {
  FuzzInput input(bytes);
  ReadaheadModel::Options options;
  options.read_ahead_bytes = input.Below(3) == 0 ? 0 : uint64_t{input.Below(600)} << 10;
  options.max_request_bytes = input.Below(2) == 0 ? 0 : (1 + input.Below(64)) * kPage;
  options.random = input.Below(4) == 0;
  ReadaheadModel::Options bounded = options;
  bounded.cache_bytes = (1 + input.Below(2000)) * kPage;
  ReadaheadModel model(options), small(bounded), twice(options);
  std::set<std::pair<uint32_t, uint64_t>> asked;  // pages
  for (const ReadTrace::Read& read : MakeTrace(&input)) {
    const uint64_t calls = model.totals().calls;
    Replay(&model, read);
    Require(model.totals().calls == calls + (read.bytes > 0), "a call that is not counted");
    Replay(&small, read);
    Require(small.totals().read_bytes % kPage == 0, "a part of a page was read");
    Replay(&twice, read);
    const uint64_t missing = twice.totals().missing;
    Replay(&twice, {read.offset, read.bytes, read.file, 0});
    Require(twice.totals().missing == missing, "a page that was read is missing");
    for (uint64_t page = 0; page < PagesOf(read); ++page) {
      asked.emplace(read.file, read.offset / kPage + page);
    }
  }
  Require(model.totals().read_bytes >= asked.size() * kPage, "pages that were never read");
  if (options.read_ahead_bytes == 0) {
    Require(model.totals().read_bytes == asked.size() * kPage, "readahead without readahead");
  }
}

}  // namespace testbed
