// Damages random bytes of the files of a database. The checker must report the damage unless it is
// harmless, and must always come to its end.
//
// TESTBED_CHECK_ROUNDS multiplies the number of rounds (default 1); TESTBED_CHECK_SEED sets the
// seed.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "device/log/log_format.h"
#include "engines/btree/pool/redo.h"
#include "tests/unit/engines/btree/inspect_util.h"

namespace testbed::btree {
namespace {

class BtreeCheckFuzzTest : public InspectTest {
 protected:
  // Returns the rows of all tables, as a user of the database sees them.
  std::map<std::string, Rows> AllRows() {
    std::map<std::string, Rows> all;
    for (const auto& [name, number] : store_->TableNames()) {
      StoreClient client(store_.get());
      TreeCursor cursor(store_->Table(number), client.context(), kPage);
      for (bool on = cursor.SeekForward({}, false); on; on = cursor.Next()) {
        all[name].emplace(cursor.key(), cursor.value());
      }
    }
    return all;
  }
  // Makes a database that is small, so that it can be copied often, but has free pages, long values
  // and two levels.
  void MakeSmall() {
    Open();
    for (int i = 0; i < 300; ++i) Commit("a", Key(i * 7919 % 300), Value(i));
    for (int i = 100; i < 150; ++i) Erase("a", Key(i));
    for (int i = 0; i < 10; ++i) Commit("b", Key(i), "b");
    Close();
  }
  // Flips bits in one file, and returns a description of them.
  std::string Flip(const Files& files) {
    auto at = files.begin();
    do {
      at = std::next(files.begin(), static_cast<int>(random_() % files.size()));
    } while (at->second.empty());
    std::string bytes = at->second, done = at->first + " at";
    for (uint64_t n = 1 + random_() % 3; n > 0; --n) {
      // The headers of the file and of its pages are hit more often than other bytes.
      uint64_t byte = random_() % bytes.size();
      if (random_() % 3 == 0) byte = byte / kPage * kPage + random_() % 64;
      if (random_() % 8 == 0) byte = random_() % 128;
      byte %= bytes.size();
      bytes[byte] = static_cast<char>(bytes[byte] ^ (1 << random_() % 8));
      done += " " + std::to_string(byte);
    }
    Spill(at->first, bytes);
    return done;
  }

  static uint64_t Setting(const char* name, uint64_t otherwise) {
    const char* set = ::getenv(name);
    return set != nullptr ? std::strtoull(set, nullptr, 10) : otherwise;
  }

