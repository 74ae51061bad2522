// Helpers for the tests that check a closed btree database: a small database with every kind of
// page, and functions that plant damage in its files.
#ifndef TESTBED_TESTS_UNIT_ENGINES_BTREE_INSPECT_UTIL_H_
#define TESTBED_TESTS_UNIT_ENGINES_BTREE_INSPECT_UTIL_H_

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engines/btree/inspect/check.h"
#include "engines/btree/store/store.h"
#include "engines/btree/tree/cursor.h"
#include "tests/contents.h"
#include "tests/crashed_child.h"

namespace testbed::btree {

using Rows = std::map<std::string, std::string>;

inline std::string Slurp(const std::string& path) { return ContentOf(path); }

inline void Spill(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

class InspectTest : public testing::Test {
 protected:
  static constexpr uint32_t kPage = 4096;

  void SetUp() override {
    // The databases are in memory, because the tests make many and check only the files' contents.
    const std::string base =
        access("/dev/shm", W_OK) == 0 ? "/dev/shm" : std::filesystem::current_path().string();
    std::string pattern = base + "/btree_inspect_test_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    top_ = pattern;
    dir_ = top_ + "/db";
    options_.page_size = kPage;
    options_.cache_bytes = 4 << 20;
    options_.durability = Durability::kNone;
    // With a doublewrite file, planted damage in the last pages written would be repaired.
    options_.torn_page = TornPage::kNone;
    options_.log.segment_bytes = 256 << 10;
    options_.log.min_segments = 1;
  }
  void TearDown() override {
    store_.reset();
    std::filesystem::remove_all(top_);
  }

  void Open() { store_ = Store::Open(dir_, options_); }
  void Close() { store_.reset(); }

  static std::string Key(int i) {
    char key[32];
    snprintf(key, sizeof key, "key%06d", i);
    return key;
  }
  // Returns the value of row i. Every 40th value is long.
  static std::string Value(int i) {
    return std::string(i % 40 == 7 ? 5000 + i % 9000 : 40 + i % 100,
                       static_cast<char>('a' + i % 26));
  }
  void Commit(const std::string& table, const std::string& key, const std::string& value) {
    StoreClient client(store_.get());
    const RowWrite op{false, store_->OpenTable(table)->table(), key, value};
    client.Commit({&op, 1});
  }
  void Erase(const std::string& table, const std::string& key) {
    StoreClient client(store_.get());
    const RowWrite op{true, store_->OpenTable(table)->table(), key, {}};
    client.Commit({&op, 1});
  }
  // Makes a database with a table "a" of three levels with long values, a table "b" of one page,
  // and free pages.
  void MakeDatabase(int rows = 6000) {
    Open();
    for (int i = 0; i < rows; ++i) {
      const int scattered = i * 7919 % rows;
      Commit("a", Key(scattered), Value(scattered));
    }
    for (int i = 0; i < 10; ++i) Commit("b", Key(i), "b");
    Commit("a", "freed", std::string(20000, 'f'));
    Erase("a", "freed");
    Close();
  }
  // Runs `body` on the open database in a child process that then ends without closing it.
  void RunAndCrash(const std::function<void()>& body) {
    Close();
    RunInCrashedChild([&] {
      Open();
      body();
      store_->log()->Write(store_->log()->EndLsn());
    });
  }

  Inspection Inspect(const InspectOptions& options = {}) { return InspectDatabase(dir_, options); }
  static std::string Texts(const Faults& faults) {
    std::string text;
    for (const Fault& fault : faults.kept) text += fault.Text() + "\n";
    return text;
  }
  void ExpectSound() {
    const Inspection result = Inspect();
    EXPECT_EQ(result.faults.count, 0u) << Texts(result.faults);
  }
  void ExpectSoundStore() {
    const CheckReport report = CheckStore(store_.get());
    for (const std::string& problem : report.problems) ADD_FAILURE() << problem;
  }
  // Returns whether a fault of this page of the data file contains `what`.
  static bool Names(const Inspection& result, PageId page, const std::string& what) {
    for (const Fault& fault : result.faults.kept) {
      const uint64_t begin = static_cast<uint64_t>(page) * kPage;
      if (fault.page != page || fault.Text().find(what) == std::string::npos) continue;
      EXPECT_TRUE(fault.file.ends_with("/btree.data")) << fault.Text();
      EXPECT_TRUE(fault.byte && *fault.byte >= begin && *fault.byte < begin + kPage)
          << fault.Text();
      return true;
    }
    return false;
  }
  void ExpectNames(PageId page, const std::string& what) {
    const Inspection result = Inspect();
    EXPECT_TRUE(Names(result, page, what)) << "page " << page << ": " << what << " is not among\n"
                                           << Texts(result.faults);
  }
  // Expects a fault of a file whose text contains `what`.
  void ExpectNamesFile(const std::string& file, const std::string& what) {
    const Inspection result = Inspect();
    bool named = false;
    for (const Fault& fault : result.faults.kept) {
      named = named || (fault.file.ends_with(file) && fault.Text().find(what) != std::string::npos);
    }
    EXPECT_TRUE(named) << file << ": " << what << " is not among\n" << Texts(result.faults);
  }

  std::string data() const { return DataPath(dir_); }
  std::string ReadPage(PageId id) const {
    std::ifstream in(data(), std::ios::binary);
    in.seekg(static_cast<std::streamoff>(id) * kPage);
    std::string page(kPage, '\0');
    in.read(page.data(), kPage);
    EXPECT_TRUE(in) << "page " << id << " is past the end of " << data();
    return page;
  }
  void WritePage(PageId id, const std::string& page) const {
    std::fstream out(data(), std::ios::binary | std::ios::in | std::ios::out);
    out.seekp(static_cast<std::streamoff>(id) * kPage);
    out.write(page.data(), static_cast<std::streamsize>(page.size()));
  }
  // Changes a page and corrects its checksum, so that only its contents are wrong.
  void Edit(PageId id, const std::function<void(char*)>& change) const {
    std::string page = ReadPage(id);
    change(page.data());
    StampPage(page.data(), kPage);
    WritePage(id, page);
  }
  static void FlipByte(const std::string& path, uint64_t at) {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekg(static_cast<std::streamoff>(at));
    const int c = file.get();
    file.seekp(static_cast<std::streamoff>(at));
    file.put(static_cast<char>(c ^ 0x40));
  }

  // The files of the directory with their contents, which Restore puts back after each damage.
  using Files = std::map<std::string, std::string>;
  Files Save() const {
    Files files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_)) {
      if (entry.is_regular_file()) files[entry.path()] = Slurp(entry.path());
    }
    return files;
  }
  void Restore(const Files& files) const {
    std::filesystem::remove_all(dir_);
    std::filesystem::create_directories(LogPath(dir_));
    for (const auto& [path, bytes] : files) Spill(path, bytes);
  }

  // Returns the first used page of this type, level and table, from page `from` on.
  PageId Find(PageType type, uint8_t level, uint32_t table, PageId from = 1) const {
    const std::string bytes = Slurp(data());
    const SpaceSnapshot space = Checkpoint().space;
    for (PageId id = from; (id + 1) * size_t{kPage} <= bytes.size() && id < space.pages; ++id) {
      const PageHeader* header = Header(bytes.data() + id * size_t{kPage});
      const bool used = (space.words[id / 64] >> (id % 64) & 1) != 0;
      if (used && header->type == type && header->level == level && header->table == table) {
        return id;
      }
    }
    ADD_FAILURE() << "no such page";
    return kNoPage;
  }
  CheckpointState Checkpoint() const {
    FileOptions options;
    options.read_only = true;
    return ReadCheckpoint(dir_, ReadSuperblock(File::Open(data(), options).get())->database);
  }

  std::string top_, dir_;
  StoreOptions options_;
  std::unique_ptr<Store> store_;
};

}  // namespace testbed::btree

#endif  // TESTBED_TESTS_UNIT_ENGINES_BTREE_INSPECT_UTIL_H_
