// Tests the journal of mmapv1: sections must be replayed in order, without a torn end and without
// what was flushed already. A missing section in the middle must be an error.
#include "engines/mmapv1/journal/journal.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "device/error.h"
#include "engines/mmapv1/journal/journal_format.h"
#include "tests/unit/engines/mmapv1/test_util.h"

namespace testbed::mmapv1 {
namespace {

namespace fs = std::filesystem;

std::string Body(uint64_t seq, size_t bytes) {
  std::mt19937_64 random(seq);
  std::string body = "section " + std::to_string(seq) + ":";
  while (body.size() < bytes) body.push_back(static_cast<char>(random()));
  return body;
}

class Mmapv1JournalTest : public Mmapv1Test {
 protected:
  void SetUp() override { settings_ = MakeSettings(options_); }
  // Appends the sections with numbers `from` to `to`, each of `bytes` bytes.
  void Append(Journal* journal, uint64_t from, uint64_t to, size_t bytes) {
    for (uint64_t seq = from; seq <= to; ++seq) {
      ASSERT_EQ(journal->Append(Body(seq, bytes)), seq);
    }
  }
  // Returns the numbers of the sections that a replay applies.
  std::vector<uint64_t> Replayed(size_t bytes) {
    std::vector<uint64_t> seqs;
    result_ = ReplayJournal(dir_, 7, [&](std::string_view body) {
      const uint64_t seq = std::stoull(std::string(body.substr(8, body.find(':') - 8)));
      EXPECT_EQ(body, Body(seq, bytes));
      seqs.push_back(seq);
    });
    return seqs;
  }
  static std::vector<uint64_t> Range(uint64_t from, uint64_t to) {
    std::vector<uint64_t> all;
    for (; from <= to; ++from) all.push_back(from);
    return all;
  }
  void Damage(const std::string& path, uint64_t ofs) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(ofs));
    const int c = file.get();
    file.seekp(static_cast<std::streamoff>(ofs));
    file.put(static_cast<char>(c ^ 0x10));
  }

  Settings settings_;
  ReplayResult result_;
};

TEST_F(Mmapv1JournalTest, AFileWhoseNameOnlyBeginsAsAJournalsIsNone) {
  for (const char* name :
       {"journal.txt", "journal.1.bak", "journal.", "journal.lsn2", "journals"}) {
    std::ofstream(dir_ + "/" + name) << "theirs";
    EXPECT_FALSE(IsJournalFile(dir_ + "/" + name)) << name;
  }
  {
    Journal journal(dir_, settings_, 1, 7);
    Append(&journal, 1, 1, 100);
    journal.Remove();
  }
  RemoveJournal(dir_);
  EXPECT_FALSE(fs::exists(JournalPath(dir_, 1)));
  EXPECT_FALSE(fs::exists(LsnPath(dir_)));
  EXPECT_TRUE(fs::exists(dir_ + "/journal.txt"));
  EXPECT_TRUE(fs::exists(dir_ + "/journal.1.bak"));
}

TEST_F(Mmapv1JournalTest, SectionsComeBackInOrderAndArePaddedTo8192) {
  Journal journal(dir_, settings_, 1, 7);
  const uint64_t header = journal.written_bytes();
  EXPECT_EQ(header, kSectionPadding);
  Append(&journal, 1, 1, 100);
  EXPECT_EQ(journal.written_bytes(), header + kSectionPadding);
  Append(&journal, 2, 2, kSectionPadding);
  EXPECT_EQ(journal.written_bytes(), header + 3 * kSectionPadding);
  EXPECT_EQ(ReplayJournal(dir_, 7, [](std::string_view) {}).sections, 2u);
  Journal::Counts const& counts = journal.counts();
  EXPECT_EQ(counts.commits.load(), 2u);
  EXPECT_EQ(counts.raw_bytes.load(), 100u + kSectionPadding);
  EXPECT_LT(counts.payload_bytes.load(), journal.written_bytes());
}

