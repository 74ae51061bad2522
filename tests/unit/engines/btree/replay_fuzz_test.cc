// Tests the replay of damaged log records. Replay must throw kCorruption or do what the record
// says, and must leave well-formed pages. The records are real ones with changed bytes, since
// random bytes would be refused at once.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "device/error.h"
#include "engines/btree/page/node.h"
#include "engines/btree/page/space.h"
#include "engines/btree/pool/pool.h"
#include "engines/btree/pool/redo.h"
#include "tests/fuzz/replay_tree.h"

namespace testbed::btree {
namespace {

constexpr PageId kPages = kReplayPages;

class ReplayFuzzTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::current_path() / "btree_replay_fuzz_XXXXXX";
    dir_ = mkdtemp(pattern.data());
    file_ = MakeReplayFile(dir_ + "/data");
    pool_ = std::make_unique<Pool>(file_.get(), &log_, Pool::BytesFor(64, kReplayPageSize, 2000));
  }
  void TearDown() override {
    pool_.reset();
    file_.reset();
    std::filesystem::remove_all(dir_);
  }

  // Returns the log records of a split, a merge and a new root.
  std::vector<std::string> Records() {
    std::vector<std::string> records;
    AlignedBuffer page(kReplayPageSize);
    StructureRecord record;
    record.Use(kPages + 1, 1);
    record.Truncate(3, ReplayKey(145));
    MakeReplayPage(4, page.data());
    Header(page.data())->id = kPages + 1;
    record.Image(page.data(), kReplayPageSize);
    record.Insert(1, ReplayKey(145), kPages + 1);
    records.emplace_back(record.Encode());
    record.Clear();
    record.Free(5, 1);
    MakeReplayPage(4, page.data());
    record.Image(page.data(), kReplayPageSize);
    record.Remove(1, ReplayKey(300));
    record.FreePage(5);
    std::string operations;
    AppendOperation({false, 1, "k", "v"}, &operations);
    AppendOperation({true, 2, "another", {}}, &operations);
    records.emplace_back(record.Encode(operations));
    records.push_back(OperationsHeader({17, false, true, {}}) + operations);
    return records;
  }

  // Replays the record; returns whether it was accepted.
  bool Replay(std::string_view bytes, Lsn lsn) {
    PoolClient client(pool_.get());
    Space space(kReplayPageSize, [](uint32_t pages) {
      if (pages > 100000) throw Error(Error::kIo, "no space left on device", ENOSPC);
    });
    StructureReplay replay(pool_.get(), &space, &client);
    try {
      const DecodedRecord record = DecodeRecord(bytes);
      if ((record.flags & kHasStructure) != 0) replay.Apply(record.structure, lsn, lsn + 1);
      std::string_view operations = record.part.operations;
      RowWrite op;
      while (NextOperation(&operations, &op)) rows_ += op.key.size() + op.value.size();
      return true;
    } catch (const Error&) {
      return false;
    }
  }

  void ExpectWellFormedPages() {
    PoolClient client(pool_.get());
    for (PageId id = 1; id <= kPages; ++id) {
      const SharedGuard guard = pool_->Read(&client, id);
      if (Header(guard.page())->type == PageType::kFree) continue;
      ASSERT_EQ(Node(guard.page(), kReplayPageSize).Validate(), "") << "page " << id;
    }
  }

  std::string dir_;
  RedoLog log_;
  std::unique_ptr<PageFile> file_;
  std::unique_ptr<Pool> pool_;
  uint64_t rows_ = 0;
};

TEST_F(ReplayFuzzTest, RealRecordsAreTaken) {
  Lsn lsn = 100;
  for (const std::string& record : Records()) EXPECT_TRUE(Replay(record, lsn += 10));
  ExpectWellFormedPages();
}

TEST_F(ReplayFuzzTest, ChangedRecordsAreTakenOrRefusedAndNoPageIsLeftIllFormed) {
  const std::vector<std::string> records = Records();
  std::mt19937 random(1);
  int taken = 0, refused = 0;
  for (int round = 0; round < 8000; ++round) {
    std::string bytes = records[random() % records.size()];
    for (int changes = 1 + random() % 4; changes > 0; --changes) {
      switch (random() % 4) {
        case 0:
          bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
          break;
        case 1:  // among the first bytes are the counts, sizes and page numbers
          bytes[random() % std::min<size_t>(80, bytes.size())] = static_cast<char>(random());
          break;
        case 2:
          bytes.resize(1 + random() % bytes.size());
          break;
        default: {
          const size_t at = random() % bytes.size();
          const size_t n = std::min<size_t>(bytes.size() - at, random() % 16);
          std::memmove(bytes.data() + random() % (bytes.size() - n + 1), bytes.data() + at, n);
        }
      }
    }
    ++(Replay(bytes, 1000 + 10 * static_cast<Lsn>(round)) ? taken : refused);
    if (round % 100 == 0) {
      ExpectWellFormedPages();
      pool_.reset();  // discards the changes: the next pool reads the pages of the file
      pool_ = std::make_unique<Pool>(file_.get(), &log_, Pool::BytesFor(64, kReplayPageSize, 2000));
    }
  }
  EXPECT_GT(taken, 400);
  EXPECT_GT(refused, 400);
}

}  // namespace
}  // namespace testbed::btree
