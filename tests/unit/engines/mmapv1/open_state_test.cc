// Tests the state in the namespace file, which tells whether the journal is needed. A flipped bit
// in it, or files of different times, must not lose acknowledged commits. A crash at any step of an
// opening or a close must not leave a database that is refused.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "device/error.h"
#include "engines/mmapv1/files/format.h"
#include "engines/mmapv1/journal/journal_format.h"
#include "tests/unit/engines/failing_disk/failing_disk.h"
#include "tests/unit/engines/mmapv1/test_util.h"

namespace testbed::mmapv1 {
namespace {

namespace fs = std::filesystem;

constexpr int kRows = 20;

class Mmapv1OpenStateTest : public Mmapv1Test {
 protected:
  Mmapv1OpenStateTest() {
    options_.extra["sync_delay"] = "0";
    fs::create_directory(disk_);
  }
  // Makes database_ anew. With `killed` it has the files that a process leaves which is killed
  // after its last commit, but the data file is from before the commits, as a power cut may leave
  // it.
  void MakeDatabase(bool killed) {
    if (!fs::exists(killed_)) {
      const std::string live = dir_ + "/live", old = dir_ + "/old";
      {
        const std::unique_ptr<Store> store = OpenStore(live);
        const TableId table = store->OpenTable("t");
        Put(store.get(), table, "first", "row");
        store->Checkpoint();
        fs::copy_file(DataPath(live, 0), old);
        for (int i = 1; i < kRows; ++i) {
          Put(store.get(), table, "row " + std::to_string(i), std::string(2000, 'v'));
        }
        fs::copy(live, killed_);
      }
      fs::copy_file(old, DataPath(killed_, 0), fs::copy_options::overwrite_existing);
      fs::rename(live, closed_);
    }
    fs::remove_all(database_);
    fs::copy(killed ? killed_ : closed_, database_);
  }
  void ChangeHeader(const std::function<void(NsHeader*)>& change) const {
    std::fstream file(NsPath(database_), std::ios::in | std::ios::out | std::ios::binary);
    NsHeader header;
    file.read(reinterpret_cast<char*>(&header), sizeof header);
    change(&header);
    file.seekp(0);
    file.write(reinterpret_cast<const char*>(&header), sizeof header);
  }
  static void SetState(NsHeader* header, OpenState state) {
    header->mark.state = state;
    header->mark.checksum = ChecksumOf(*header);
  }
  static void FlipBit(NsHeader* header, size_t bit) {
    auto* const bytes = reinterpret_cast<unsigned char*>(header);
    bytes[bit / 8] = static_cast<unsigned char>(bytes[bit / 8] ^ (1u << bit % 8));
  }
  void ExpectAllRows() {
    const std::unique_ptr<Store> store = OpenStore(database_);
    EXPECT_EQ(AllRows(store.get(), store->OpenTable("t")).size(), static_cast<size_t>(kRows));
  }
  Error::Kind KindOfRefusal() {
    try {
      OpenStore(database_);
    } catch (const Error& error) {
      return error.kind();
    }
    ADD_FAILURE() << "was opened";
    return Error::kRun;
  }

  // Returns whether the check reports a fault, or refuses the files as those of another format.
  bool CheckFindsFault() const {
    try {
      return !FirstFault(database_).empty();
    } catch (const Error&) {
      return true;
    }
  }

