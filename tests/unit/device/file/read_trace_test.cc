// Tests what a recording of reads keeps, that it takes its memory once, and that other threads may
// read on when it ends.
#include "device/file/read_trace.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <cstdint>
#include <thread>

namespace testbed {
namespace {

uint64_t MostResidentBytes() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return static_cast<uint64_t>(used.ru_maxrss) * 1024;
}

TEST(ReadTraceTest, TheFirstReadsAreKeptAndTheOthersCounted) {
  ReadTrace::Note(1, 0, 1, false);  // no recording is on
  ReadTrace::Start(2);
  for (const uint64_t page : {7, 9, 8}) ReadTrace::Note(3, page * 4096, 4096, page == 9);
  const ReadTrace::Recording recording = ReadTrace::Stop();
  ASSERT_EQ(recording.reads().size(), 2u);
  EXPECT_EQ(recording.reads()[0].offset, 7u * 4096);
  EXPECT_EQ(recording.reads()[0].mapped, 0u);
  EXPECT_EQ(recording.reads()[1].offset, 9u * 4096);
  EXPECT_EQ(recording.reads()[1].mapped, 1u);
  EXPECT_EQ(recording.dropped, 1u);
}

// The memory of the recording is the budget's. A copy of it, beside an engine whose cache was full,
// let the kernel end runs at the end of the phase.
TEST(ReadTraceTest, TheEndOfARecordingTakesNoMemory) {
  constexpr uint64_t kReads = 4 << 20;  // 64 MiB
  ReadTrace::Start(kReads);
  for (uint64_t i = 0; i < kReads; ++i) ReadTrace::Note(0, i * 4096, 4096, false);
  const uint64_t before = MostResidentBytes();
  const ReadTrace::Recording recording = ReadTrace::Stop();
  ASSERT_EQ(recording.reads().size(), kReads);
  EXPECT_EQ(recording.reads().back().offset, (kReads - 1) * 4096);
  EXPECT_LT(MostResidentBytes() - before, kReads * sizeof(ReadTrace::Read) / 4);
}

// An engine's own threads read on behind a phase. A recording that has ended does not change.
TEST(ReadTraceTest, ThreadsMayReadWhileARecordingEnds) {
  constexpr size_t kRecordings = 1000, kMost = 1 << 16;
  std::atomic<bool> ended{false};
  std::thread background([&ended] {
    for (uint64_t i = 1; !ended.load(std::memory_order_relaxed); ++i) {
      ReadTrace::Note(1, i * 4096, 4096, false);
    }
  });
  uint64_t wrong = 0;
  for (size_t n = 0; n < kRecordings; ++n) {
    ReadTrace::Start(kMost);
    for (int i = 0; i < 10; ++i) ReadTrace::Note(2, 4096, 4096, false);
    const ReadTrace::Recording recording = ReadTrace::Stop();
    for (const ReadTrace::Read& read : recording.reads()) {
      wrong += read.bytes != 4096 || (read.file != 1 && read.file != 2);
    }
  }
  ended.store(true);
  background.join();
  EXPECT_EQ(wrong, 0u) << "reads were counted that were not recorded yet";
}

}  // namespace
}  // namespace testbed
