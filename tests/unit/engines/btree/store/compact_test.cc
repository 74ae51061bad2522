// Tests the compaction of a closed database (engines/btree/store/compact.h).
#include "engines/btree/store/compact.h"

#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "device/file/directory.h"
#include "device/file/file_faults.h"
#include "device/os/signal_guard.h"
#include "engines/btree/btree_engine.h"
#include "tests/unit/engines/btree/store_test.h"
#include "tests/unit/engines/failing_disk/failing_disk.h"
#include "tools/database/copy_tree.h"

namespace testbed::btree {
namespace {

class CompactTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    options_.log.segment_bytes = 256 << 10;
    options_.cache_bytes = 100 * options_.page_size;
  }
  void TearDown() override {
    FileFaults::Clear();
    StoreTest::TearDown();
    for (const std::string& dir : {Old(), New()}) std::filesystem::remove_all(dir);
  }
  std::string Old() const { return dir_ + ".old"; }
  std::string New() const { return dir_ + ".new"; }

  // Makes a database of many pages of which few rows are left, and closes it.
  void Make(int rows = 4000) {
    Open();
    StoreClient client(store_.get());
    Tree* const tree = store_->OpenTable("t");
    store_->OpenTable("empty");
    Model all;
    for (int i = 0; i < rows; i += 100) {
      Model some;
      for (int j = i; j < i + 100; ++j) {
        some["key" + std::to_string(j)] = std::string(j % 50 == 0 ? 9000 : 300, 'a' + j % 26);
      }
      Commit(&client, tree, some, false);
      all.merge(some);
    }
    Model erased;
    for (const auto& [key, value] : all) (key.back() == '7' ? model_ : erased)[key] = value;
    Commit(&client, tree, erased, true);
  }
  void Commit(StoreClient* client, Tree* tree, const Model& rows, bool erase) {
    std::vector<RowWrite> operations;
    for (const auto& [key, value] : rows) {
      operations.push_back(
          {erase, tree->table(), key, erase ? std::string_view() : std::string_view(value)});
    }
    client->Commit(operations);
  }
  uint64_t DataBytes() const { return std::filesystem::file_size(DataPath(dir_)); }
  void ExpectWhole() {
    Open();
    EXPECT_FALSE(IsThere(CompactingPath(dir_)));
    EXPECT_FALSE(IsThere(CompactedPath(dir_)));
    EXPECT_EQ(store_->TableNames(), tables_);
    ExpectRows(store_->OpenTable("t"), model_);
    ExpectSound();
    store_.reset();
  }
  // Runs Make, notes the tables and closes the database.
  void MakeAndClose(int rows = 4000) {
    Make(rows);
    tables_ = store_->TableNames();
    store_.reset();
  }

  Model model_;
  std::map<std::string, uint32_t> tables_;
};

TEST_F(CompactTest, TheFileIsAsLongAsTheRowsNeed) {
  for (const bool special : {false, true}) {
    if (special) {
      TearDown();
      StoreTest::SetUp();
      model_.clear();
      options_.page_size = 8192;
      options_.cache_bytes = 100 * options_.page_size;
      options_.compression = PageCodec::kLz4;
      options_.change_buffer_bytes = 20 << 10;
    }
    MakeAndClose();
    const uint64_t before = DataBytes();
    Compact(dir_, options_);
    EXPECT_LT(DataBytes(), before / 4);
    uint64_t row_bytes = 0;
    for (const auto& [key, value] : model_) row_bytes += key.size() + value.size();
    EXPECT_LT(DataBytes(), row_bytes * 3 / 2 + 30 * options_.page_size);
    ExpectWhole();
    const uint64_t compacted = DataBytes();
    Compact(dir_, options_);
    EXPECT_LE(DataBytes(), compacted);
    ExpectWhole();
  }
}

TEST_F(CompactTest, ADatabaseThatIsOpenOrNotThereIsRefused) {
  Make();
  tables_ = store_->TableNames();
  const auto refusal = [&](const std::string& dir) -> std::string {
    try {
      Compact(dir, options_);
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::kUsage);
      return e.what();
    }
    return "it was compacted";
  };
  EXPECT_THAT(refusal(dir_), testing::HasSubstr("is in use by this process already"));
  EXPECT_THAT(refusal(New()), testing::HasSubstr("does not exist"));
  EXPECT_FALSE(IsThere(New()));
  ExpectWhole();
}