  const std::string killed_ = dir_ + "/killed", closed_ = dir_ + "/closed";
  const std::string disk_ = dir_ + "/disk", database_ = disk_ + "/database";
};

TEST_F(Mmapv1OpenStateTest, AFlippedBitOfTheHeaderIsRefusedOrLosesNothing) {
  for (const bool killed : {true, false}) {
    size_t refused = 0;
    for (size_t bit = 0; bit < 8 * sizeof(NsHeader); ++bit) {
      SCOPED_TRACE(bit);
      MakeDatabase(killed);
      ChangeHeader([&](NsHeader* header) { FlipBit(header, bit); });
      try {
        ExpectAllRows();
      } catch (const Error&) {
        ++refused;
        EXPECT_EQ(fs::exists(JournalPath(database_, 1)), killed);
        EXPECT_TRUE(CheckFindsFault());
      }
    }
    EXPECT_EQ(refused, 8 * (sizeof(NsHeader) - sizeof(NsHeader::tables)));
  }
}

TEST_F(Mmapv1OpenStateTest, NoTwoFlippedBitsOfTheStateAndItsChecksumAreTakenForAnother) {
  NsHeader header{kNsMagic, kFormatVersion, 7, {}, 100, 1};
  SetState(&header, OpenState::kJournaled);
  constexpr size_t kFirst = 8 * offsetof(NsHeader, mark);
  constexpr size_t kLast = kFirst + 8 * sizeof(OpenMark);
  for (size_t one = kFirst; one < kLast; ++one) {
    for (size_t other = one + 1; other < kLast; ++other) {
      NsHeader changed = header;
      FlipBit(&changed, one);
      FlipBit(&changed, other);
      EXPECT_NE(changed.mark.checksum, ChecksumOf(changed)) << one << " " << other;
    }
  }
}

TEST_F(Mmapv1OpenStateTest, AStateThatWasOverwrittenWithZerosIsRefused) {
  MakeDatabase(true);
  ChangeHeader([](NsHeader* header) { header->mark.state = OpenState::kClean; });
  EXPECT_EQ(KindOfRefusal(), Error::kCorruption);
  EXPECT_TRUE(CheckFindsFault());
  ChangeHeader([](NsHeader* header) { header->mark.state = OpenState::kJournaled; });
  ExpectAllRows();
}

// The header is from another time, and its checksum is right.
TEST_F(Mmapv1OpenStateTest, AJournalWithNewerSectionsContradictsACleanDatabase) {
  MakeDatabase(true);
  ChangeHeader([](NsHeader* header) { SetState(header, OpenState::kClean); });
  for (const bool with_lsn : {true, false}) {
    if (!with_lsn) fs::rename(LsnPath(database_), dir_ + "/away");
    EXPECT_EQ(KindOfRefusal(), Error::kCorruption);
    EXPECT_NE(FirstFault(database_).find("closed in order"), std::string::npos)
        << FirstFault(database_);
  }
  fs::rename(dir_ + "/away", LsnPath(database_));
  ChangeHeader([](NsHeader* header) { SetState(header, OpenState::kJournaled); });
  EXPECT_EQ(FirstFault(database_), "");
  ExpectAllRows();
}

TEST_F(Mmapv1OpenStateTest, AStateOrAFormatThatIsNotKnownIsRefused) {
  MakeDatabase(false);
  ChangeHeader([](NsHeader* header) { SetState(header, static_cast<OpenState>(3)); });
  EXPECT_EQ(KindOfRefusal(), Error::kCorruption);
  EXPECT_NE(FirstFault(database_), "");
  ChangeHeader([](NsHeader* header) { header->version = 1; });
  EXPECT_EQ(KindOfRefusal(), Error::kUsage);
}

// Each removal of a file of the journal fails in turn, in recovery and in a close, which leaves a
// clean database with a journal.
TEST_F(Mmapv1OpenStateTest, ACleanDatabaseMayHaveAJournalThatNobodyNeeds) {
  int failures = 0;
  for (const bool killed : {true, false}) {
    for (uint64_t at = 0;; ++at) {
      SCOPED_TRACE(at);
      MakeDatabase(killed);
      FailingDisk disk(disk_);
      disk.Fail({DiskCall::kUnlink, at, EIO, true});
      try {
        ExpectAllRows();
      } catch (const Error&) {
      }
      const uint64_t failed = disk.failed();
      disk.Heal();
      EXPECT_EQ(FirstFault(database_), "");
      ExpectAllRows();
      if (failed == 0) break;
      ++failures;
    }
  }
  EXPECT_GE(failures, 4);
}

TEST_F(Mmapv1OpenStateTest, APowerCutAtAnyStepOfOpeningAndClosingLosesNothing) {
  const std::string cut = dir_ + "/cut";
  for (const bool killed : {true, false}) {
    for (uint64_t calls = 0;; ++calls) {
      SCOPED_TRACE(calls);
      MakeDatabase(killed);
      bool was_cut = false;
      {
        FailingDisk disk(disk_);
        disk.CutAfter(calls, calls);
        try {
          OpenStore(database_);
        } catch (const Error&) {
        }
        was_cut = disk.is_cut();
        disk.Cut(calls);
        fs::remove_all(cut);
        disk.CopyTo(cut);
      }
      fs::remove_all(database_);
      fs::rename(cut + "/database", database_);
      EXPECT_EQ(FirstFault(database_), "");
      ExpectAllRows();
      if (!was_cut || HasFailure()) break;
    }
  }
}

}  // namespace
}  // namespace testbed::mmapv1