  std::mt19937_64 random_{Setting("TESTBED_CHECK_SEED", 7)};
  const int more_ = static_cast<int>(Setting("TESTBED_CHECK_ROUNDS", 1));
};

TEST_F(BtreeCheckFuzzTest, AFlippedBitIsFoundOrHarmless) {
  for (const TornPage torn : {TornPage::kNone, TornPage::kDoublewrite}) {
    options_.torn_page = torn;
    std::filesystem::remove_all(dir_);
    MakeSmall();
    Open();
    const std::map<std::string, Rows> rows = AllRows();
    Close();
    const Files good = Save();
    int found = 0, harmless = 0;
    for (int round = 0; round < 300 * more_; ++round) {
      const std::string done = Flip(good);
      SCOPED_TRACE(done);
      if (Inspect().faults.count > 0) {
        ++found;
      } else {
        ASSERT_NO_THROW(Open()) << done;
        ASSERT_EQ(AllRows(), rows) << done;
        Close();
        ++harmless;
      }
      Restore(good);
    }
    EXPECT_GT(found, 20);
    EXPECT_GT(harmless, 20);
  }
}

// A bit is flipped after a crash. The last groups of the log may then look torn; in that case the
// database must hold the result of some prefix of the commits.
TEST_F(BtreeCheckFuzzTest, AFlippedBitAfterACrashIsFoundOrAnEarlierState) {
  MakeSmall();
  Open();
  std::map<std::string, Rows> rows = AllRows();
  std::set<std::map<std::string, Rows>> states = {rows};
  for (int i = 0; i < 60; ++i) {
    if (i % 5 == 4) {
      rows["a"].erase(Key(i));
    } else {
      rows["a"][Key(i + 200)] = Value(i * 3 + 1);
    }
    states.insert(rows);
  }
  RunAndCrash([&] {
    for (int i = 0; i < 60; ++i) {
      if (i % 5 == 4) {
        Erase("a", Key(i));
      } else {
        Commit("a", Key(i + 200), Value(i * 3 + 1));
      }
      if (i % 10 == 0) store_->log()->Sync();
    }
  });
  ExpectSound();
  const Files good = Save();
  int found = 0;
  for (int round = 0; round < 300 * more_; ++round) {
    const std::string done = Flip(good);
    SCOPED_TRACE(done);
    if (Inspect().faults.count > 0) {
      ++found;
    } else {
      ASSERT_NO_THROW(Open()) << done;
      ASSERT_TRUE(states.contains(AllRows())) << done;
      Close();
    }
    Restore(good);
  }
  EXPECT_GT(found, 20);
}

// Pages, checkpoint files, segment headers and log records get random contents with matching
// checksums. The checker need not notice all of them, but it must not crash or hang.
TEST_F(BtreeCheckFuzzTest, NonsenseWithRightChecksumsCrashesNothing) {
  MakeSmall();
  const Files good = Save();
  const PageId pages = static_cast<PageId>(std::filesystem::file_size(data()) / kPage);
  const CheckpointState state = Checkpoint();
  uint64_t faults = 0;
  for (int round = 0; round < 600 * more_; ++round) {
    SCOPED_TRACE(round);
    for (uint64_t n = random_() % 4; n > 0; --n) {
      Edit(static_cast<PageId>(random_() % pages), [&](char* p) {
        const uint32_t changes = 1 + static_cast<uint32_t>(random_() % 8);
        for (uint32_t i = 0; i < changes; ++i) {
          p[8 + random_() % (random_() % 2 == 0 ? 120 : kPage - 8)] = static_cast<char>(random_());
        }
        if (random_() % 4 != 0) Header(p)->id = static_cast<PageId>(random_() % pages);
      });
    }
    if (round % 3 == 0) {
      CheckpointState changed = state;
      changed.space.words[random_() % changed.space.words.size()] ^= random_();
      if (round % 2 == 0) changed.space.pages = static_cast<uint32_t>(random_() % 5000);
      changed.space.words.resize((changed.space.pages + 63) / 64);
      if (round % 5 == 0) changed.redo = random_() % (1 << 20);
      WriteCheckpoint(dir_, kPage, changed);
    }
    if (round % 7 == 0) {
      const std::string path = LogSegmentPath(LogPath(dir_), 1);
      std::string bytes = Slurp(path);
      SegmentHeader header;
      ASSERT_EQ(DecodeSegmentHeader(bytes.substr(0, kSegmentHeaderUsed), path, &header),
                HeaderState::kValid);
      (round % 2 == 0 ? header.first_lsn : header.segment_bytes) ^= 1ull << random_() % 64;
      EncodeSegmentHeader(header, bytes.data());
      Spill(path, bytes);
    }
    try {
      faults += Inspect().faults.count;
    } catch (const Error& e) {
      // A superblock with random contents may claim a newer format.
      ASSERT_EQ(e.kind(), Error::kUsage) << e.what();
      ASSERT_NE(std::string(e.what()).find("has format version"), std::string::npos) << e.what();
    }
    Restore(good);
  }
  EXPECT_GT(faults, 300u);
}

TEST_F(BtreeCheckFuzzTest, LogRecordsOfNonsenseCrashNothing) {
  MakeSmall();
  const Files good = Save();
  const PageId pages = static_cast<PageId>(std::filesystem::file_size(data()) / kPage);
  uint64_t faults = 0;
  for (int round = 0; round < 150 * more_; ++round) {
    SCOPED_TRACE(round);
    {
      const auto log = Log::Open(LogPath(dir_), options_.log);
      for (int i = 0; i < 20; ++i) {
        StructureRecord structure;
        const auto page = [&] { return static_cast<PageId>(random_() % (pages + 3)); };
        const std::string key(random_() % 700, static_cast<char>(random_()));
        if (random_() % 2 == 0) structure.Use(page(), static_cast<uint32_t>(random_() % 9));
        if (random_() % 2 == 0) structure.Free(page(), static_cast<uint32_t>(random_() % 9));
        if (random_() % 2 == 0) structure.Image(ReadPage(random_() % pages).data(), kPage);
        if (random_() % 2 == 0) structure.Truncate(page(), random_() % 2 == 0 ? Key(120) : key);
        if (random_() % 2 == 0)
          structure.Insert(page(), random_() % 2 == 0 ? Key(77) : key, page());
        if (random_() % 2 == 0) structure.Remove(page(), random_() % 2 == 0 ? Key(99) : key);
        if (random_() % 4 == 0) structure.FreePage(page());
        std::string operations;
        if (random_() % 3 == 0) {
          AppendOperation({random_() % 2 == 0, static_cast<uint32_t>(random_() % 4), key, key},
                          &operations);
        }
        std::string record(structure.Encode(operations));
        if (random_() % 3 != 0) {
          record[random_() % record.size()] = static_cast<char>(random_());
        }
        if (random_() % 8 == 0) record.resize(random_() % record.size() + 1);
        log->Append(record);
      }
      log->Sync();
    }
    faults += Inspect().faults.count;
    Restore(good);
  }
  EXPECT_GT(faults, 500u);
}

}  // namespace
}  // namespace testbed::btree