TEST_F(CompactTest, WhenACallFailsTheDatabaseIsTheOldOrTheNewOne) {
  MakeAndClose();
  CopyTree(dir_, Old());
  for (const int error : {EIO, ENOSPC}) {
    FileFaults::Set(UINT64_MAX, UINT64_MAX, error);
    Compact(dir_, options_);
    const uint64_t calls = FileFaults::Clear();
    const char* const set = ::getenv("TESTBED_FAULT_STRIDE");
    const uint64_t stride = set != nullptr ? std::strtoull(set, nullptr, 10) : 1 + calls / 8;
    uint64_t told = 0;
    for (uint64_t call = 0; call < calls; call += 1 + random_() % (2 * stride - 1)) {
      SCOPED_TRACE("errno " + std::to_string(error) + " at call " + std::to_string(call));
      std::filesystem::remove_all(dir_);
      CopyTree(Old(), dir_);
      FileFaults::Set(call, call + 1, error);
      try {
        Compact(dir_, options_);
      } catch (const Error& e) {
        ++told;
        EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << e.what();
      }
      FileFaults::Clear();
      ExpectWhole();
      if (HasFailure()) return;
    }
    EXPECT_GT(told, 0u);
    std::filesystem::remove_all(dir_);
    CopyTree(Old(), dir_);
  }
}

// The process ends between any two steps of the exchange of files.
TEST_F(CompactTest, AnOpeningEndsTheExchangeOfFiles) {
  namespace fs = std::filesystem;
  MakeAndClose();
  CopyTree(dir_, Old());
  Compact(dir_, options_);
  const uint64_t compacted = DataBytes();
  CopyTree(dir_, New());
  const std::vector<std::pair<std::string, std::string>> steps = {
      {"/btree.compacted/btree.checkpoint.0", "/btree.checkpoint.0"},
      {"/btree.compacted/btree.checkpoint.1", "/btree.checkpoint.1"},
      {"/btree.compacted/btree.doublewrite", "/btree.doublewrite"},
      {"/btree.log", "/btree.compacted/btree.old"},
      {"/btree.compacted/btree.log", "/btree.log"},
      {"/btree.compacted/btree.data", "/btree.data"},
      {"/btree.compacted/btree.old/log-000001", ""},
      {"/btree.compacted/btree.old", ""},
      {"/btree.compacted", ""}};
  for (size_t done = 0; done <= steps.size(); ++done) {
    SCOPED_TRACE(std::to_string(done) + " steps");
    fs::remove_all(dir_);
    CopyTree(Old(), dir_);
    CopyTree(New(), CompactedPath(dir_));
    std::ofstream(LogPath(dir_) + "/notes") << "theirs";
    for (size_t i = 0; i < done; ++i) {
      if (steps[i].second.empty()) {
        fs::remove_all(dir_ + steps[i].first);
      } else {
        fs::rename(dir_ + steps[i].first, dir_ + steps[i].second);
      }
    }
    if (done < steps.size()) {
      EXPECT_THROW(InspectDatabase(dir_, InspectOptions()), Error);
    }
    ExpectWhole();
    EXPECT_EQ(IsThere(LogPath(dir_) + "/notes"), done < 8) << "a file of somebody else";
    EXPECT_LT(DataBytes(), compacted + (1 << 20));
    if (HasFailure()) return;
  }
}

TEST_F(CompactTest, TheFormatIsThatOfTheDatabaseWhichAnOpeningFinds) {
  options_.page_size = 8192;
  options_.cache_bytes = 100 * options_.page_size;
  MakeAndClose(100);
  const auto format = BtreeEngineInfo().format;
  EXPECT_EQ(format(dir_).page_size, 8192u);
  EXPECT_FALSE(format(dir_).compressed);
  CopyTree(dir_, Old());
  std::filesystem::remove_all(dir_);
  options_.compression = PageCodec::kLz4;
  MakeAndClose(100);
  EXPECT_TRUE(format(dir_).compressed);
  EXPECT_FALSE(format(Old()).compressed);
  CopyTree(dir_, CompactedPath(Old()));
  EXPECT_TRUE(format(Old()).compressed) << "the files of a compaction were not all moved";
  std::filesystem::resize_file(DataPath(dir_), 10);
  EXPECT_THROW(format(dir_), Error);
}

