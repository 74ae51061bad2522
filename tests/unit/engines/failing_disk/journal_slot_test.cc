// Tests journal.lsn, which both a commit of mmapv1 and the flush of its data files write. When the
// sync of one has failed, its slot may be lost for good, although the sync of the other succeeds.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <random>
#include <string>

#include "device/error.h"
#include "engines/mmapv1/files/settings.h"
#include "engines/mmapv1/journal/journal.h"
#include "tests/unit/engines/failing_disk/failing_disk.h"

namespace testbed::mmapv1 {
namespace {

namespace fs = std::filesystem;

class JournalSlotTest : public testing::Test {
 protected:
  JournalSlotTest() {
    std::string pattern = fs::current_path() / "journal_slot_XXXXXX";
    base_ = ::mkdtemp(pattern.data());
  }
  ~JournalSlotTest() override { fs::remove_all(base_); }
  // Returns a section's body that snappy cannot make smaller.
  static std::string Body() {
    std::mt19937_64 random(301);
    std::string body(200'000, ' ');
    for (char& c : body) c = static_cast<char>(random());
    return body;
  }
  std::string base_;
};

TEST_F(JournalSlotTest, AJournalWhoseSlotFailedSaysOfNoSectionThatItIsFlushed) {
  EngineOptions options;
  options.io = IoMode::kMmap;
  options.durability = Durability::kSync;
  options.extra = {{"journal_file_size", "1M"}};
  const std::string body = Body();
  int refused = 0;
  // A section that needs a new file takes four syncs: of the file, of its header, of the slot, and
  // of the section.
  for (uint64_t call = 0; call < 4; ++call) {
    SCOPED_TRACE("sync " + std::to_string(call));
    const std::string dir = base_ + "/disk" + std::to_string(call), cut = dir + ".cut";
    fs::create_directory(dir);
    FailingDisk disk(dir);
    Journal journal(dir, MakeSettings(options), 1, 7);
    uint64_t last = 0;
    while (journal.counts().preallocated_bytes.load() < 2u << 20) {
      disk.Fail({DiskCall::kSync, call});
      try {
        last = journal.Append(body);
      } catch (const Error&) {
        break;
      }
    }
    disk.Heal();
    try {
      journal.Flushed(last, journal.written_bytes());
    } catch (const Error&) {
      ++refused;
    }
    disk.Cut(1);
    disk.CopyTo(cut);
    MakeJournalDurable(cut);
    uint64_t found = 0;
    const ReplayResult replayed = ReplayJournal(cut, 7, [&](std::string_view) { ++found; });
    EXPECT_GE(replayed.last_seq, last) << found;
  }
  EXPECT_GE(refused, 1);
}

}  // namespace
}  // namespace testbed::mmapv1