// The first section of a file is made twice, since its header has the id of the file.
TEST_F(Mmapv1JournalTest, ASectionThatBeginsAFileIsCountedOnce) {
  Journal journal(dir_, settings_, 1, 7);
  Append(&journal, 1, 10, 700'000);  // each has a file of its own
  const uint64_t payload = journal.counts().payload_bytes.load();
  EXPECT_GT(payload, 10 * 700'000u);  // random bytes, which cannot be compressed
  EXPECT_LT(payload, journal.written_bytes());
  EXPECT_EQ(journal.counts().raw_bytes.load(), 10 * 700'000u);
}

TEST_F(Mmapv1JournalTest, GoesOnInFurtherFiles) {
  Journal journal(dir_, settings_, 1, 7);
  Append(&journal, 1, 30, 200'000);
  EXPECT_EQ(Replayed(200'000), Range(1, 30));
  EXPECT_GT(result_.files, 5u);
  EXPECT_EQ(result_.last_seq, 30u);
  // This section is longer than a file of the journal.
  ASSERT_EQ(journal.Append(Body(31, 3'000'000)), 31u);
  ASSERT_EQ(journal.Append(Body(32, 100)), 32u);
  EXPECT_EQ(ReplayJournal(dir_, 7, [](std::string_view) {}).sections, 32u);
}

// The body consists of bytes that must not be read, so a journal that took it would crash the test.
TEST_F(Mmapv1JournalTest, ABodyThatIsTooLongIsRefusedAndNotWritten) {
  constexpr size_t kBytes = kMostSectionBytes + 1;
  void* const at =
      ::mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(at, MAP_FAILED);
  Journal journal(dir_, settings_, 1, 7);
  Append(&journal, 1, 1, 100);
  EXPECT_THROW(journal.Append({static_cast<const char*>(at), kBytes}), Error);
  Append(&journal, 2, 2, 100);
  EXPECT_EQ(Replayed(100), Range(1, 2));
  ::munmap(at, kBytes);
}

TEST_F(Mmapv1JournalTest, WhatMayWaitFitsIntoASection) {
  options_.extra["uncommitted_limit"] = "1G";
  const Settings most = MakeSettings(options_);
  EXPECT_EQ(most.uncommitted_bytes, kMostUncommittedBytes);
  EXPECT_LT(most.uncommitted_bytes + most.transaction_bytes, kMostSectionBytes);
  for (const char* limit : {"1025M", "8G"}) {
    options_.extra["uncommitted_limit"] = limit;
    try {
      MakeSettings(options_);
      ADD_FAILURE() << limit << " was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::kUsage);
    }
  }
}

// Writers are held back by the pending bytes, which must not be less than the section that they
// will become.
TEST_F(Mmapv1JournalTest, WhatIsPendingIsNoLessThanTheSection) {
  Files::CreateNamespace(dir_, settings_);
  Files files(dir_, settings_, DataFile::kBothViews);
  files.BeginOperation();
  for (int32_t i = 0; i < 1000; ++i) files.Write({kNsFile, 8192 + 8 * i}, 4);
  files.EndOperation();
  const uint64_t pending = files.pending_bytes();
  std::string body;
  files.Prepare(&body);
  EXPECT_EQ(body.size(), 1000 * (sizeof(EntryHeader) + 4));
  EXPECT_GE(pending, body.size());
  EXPECT_EQ(files.pending_bytes(), 0u);
}

TEST_F(Mmapv1JournalTest, WhatIsFlushedIsNotReplayedAndItsFilesAreUsedAgain) {
  Journal journal(dir_, settings_, 1, 7);
  Append(&journal, 1, 30, 200'000);
  journal.Flushed(20, journal.written_bytes());
  EXPECT_EQ(Replayed(200'000), Range(21, 30));
  EXPECT_TRUE(fs::exists(SparePath(dir_)));
  EXPECT_FALSE(fs::exists(JournalPath(dir_, 1)));
  // The recycled spare file still has old sections behind the new ones.
  Append(&journal, 31, 35, 200'000);
  EXPECT_EQ(journal.counts().files_recycled.load(), 1u);
  EXPECT_EQ(Replayed(200'000), Range(21, 35));
  journal.Flushed(35, journal.written_bytes());
  EXPECT_EQ(Replayed(200'000), Range(1, 0));
  EXPECT_EQ(result_.last_seq, 35u);
  EXPECT_EQ(journal.unflushed_bytes(), 0u);
  journal.Remove();
  for (const auto& entry : fs::directory_iterator(dir_)) ADD_FAILURE() << entry.path();
}

TEST_F(Mmapv1JournalTest, ATornLastSectionIsNoPartOfIt) {
  {
    Journal journal(dir_, settings_, 1, 7);
    Append(&journal, 1, 3, 5000);
  }
  const std::string path = JournalPath(dir_, 1);
  // Each section takes one padded block here.
  const uint64_t last = 3 * kSectionPadding;
  for (const uint64_t ofs : {0, 5, 9, 17, 25, 40, 1000, 4200, 5010}) {
    Damage(path, last + ofs);
    EXPECT_EQ(Replayed(5000), Range(1, 2)) << ofs;
    Damage(path, last + ofs);
    EXPECT_EQ(Replayed(5000), Range(1, 3));
  }
  // Half of the section never reached the device.
  std::string bytes(4096, '\0');
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(last + 4096));
  file.write(bytes.data(), 4096);
  file.close();
  EXPECT_EQ(Replayed(5000), Range(1, 2));
  // No crash makes a file shorter.
  fs::resize_file(path, last + 100);
  EXPECT_THROW(Replayed(5000), Error);
}

TEST_F(Mmapv1JournalTest, SectionsMissingInTheMiddleAreAnError) {
  {
    Journal journal(dir_, settings_, 1, 7);
    Append(&journal, 1, 30, 200'000);
  }
  Damage(JournalPath(dir_, 2), kSectionPadding + 5000);
  EXPECT_THROW(Replayed(200'000), Error);
  fs::remove(JournalPath(dir_, 2));
  EXPECT_THROW(Replayed(200'000), Error);
}

// A durable section that cannot be read any more must never count as the end of the journal.
TEST_F(Mmapv1JournalTest, AFlippedBitBeforeTheLastSectionIsAnError) {
  {
    Journal journal(dir_, settings_, 1, 7);
    Append(&journal, 1, 4, 20'000);
  }
  const std::string path = JournalPath(dir_, 1);
  const uint64_t section = 3 * kSectionPadding;
  for (uint64_t seq = 1; seq <= 3; ++seq) {
    const uint64_t at = kSectionPadding + (seq - 1) * section;
    for (const uint64_t ofs : {0, 3, 4, 8, 16, 23, 24, 31, 40, 9000, 20'030}) {
      Damage(path, at + ofs);
      EXPECT_THROW(Replayed(20'000), Error) << seq << " " << ofs;
      Damage(path, at + ofs);
    }
  }
  EXPECT_EQ(Replayed(20'000), Range(1, 4));
}

TEST_F(Mmapv1JournalTest, ADamagedFileHeaderIsAnErrorWhileItsSectionsAreNeeded) {
  Journal journal(dir_, settings_, 1, 7);
  Append(&journal, 1, 30, 200'000);
  for (uint64_t number = 1; fs::exists(JournalPath(dir_, number)); ++number) {
    for (const uint64_t ofs : {0, 8, 16, 24, 32}) {
      Damage(JournalPath(dir_, number), ofs);
      EXPECT_THROW(Replayed(200'000), Error) << number << " " << ofs;
      Damage(JournalPath(dir_, number), ofs);
    }
  }
  EXPECT_EQ(Replayed(200'000), Range(1, 30));
}

TEST_F(Mmapv1JournalTest, AMissingFileIsAnError) {
  Journal journal(dir_, settings_, 1, 7);
  Append(&journal, 1, 30, 200'000);
  uint64_t newest = 1;
  while (fs::exists(JournalPath(dir_, newest + 1))) ++newest;
  ASSERT_GT(newest, 5u);
  for (const std::string& path :
       {JournalPath(dir_, 1), JournalPath(dir_, 3), JournalPath(dir_, newest), LsnPath(dir_)}) {
    fs::rename(path, dir_ + "/away");
    EXPECT_THROW(Replayed(200'000), Error) << path;
    fs::rename(dir_ + "/away", path);
  }
  EXPECT_EQ(Replayed(200'000), Range(1, 30));
}

TEST_F(Mmapv1JournalTest, OneDamagedSlotOfTheLsnLeavesTheOther) {
  Journal journal(dir_, settings_, 1, 7);
  Append(&journal, 1, 3, 5000);
  journal.Flushed(2, journal.written_bytes());
  EXPECT_EQ(Replayed(5000), Range(3, 3));
  Damage(LsnPath(dir_), kLsnSlotBytes + 8);
  EXPECT_EQ(Replayed(5000), Range(1, 3));
  Damage(LsnPath(dir_), 8);
  EXPECT_THROW(Replayed(5000), Error);
}

TEST_F(Mmapv1JournalTest, AFileThatHasJustGotItsNameIsEmpty) {
  Journal journal(dir_, settings_, 1, 7);
  Append(&journal, 1, 3, 200'000);
  std::ofstream(JournalPath(dir_, 2)) << std::string(100'000, '\0');
  EXPECT_EQ(Replayed(200'000), Range(1, 3));
  // An older file of the journal gets the name of the next one.
  fs::copy_file(JournalPath(dir_, 1), JournalPath(dir_, 2), fs::copy_options::overwrite_existing);
  EXPECT_EQ(Replayed(200'000), Range(1, 3));
}

}  // namespace
}  // namespace testbed::mmapv1