TEST_F(CompactTest, WhenItIsStoppedTheDatabaseIsTheOldOne) {
  MakeAndClose(1000);
  const uint64_t before = DataBytes();
  {
    const SignalGuard signals;
    ::raise(SIGTERM);
    EXPECT_THROW(Compact(dir_, options_), Stopped);
  }
  EXPECT_FALSE(IsThere(CompactingPath(dir_)));
  EXPECT_GT(DataBytes(), before / 2);
  ExpectWhole();
}

// The power is cut after some of the calls of a compaction, most of them among the last ones, which
// exchange the files, and when it has returned.
TEST_F(CompactTest, AfterAPowerCutTheDatabaseIsTheOldOrTheNewOne) {
  MakeAndClose(1000);
  CopyTree(dir_, Old());
  uint64_t calls = 0;
  {
    FailingDisk disk(dir_);
    Compact(dir_, options_);
    calls = disk.all_calls();
  }
  const uint64_t compacted = DataBytes();
  const char* const set = ::getenv("TESTBED_FAULT_STRIDE");
  const uint64_t stride = set != nullptr ? std::strtoull(set, nullptr, 10) : 1 + calls / 12;
  constexpr uint64_t kExchange = 60;  // calls
  int old_ones = 0, new_ones = 0;
  for (uint64_t call = 0; call <= calls;) {
    SCOPED_TRACE("call " + std::to_string(call) + " of " + std::to_string(calls));
    std::filesystem::remove_all(dir_);
    CopyTree(Old(), dir_);
    bool returned = true;
    {
      FailingDisk disk(dir_);
      disk.CutAfter(call, call);
      try {
        Compact(dir_, options_);
      } catch (const Error&) {
        returned = false;
      }
      disk.Cut(call);
      disk.CopyTo(New());
    }
    std::filesystem::remove_all(dir_);
    std::filesystem::rename(New(), dir_);
    const bool is_new = IsThere(CompactedPath(dir_)) || DataBytes() < 2 * compacted;
    ++(is_new ? new_ones : old_ones);
    if (returned) {
      EXPECT_TRUE(is_new);
    }
    ExpectWhole();
    if (HasFailure()) return;
    call += call + kExchange < calls ? std::min(stride, calls - kExchange - call)
                                     : std::min<uint64_t>(stride, 3);
  }
  EXPECT_GT(old_ones, 5);
  EXPECT_GT(new_ones, 3);
}

TEST_F(CompactTest, WhenItIsKilledTheDatabaseIsTheOldOrTheNewOne) {
  MakeAndClose();
  CopyTree(dir_, Old());
  const auto start = std::chrono::steady_clock::now();
  Compact(dir_, options_);
  const auto whole = std::chrono::steady_clock::now() - start;
  bool left = false;  // the subdirectory of one that was killed
  for (int attempt = 0; attempt < 12; ++attempt) {
    std::filesystem::remove_all(dir_);
    CopyTree(Old(), dir_);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::alarm(60);
      try {
        Compact(dir_, options_);
      } catch (const Error& e) {
        ::dprintf(2, "child: %s\n", e.what());
      }
      ::_exit(0);
    }
    // The first kills come as soon as the compaction has begun, the later ones in its course.
    const auto latest = std::chrono::steady_clock::now() + 4 * whole;
    while (!IsThere(CompactingPath(dir_)) && std::chrono::steady_clock::now() < latest) {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    std::this_thread::sleep_for(whole * (attempt / 2) / 6);
    ::kill(child, SIGKILL);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    left = left || IsThere(CompactingPath(dir_)) || IsThere(CompactedPath(dir_));
    ExpectWhole();
    if (HasFailure()) return;
  }
  EXPECT_TRUE(left) << "no compaction was cut off";
}

}  // namespace
}  // namespace testbed::btree
