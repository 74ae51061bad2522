// Tests the promise of the two views: whatever mixture of old and new pages a power cut leaves, the
// journal must restore the last durable state. Also tests the work of the threads.
#include "engines/mmapv1/store.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "device/error.h"
#include "engines/mmapv1/files/format.h"
#include "engines/mmapv1/files/settings.h"
#include "tests/own_counter.h"
#include "tests/unit/engines/mmapv1/test_util.h"

namespace testbed::mmapv1 {
namespace {

namespace fs = std::filesystem;

std::string ReadAll(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

uint64_t More(Store* store, const std::string& name) {
  EngineCounters counters;
  store->AddCounters(&counters);
  return OwnCounter(counters, name);
}

// A kernel with pages of 64 KiB refuses to drop 4 KiB of a private view, in the middle of a run.
TEST(Mmapv1SettingsTest, AKernelWithLargerPagesIsRefused) {
  EXPECT_EQ(UnfitPages(kMemoryPage), "");
  EXPECT_NE(UnfitPages(65536).find("and those of this kernel have 65536"), std::string::npos);
}

class Mmapv1StoreTest : public Mmapv1Test {
 protected:
  // Copies the files that a process which is killed now would leave. They may change during the
  // copy, as during a crash of the machine.
  void CopyTo(const std::string& to) const {
    fs::remove_all(to);
    fs::create_directory(to);
    for (const auto& entry : fs::directory_iterator(dir_)) {
      fs::copy_file(entry.path(), to / entry.path().filename());
    }
  }
  // Makes data files whose pages are taken at random from either directory; all other files are
  // from `newer`.
  void Mix(const std::string& older, const std::string& newer, const std::string& to,
           std::mt19937_64* random) const {
    fs::remove_all(to);
    fs::create_directory(to);
    for (const auto& entry : fs::directory_iterator(newer)) {
      const fs::path name = entry.path().filename();
      std::string bytes = ReadAll(entry.path());
      if (name.string().starts_with(kFileBase) && fs::exists(older / name)) {
        const std::string old = ReadAll(older / name);
        for (size_t page = 0; page < bytes.size(); page += kMemoryPage) {
          if ((*random)() % 2 == 0) bytes.replace(page, kMemoryPage, old, page, kMemoryPage);
        }
      }
      std::ofstream(to / name, std::ios::binary) << bytes;
    }
  }
  // Performs random transactions on the store and the model.
  void Change(Store* store, TableId table, Rows* model, std::mt19937_64* random, int count) {
    for (int i = 0; i < count; ++i) {
      WriteSet writes;
      for (uint64_t n = (*random)() % 30 + 1; n > 0; --n) {
        const std::string key = "row" + std::to_string((*random)() % 5000);
        if ((*random)() % 4 == 0) {
          writes.Set(table, key, true, {});
          model->erase(key);
        } else {
          const std::string value((*random)() % 1500, static_cast<char>('a' + i % 26));
          writes.Set(table, key, false, value);
          (*model)[key] = value;
        }
      }
      store->Apply(writes);
    }
  }
};

TEST_F(Mmapv1StoreTest, AnyMixtureOfPagesIsRecovered) {
  options_.extra["sync_delay"] = "0";
  const std::string flushed = dir_ + ".flushed", cut = dir_ + ".cut", mixed = dir_ + ".mixed";
  std::mt19937_64 random(301);
  Rows model;
  {
    std::unique_ptr<Store> store = OpenStore();
    const TableId table = store->OpenTable("t");
    for (int round = 0; round < 6; ++round) {
      store->Checkpoint();
      CopyTo(flushed);
      Change(store.get(), table, &model, &random, 40);
      CopyTo(cut);
      for (int mixture = 0; mixture < 3; ++mixture) {
        Mix(flushed, cut, mixed, &random);
        EXPECT_EQ(FirstFault(mixed), "") << "as recovery would leave it";
        std::unique_ptr<Store> recovered = OpenStore(mixed);
        EXPECT_GT(recovered->replayed().sections, 0u);
        ASSERT_EQ(AllRows(recovered.get(), recovered->OpenTable("t")), model) << round;
        recovered.reset();
        EXPECT_EQ(FirstFault(mixed), "");
      }
    }
  }
  EXPECT_EQ(FirstFault(dir_), "");
  for (const std::string& dir : {flushed, cut, mixed}) fs::remove_all(dir);
}

// OpenTable does not wait for the journal. The wait of the first commit covers the new table, too,
// though the power cut leaves no other page of the files than those of the checkpoint before it.
TEST_F(Mmapv1StoreTest, TheFirstCommitToANewTableKeepsTheTable) {
  options_.extra["sync_delay"] = "0";
  const std::string flushed = dir_ + ".flushed", cut = dir_ + ".cut";
  std::unique_ptr<Store> store = OpenStore();
  Put(store.get(), store->OpenTable("first"), "row", "0");
  store->Checkpoint();
  CopyTo(flushed);
  for (int i = 0; i < 8; ++i) {
    const std::string name = "t" + std::to_string(i);
    Put(store.get(), store->OpenTable(name), "row", name);
    CopyTo(cut);
    for (const auto& entry : fs::directory_iterator(cut)) {
      const fs::path older = flushed / entry.path().filename();
      if (entry.path().filename().string().starts_with(kFileBase) && fs::exists(older)) {
        fs::copy_file(older, entry.path(), fs::copy_options::overwrite_existing);
      }
    }
    std::unique_ptr<Store> recovered = OpenStore(cut);
    for (int n = 0; n <= i; ++n) {
      const std::string known = "t" + std::to_string(n);
      ASSERT_EQ(AllRows(recovered.get(), recovered->OpenTable(known)), (Rows{{"row", known}})) << i;
    }
  }
  store.reset();
  for (const std::string& dir : {flushed, cut}) fs::remove_all(dir);
}

TEST_F(Mmapv1StoreTest, TheSharedViewHasNothingThatIsNotInTheJournal) {
  options_.durability = Durability::kLazy;
  options_.lazy_interval_ms = 10000;
  options_.extra.erase("journal_commit_interval");
  const std::string cut = dir_ + ".cut";
  std::unique_ptr<Store> store = OpenStore();
  const TableId table = store->OpenTable("t");
  Put(store.get(), table, "early", "durable");
  store->Checkpoint();
  const std::string before = ReadAll(DataPath(dir_, 0));
  Put(store.get(), table, "late", "a value that is nowhere yet");
  std::string value;
  ASSERT_TRUE(store->Get(table, "late", &value));
  EXPECT_EQ(ReadAll(DataPath(dir_, 0)), before);
  CopyTo(cut);
  {
    std::unique_ptr<Store> recovered = OpenStore(cut);
    const TableId there = recovered->OpenTable("t");
    EXPECT_EQ(AllRows(recovered.get(), there), (Rows{{"early", "durable"}}));
  }
  store->Checkpoint();
  EXPECT_NE(ReadAll(DataPath(dir_, 0)), before);
  fs::remove_all(cut);
}

TEST_F(Mmapv1StoreTest, CopiesOfPagesAreDroppedByRemapping) {
  std::unique_ptr<Store> store = OpenStore();
  const TableId table = store->OpenTable("t");
  for (int i = 0; i < 300; ++i) Put(store.get(), table, "row" + std::to_string(i), "value");
  EXPECT_GT(More(store.get(), "remaps"), 0u);
  // Private copies of pages are dropped in parts, by checkpoints that are some time apart.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  do {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    store->Checkpoint();
  } while (More(store.get(), "private_copy_bytes") != 0 &&
           std::chrono::steady_clock::now() < deadline);
  EXPECT_EQ(More(store.get(), "private_copy_bytes"), 0u);
  EXPECT_GT(More(store.get(), "private_copies_dropped_bytes"), 0u);
  EXPECT_EQ(AllRows(store.get(), table).size(), 300u);
}

TEST_F(Mmapv1StoreTest, ManyBytesAtOnceAreCommittedInTime) {
  // The transaction writes more than may wait for the journal, and more than a file of the journal
  // holds.
  std::unique_ptr<Store> store = OpenStore();
  const TableId table = store->OpenTable("t");
  for (int round = 0; round < 3; ++round) {
    WriteSet writes;
    for (int i = 0; i < 400; ++i) {
      writes.Set(table, "row" + std::to_string(i), false, std::string(10'000, 'a' + round));
    }
    store->Apply(writes);
  }
  const Rows rows = AllRows(store.get(), table);
  EXPECT_EQ(rows.size(), 400u);
  EXPECT_EQ(rows.at("row7"), std::string(10'000, 'c'));
  store.reset();
  EXPECT_EQ(FirstFault(dir_), "");
}

TEST_F(Mmapv1StoreTest, ATransactionThatNoSectionWouldTakeIsRefusedAndOthersGoOn) {
  Settings settings = MakeSettings(options_);
  settings.transaction_bytes = 6 << 20;  // leaves more copies of pages than writers wait for
  auto store = std::make_unique<Store>(dir_, settings);
  const TableId table = store->OpenTable("t");
  Put(store.get(), table, "before", "value");
  WriteSet writes;
  for (int i = 0; i < 1000; ++i) {
    writes.Set(table, "row" + std::to_string(i), false, std::string(10'000, 'v'));
  }
  try {
    store->Apply(writes);
    FAIL() << "was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::kUsage) << error.what();
    EXPECT_NE(std::string(error.what()).find("several transactions"), std::string::npos);
  }
  EXPECT_EQ(More(store.get(), "operations_undone"), 1u);
  store->Checkpoint();
  ASSERT_EQ(More(store.get(), "private_copy_bytes"), 0u) << "writers would wait for ever";
  Put(store.get(), table, "after", "value");
  EXPECT_EQ(AllRows(store.get(), table), (Rows{{"before", "value"}, {"after", "value"}}));
  store.reset();
  EXPECT_EQ(FirstFault(dir_), "");
  store = OpenStore();
  EXPECT_EQ(AllRows(store.get(), store->OpenTable("t")).size(), 2u);
}

TEST_F(Mmapv1StoreTest, ClientsReadAndWriteWhileEverythingElseRuns) {
  options_.durability = Durability::kLazy;
  options_.lazy_interval_ms = 4;
  options_.extra["remap_period"] = "5";
  options_.extra["sync_delay"] = "0.02";
  options_.extra.erase("preallocate");
  std::unique_ptr<Store> store = OpenStore();
  const TableId table = store->OpenTable("t");
  constexpr int kThreads = 4;
  std::vector<Rows> models(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937_64 random(301 + static_cast<uint64_t>(t));
      Rows& model = models[static_cast<size_t>(t)];
      std::string found, value;
      for (int i = 0; i < 300; ++i) {
        WriteSet writes;
        // The keys of different threads are neighbours.
        for (int n = 0; n < 10; ++n) {
          const std::string key = "row" + std::to_string(random() % 1000) + "-" + std::to_string(t);
          const std::string text(random() % 900, static_cast<char>('a' + i % 26));
          writes.Set(table, key, false, text);
          model[key] = text;
        }
        store->Apply(writes);
        const auto& [key, expected] = *model.begin();
        if (!store->Get(table, key, &value) || value != expected) ADD_FAILURE() << key;
        PlaceHint hint;
        store->Move(table, Motion::kAtOrAfter, key, &hint, &found, &value);
        EXPECT_EQ(found, key);
        if (i % 100 == t) store->Checkpoint();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  Rows all;
  for (const Rows& model : models) all.insert(model.begin(), model.end());
  EXPECT_TRUE(AllRows(store.get(), table) == all);
  EXPECT_GT(More(store.get(), "private_copies_dropped_bytes"), 0u);
  store.reset();
  EXPECT_EQ(FirstFault(dir_), "");
}

TEST_F(Mmapv1StoreTest, WithoutAJournalOnlyACleanEndIsAccepted) {
  options_.durability = Durability::kNone;
  const std::string cut = dir_ + ".cut";
  std::unique_ptr<Store> store = OpenStore();
  Put(store.get(), store->OpenTable("t"), "a", "1");
  CopyTo(cut);
  for (const Durability durability : {Durability::kNone, Durability::kSync}) {
    options_.durability = durability;
    try {
      OpenStore(cut);
      ADD_FAILURE() << "was opened";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::kUsage);
      EXPECT_NE(std::string(error.what()).find("--fresh"), std::string::npos) << error.what();
    }
  }
  EXPECT_NE(FirstFault(cut).find("without a journal"), std::string::npos);
  store.reset();
  store = OpenStore();
  EXPECT_EQ(AllRows(store.get(), store->OpenTable("t")), (Rows{{"a", "1"}}));
  fs::remove_all(cut);
}

TEST_F(Mmapv1StoreTest, DamageIsFoundByCheckAndNamed) {
  std::mt19937_64 random(301);
  Rows model;
  {
    std::unique_ptr<Store> store = OpenStore();
    Change(store.get(), store->OpenTable("t"), &model, &random, 60);
  }
  ASSERT_EQ(FirstFault(dir_), "");
  const std::string path = DataPath(dir_, 0), sound = ReadAll(path);
  int found = 0;
  for (int i = 0; i < 60; ++i) {
    std::string bytes = sound;
    // The flipped bit is in the used part of the file.
    const size_t ofs = kFileHeaderBytes + random() % 300'000;
    bytes[ofs] = static_cast<char>(bytes[ofs] ^ (1 << random() % 8));
    std::ofstream(path, std::ios::binary) << bytes;
    // Values have no checksums, so not every byte matters; but nothing may make the check fail.
    found += FirstFault(dir_).empty() ? 0 : 1;
  }
  EXPECT_GT(found, 5);
  std::ofstream(path, std::ios::binary) << sound;
  EXPECT_EQ(FirstFault(dir_), "");
}

TEST_F(Mmapv1StoreTest, NothingIsReadAtAnOddPlace) {
  {
    std::unique_ptr<Store> store = OpenStore();
    WriteSet writes;
    writes.Set(store->OpenTable("t"), "key", false, "value");
    store->Apply(writes);
  }
  const auto change = [](const std::string& path, size_t ofs) {
    std::string bytes = ReadAll(path);
    ++bytes[ofs];
    std::ofstream(path, std::ios::binary) << bytes;
  };
  change(DataPath(dir_, 0), kFileHeaderBytes + offsetof(ExtentHeader, first_record));
  EXPECT_NE(FirstFault(dir_).find("a record of the extent is not in it"), std::string::npos)
      << FirstFault(dir_);
  const std::string ns = ReadAll(NsPath(dir_));
  size_t entry = kNsHeaderBytes;
  while (ns[entry] == 0) entry += sizeof(NsEntry);
  change(NsPath(dir_), entry + offsetof(NsEntry, root) + offsetof(DiskLoc, ofs));
  std::unique_ptr<Store> store = OpenStore();
  std::string value;
  try {
    const TableId table = store->OpenTable("t");
    store->Get(table, "key", &value);
    FAIL() << "a bucket at an odd place was read";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::kCorruption) << e.what();
  }
}

}  // namespace
}  // namespace testbed::mmapv1
