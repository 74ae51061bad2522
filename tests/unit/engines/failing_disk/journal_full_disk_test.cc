// Tests the journal of mmapv1 on a full disk. The journal can make no other file there, so it
// writes its only file from the beginning again once the data files have all sections in it. A
// power cut at any call must lose nothing.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <random>
#include <string>

#include "device/error.h"
#include "engines/mmapv1/files/settings.h"
#include "engines/mmapv1/journal/journal.h"
#include "engines/mmapv1/journal/journal_format.h"
#include "tests/unit/engines/failing_disk/failing_disk.h"

namespace testbed::mmapv1 {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kJournalFileBytes = 1 << 20;

class JournalFullDiskTest : public testing::Test {
 protected:
  JournalFullDiskTest() {
    std::string pattern = fs::current_path() / "journal_full_disk_XXXXXX";
    base_ = ::mkdtemp(pattern.data());
    options_.io = IoMode::kMmap;
    options_.durability = Durability::kSync;
    options_.extra = {{"journal_file_size", "1M"}};
    // snappy cannot make random bytes shorter.
    std::mt19937_64 random(301);
    for (char& c : body_) c = static_cast<char>(random());
  }
  ~JournalFullDiskTest() override { fs::remove_all(base_); }

  std::string NewDir(const std::string& name) {
    std::string dir = base_ + "/" + name;
    fs::create_directory(dir);
    return dir;
  }
  Settings MakeOwnSettings() const { return MakeSettings(options_); }
  // Appends sections until the next one needs another file, and leaves the disk no space for a
  // file.
  void Fill(Journal* journal, FailingDisk* disk, const std::string& dir) {
    const uint64_t section = kJournalFileBytes / 5;  // at least the length of a section
    while (journal->written_bytes() + section <= kJournalFileBytes) last_ = journal->Append(body_);
    uint64_t used = 0;
    for (const auto& entry : fs::directory_iterator(dir)) used += entry.file_size();
    disk->Limit(used);
  }
  // Appends a section. When the journal asks for a flush, the data files have all earlier sections.
  void Append(Journal* journal) {
    last_ = journal->Append(body_, [&] { journal->Flushed(last_, journal->written_bytes()); });
  }

  std::string base_, body_ = std::string(200'000, ' ');
  EngineOptions options_;
  uint64_t last_ = 0;  // the last section that was acknowledged
};

TEST_F(JournalFullDiskTest, GoesOnInItsOnlyFile) {
  const std::string dir = NewDir("disk");
  FailingDisk disk(dir);
  Journal journal(dir, MakeOwnSettings(), 1, 7);
  Fill(&journal, &disk, dir);
  for (int i = 0; i < 30; ++i) Append(&journal);
  EXPECT_GT(journal.counts().files_recycled.load(), 4u);
  EXPECT_EQ(journal.counts().preallocated_bytes.load(), kJournalFileBytes);
  EXPECT_EQ(ReplayJournal(dir, 7, [](std::string_view) {}).last_seq, last_);
}

TEST_F(JournalFullDiskTest, SectionsThatTheDataFilesLackAreKept) {
  const std::string dir = NewDir("disk");
  FailingDisk disk(dir);
  Journal journal(dir, MakeOwnSettings(), 1, 7);
  Fill(&journal, &disk, dir);
  const uint64_t flushed = last_ - 1;
  const auto flush = [&] { journal.Flushed(flushed, journal.written_bytes()); };
  EXPECT_THROW(journal.Append(body_, flush), Error);
  const ReplayResult replayed = ReplayJournal(dir, 7, [](std::string_view) {});
  EXPECT_EQ(replayed.sections, 1u);
  EXPECT_EQ(replayed.last_seq, last_);
}

TEST_F(JournalFullDiskTest, APowerCutLosesNoSection) {
  bool is_whole = false;
  uint64_t calls = 0;
  for (; !is_whole; ++calls) {
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      SCOPED_TRACE("cut after " + std::to_string(calls) + " calls, seed " + std::to_string(seed));
      const std::string dir = NewDir(std::to_string(calls) + "." + std::to_string(seed));
      const std::string cut = dir + ".cut";
      FailingDisk disk(dir);
      Journal journal(dir, MakeOwnSettings(), 1, 7);
      Fill(&journal, &disk, dir);
      disk.CutAfter(calls, seed);
      try {
        for (int i = 0; i < 3; ++i) Append(&journal);
      } catch (const Error&) {
      }
      is_whole = !disk.is_cut();
      disk.Cut(seed);
      disk.CopyTo(cut);
      MakeJournalDurable(cut);
      EXPECT_GE(ReplayJournal(cut, 7, [](std::string_view) {}).last_seq, last_);
    }
  }
  EXPECT_GT(calls, 8u);
}

}  // namespace
}  // namespace testbed::mmapv1
