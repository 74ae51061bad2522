// Tests compressed pages: a read returns what was written, with every codec and wherever a crash
// cut a write.
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <new>
#include <thread>

#include "engines/btree/btree_engine.h"
#include "engines/btree/page/page_codec.h"
#include "engines/btree/pool/compressed_cache.h"
#include "engines/btree/pool/page_file.h"
#include "tests/unit/engines/btree/store_test.h"
#include "tests/unit/engines/failing_disk/failing_disk.h"
#include "tests/unit/engines/failing_new.h"

namespace testbed::btree {
namespace {

constexpr PageCodec kCodecs[] = {PageCodec::kLz4, PageCodec::kZstd};

// Makes a leaf of which `noise_pct` percent are random bytes, which cannot be compressed.
void FillPage(char* page, uint32_t page_size, PageId id, int noise_pct, std::mt19937_64* random) {
  std::memset(page, 'x', page_size);
  auto* header = Header(page);
  *header = {};
  header->lsn = 77;
  header->id = id;
  header->table = 5;
  header->type = PageType::kLeaf;
  for (uint32_t i = sizeof *header; i < page_size; ++i) {
    if (static_cast<int>((*random)() % 100) < noise_pct) page[i] = static_cast<char>((*random)());
  }
}

TEST(PageCodecTest, WhatIsExpandedIsWhatWasCompressed) {
  std::mt19937_64 random(1);
  for (const PageCodec codec : kCodecs) {
    for (uint32_t size = 8192; size <= kMaxPageSize; size *= 2) {
      for (const int noise : {0, 3, 10, 30, 60, 100}) {
        SCOPED_TRACE(std::string(PageCodecName(codec)) + " " + std::to_string(size) + " noise " +
                     std::to_string(noise));
        AlignedBuffer page(size), stored(size);
        FillPage(page.data(), size, 9, noise, &random);
        StampPage(page.data(), size);
        std::memcpy(stored.data(), page.data(), size);
        const uint32_t bytes = CompressPage(codec, stored.data(), size);
        EXPECT_EQ(bytes % kStoredUnit, 0u);
        EXPECT_EQ(bytes, StoredBytes(stored.data(), size));
        if (noise == 0) {
          EXPECT_EQ(bytes, kStoredUnit);
        }
        if (noise == 100) {
          EXPECT_EQ(bytes, size);
          EXPECT_EQ(std::memcmp(page.data(), stored.data(), size), 0) << "stays as it is";
          continue;
        }
        std::memset(stored.data() + bytes, 0, size - bytes);
        EXPECT_EQ(InspectPage(stored.data(), size, 9), PageState::kValid);
        EXPECT_EQ(Header(stored.data())->lsn, 77u);
        EXPECT_EQ(Header(stored.data())->id, 9u);
        if (!IsCompressed(stored.data())) continue;
        ASSERT_TRUE(ExpandPage(stored.data(), size));
        EXPECT_EQ(std::memcmp(page.data() + 8, stored.data() + 8, size - 8), 0);
      }
    }
  }
}

TEST(PageCodecTest, EveryFlippedBitIsDetectedOrInThePadding) {
  constexpr uint32_t kSize = 8192;
  std::mt19937_64 random(2);
  AlignedBuffer page(kSize);
  FillPage(page.data(), kSize, 3, 8, &random);
  ASSERT_EQ(CompressPage(PageCodec::kLz4, page.data(), kSize), kStoredUnit);
  std::memset(page.data() + kStoredUnit, 0, kSize - kStoredUnit);
  const uint32_t used = CompressedBytes(page.data(), kSize);
  for (size_t bit = 0; bit < used * 8; ++bit) {
    page.data()[bit / 8] = static_cast<char>(page.data()[bit / 8] ^ (1 << bit % 8));
    ASSERT_EQ(InspectPage(page.data(), kSize, 3), PageState::kBroken) << "bit " << bit;
    page.data()[bit / 8] = static_cast<char>(page.data()[bit / 8] ^ (1 << bit % 8));
  }
  EXPECT_EQ(InspectPage(page.data(), kSize, 4), PageState::kBroken) << "in another's place";
}

class CompressedFileTest : public StoreTest {
 protected:
  static constexpr uint32_t kSize = 16384;
  std::unique_ptr<PageFile> OpenPages(PageCodec codec = PageCodec::kLz4, uint64_t cache = 0) {
    FileOptions data, doublewrite;
    data.create = doublewrite.create = FileOptions::kMayExist;
    doublewrite.kind = FileKind::kDoublewrite;
    PageFileOptions options;
    options.compressed = true;
    options.codec = codec;
    options.compressed_cache_bytes = cache;
    return std::make_unique<PageFile>(File::Open(dir_ + "/data", data),
                                      File::Open(dir_ + "/doublewrite", doublewrite), kSize,
                                      options);
  }
  // Writes the pages as one batch. Their last byte is `content`, and a part of each is random.
  void Write(PageFile* file, const std::vector<PageId>& ids, char content, int noise_pct) {
    WriteBatch batch(kSize, 16);
    AlignedBuffer page(kSize);
    for (const PageId id : ids) {
      std::mt19937_64 random(id);
      FillPage(page.data(), kSize, id, noise_pct, &random);
      page.data()[kSize - 1] = content;
      batch.Add(page.data());
    }
    file->Write(&batch);
    file->Sync();
  }
  char ContentOf(PageFile* file, PageId id) {
    AlignedBuffer page(kSize);
    file->Read(id, page.data());
    return page.data()[kSize - 1];
  }
  std::string Bytes(const std::string& name) {
    std::ifstream in(dir_ + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void SetBytes(const std::string& name, const std::string& bytes) {
    std::ofstream(dir_ + "/" + name, std::ios::binary) << bytes;
  }
};

TEST_F(CompressedFileTest, APageTakesTheSpaceThatItNeedsNow) {
  auto file = OpenPages();
  file->Grow(64);
  EXPECT_EQ(file->data_bytes(), 0u);
  std::vector<PageId> ids;
  for (PageId id = 1; id <= 8; ++id) ids.push_back(id);
  Write(file.get(), ids, 'a', 100);
  const uint64_t full = file->data_bytes();
  EXPECT_GE(full, 8u * kSize);
  const uint64_t written = file->bytes_written();
  EXPECT_EQ(written, 8u * kSize);
  Write(file.get(), ids, 'b', 0);
  EXPECT_EQ(file->bytes_written() - written, 8u * kStoredUnit);
  // The bound is a unit larger, because ext4 needs a block for this many extents.
  EXPECT_LE(file->data_bytes(), full - 8 * (kSize - kStoredUnit) + kStoredUnit)
      << "the rest was given back";
  for (const PageId id : ids) EXPECT_EQ(ContentOf(file.get(), id), 'b');
  // A file that was just opened does not know the lengths of its pages, so the first pass reads
  // them whole.
  file = OpenPages();
  for (int pass = 0; pass < 2; ++pass) {
    const uint64_t skipped = file->bytes_skipped();
    for (const PageId id : ids) EXPECT_EQ(ContentOf(file.get(), id), 'b');
    EXPECT_EQ(file->bytes_skipped() - skipped, pass == 0 ? 0u : 8u * (kSize - kStoredUnit));
  }
  // The file gives back the space that a shorter page leaves even when it does not know the old
  // length.
  Write(file.get(), ids, 'c', 100);
  file = OpenPages();
  Write(file.get(), ids, 'd', 0);
  EXPECT_LE(file->data_bytes(), full - 8 * (kSize - kStoredUnit) + kStoredUnit);
  for (const PageId id : ids) EXPECT_EQ(ContentOf(file.get(), id), 'd');
}

// A kill came after the pages of a batch were written, and before the holes behind them were made.
TEST_F(CompressedFileTest, AnOpeningMakesTheHolesOfABatchThatWasCutOff) {
  const std::vector<PageId> ids = {1, 2, 3, 5, 8};
  OpenPages()->Grow(16);
  Write(OpenPages().get(), ids, 'a', 100);
  const uint64_t full = OpenPages()->data_bytes();
  Write(OpenPages().get(), ids, 'b', 0);
  const uint64_t holes = OpenPages()->data_bytes();
  if (holes >= full) GTEST_SKIP() << "the file system makes no holes";
  {
    std::fstream data(dir_ + "/data", std::ios::in | std::ios::out | std::ios::binary);
    const std::string tail(kSize - kStoredUnit, 't');
    for (const PageId id : ids) {
      data.seekp(static_cast<std::streamoff>(uint64_t{id} * kSize + kStoredUnit));
      data.write(tail.data(), static_cast<std::streamsize>(tail.size()));
    }
  }
  EXPECT_GT(OpenPages()->data_bytes(), holes + 2 * kStoredUnit);
  EXPECT_EQ(OpenPages()->RestoreTorn(), 0u) << "the pages themselves are whole";
  auto file = OpenPages();
  EXPECT_LE(file->data_bytes(), holes + kStoredUnit);
  for (const PageId id : ids) EXPECT_EQ(ContentOf(file.get(), id), 'b');
}

// The disk is full in the middle of a batch, and the batch is put in place when there is room.
TEST_F(CompressedFileTest, ABatchThatAFullDiskCutOffLeavesNoTails) {
  const std::vector<PageId> ids = {1, 3, 5, 8};
  auto file = OpenPages();
  file->Grow(16);
  Write(file.get(), ids, 'a', 100);
  const uint64_t full = file->data_bytes();
  const auto cut_off = [&](char content, int noise_pct) {
    FailingDisk disk(dir_);
    disk.Fail({DiskCall::kWrite, 2, ENOSPC});  // writes: the copies, page 1, page 3
    EXPECT_THROW(Write(file.get(), ids, content, noise_pct), Error);
    EXPECT_EQ(disk.failed(), 1u);
  };
  Write(file.get(), ids, 'b', 0);
  const uint64_t holes = file->data_bytes();
  if (holes >= full) GTEST_SKIP() << "the file system makes no holes";
  // The pages become longer by the batch that is put in place, and shorter by the next one.
  cut_off('c', 100);
  file->Retry();
  Write(file.get(), ids, 'd', 0);
  EXPECT_LE(file->data_bytes(), holes + kStoredUnit);
  cut_off('e', 100);
  file->Retry();
  for (const PageId id : ids) EXPECT_EQ(ContentOf(file.get(), id), 'e');
  // The pages become shorter by the batch that is put in place.
  cut_off('f', 0);
  file->Retry();
  EXPECT_LE(file->data_bytes(), holes + kStoredUnit);
  for (const PageId id : ids) EXPECT_EQ(ContentOf(file.get(), id), 'f');
}

TEST_F(CompressedFileTest, ATornPageIsPutBackFromTheDoublewriteFile) {
  const std::vector<PageId> ids = {1, 2, 3, 7};
  // The compressed pages become longer, shorter, or keep their length.
  const std::pair<int, int> noises[] = {{0, 60}, {60, 12}, {40, 41}, {100, 30}, {30, 100}};
  for (const auto& [before, after] : noises) {
    SCOPED_TRACE(std::to_string(before) + " to " + std::to_string(after));
    std::filesystem::remove(dir_ + "/data");
    Write(OpenPages().get(), ids, 'a', before);
    std::string old_data = Bytes("data");
    Write(OpenPages().get(), ids, 'b', after);
    std::string new_data = Bytes("data");
    const size_t size = std::max(old_data.size(), new_data.size());
    old_data.resize(size);
    new_data.resize(size);
    uint32_t restored = 0;
    for (size_t cut = 0; cut <= size; cut += 512) {
      SetBytes("data", new_data.substr(0, cut) + old_data.substr(cut));
      auto file = OpenPages();
      restored += file->RestoreTorn();
      for (const PageId id : ids) {
        const char content = ContentOf(file.get(), id);
        // When the cut lies in bytes that the old and the new page share, either may be restored.
        ASSERT_TRUE(content == 'a' || content == 'b') << "page " << id << " cut " << cut;
        if (cut >= (id + 1) * kSize) {
          ASSERT_EQ(content, 'b') << "page " << id << " cut " << cut;
        }
        if (cut <= id * kSize) {
          ASSERT_EQ(content, 'a') << "page " << id << " cut " << cut;
        }
      }
      EXPECT_EQ(file->RestoreTorn(), 0u);
    }
    EXPECT_GT(restored, 10u);
  }
}

TEST_F(CompressedFileTest, TheCacheHasWhatTheFileHas) {
  auto file = OpenPages(PageCodec::kZstd, 1 << 20);
  AlignedBuffer page(kSize);
  Write(file.get(), {1, 2}, 'a', 10);
  EXPECT_FALSE(file->ReadCached(1, page.data())) << "what is only written is not kept";
  EXPECT_EQ(ContentOf(file.get(), 1), 'a');
  ASSERT_TRUE(file->ReadCached(1, page.data()));
  EXPECT_EQ(page.data()[kSize - 1], 'a');
  EXPECT_EQ(InspectPage(page.data(), kSize, 1), PageState::kBroken) << "expanded, not stamped";
  Write(file.get(), {1}, 'b', 12);
  ASSERT_TRUE(file->ReadCached(1, page.data()));
  EXPECT_EQ(page.data()[kSize - 1], 'b');
  Write(file.get(), {1}, 'c', 100);  // a page that does not compress leaves the cache
  EXPECT_FALSE(file->ReadCached(1, page.data()));
  EXPECT_FALSE(file->ReadCached(2, page.data()));
}

TEST(CompressedCacheTest, GivesBackWhatWasPutLastOrNothing) {
  std::mt19937_64 random(3);
  CompressedCache cache(300 << 10);
  std::map<PageId, std::string> put;
  std::string got(1 << 14, '\0');
  uint64_t hits = 0;
  for (int step = 0; step < 200000; ++step) {
    const auto id = static_cast<PageId>(1 + random() % 400);
    switch (random() % 10) {
      case 0:
        cache.Erase(id);
        put.erase(id);
        break;
      case 1:
      case 2:
        put[id] = std::string(1 + random() % 9000, static_cast<char>('a' + random() % 26));
        cache.Put(id, put[id]);
        break;
      case 3:
        // Replace changes a cached page, and must not add a page that is not cached.
        if (put.count(id) > 0) put[id] = std::string(1 + random() % 3000, 'R');
        cache.Replace(id, put.count(id) > 0 ? put[id] : "never put");
        break;
      case 4:
        if (step % 50 == 0) cache.Resize((100 + random() % 400) << 10);
        break;
      default:
        if (cache.Get(id, got.data())) {
          ++hits;
          const auto at = put.find(id);
          ASSERT_NE(at, put.end()) << "page " << id << " step " << step;
          ASSERT_EQ(got.compare(0, at->second.size(), at->second), 0) << "page " << id;
        }
    }
    if (step % 1000 == 0) {
      const CompressedCache::Counters now = cache.Count();
      ASSERT_LE(now.bytes, now.budget);
    }
  }
  EXPECT_GT(hits, 10000u);
  EXPECT_EQ(cache.Count().hits, hits);
}

TEST(CompressedCacheTest, KeepsAsMuchAsFitsAndWhatIsAskedFor) {
  CompressedCache cache(8 << 20);
  const std::string page(4000, 'p');
  std::string got(4096, '\0');
  const uint32_t fit = (8 << 20) / 4016;
  // Page 1 is read all the time, while each other page is put once and never read.
  cache.Put(1, page);
  for (PageId id = 8; id < 8 * 3 * fit; id += 8) {
    cache.Put(id + 1, page);  // all these pages fall into the same eighth of the cache
    ASSERT_TRUE(cache.Get(1, got.data())) << id;
  }
  for (PageId id = 1000000; id < 1000000 + 2 * fit; ++id) cache.Put(id, page);
  const CompressedCache::Counters now = cache.Count();
  EXPECT_GT(now.bytes, now.budget * 9 / 10);
  EXPECT_LE(now.bytes, now.budget);
  EXPECT_TRUE(cache.Get(1000000 + 2 * fit - 1, got.data()));
  cache.Resize(0);
  EXPECT_EQ(cache.Count().pages, 0u);
  cache.Put(1, page);
  EXPECT_FALSE(cache.Get(1, got.data()));
}

TEST(CompressedCacheTest, AResizeWithoutMemoryLeavesItOfUse) {
  CompressedCache cache(1 << 20);
  const std::string page(3000, 'p');
  std::string got(4096, '\0');
  int failed = 0;
  for (int round = 0; round < 40; ++round) {
    for (PageId id = 0; id < 100; ++id) cache.Put(id, page);
    FailingNew::Set(round);
    try {
      cache.Resize(round % 2 == 0 ? 2 << 20 : 1 << 20);
    } catch (const std::bad_alloc&) {
    }
    if (FailingNew::Clear()) ++failed;
    cache.Put(1, page);
    EXPECT_TRUE(cache.Get(1, got.data())) << round;
  }
  EXPECT_GT(failed, 8);
}

TEST(CompressedCacheTest, CountsTheMemoryThatItHasTouched) {
  CompressedCache cache(8 << 20);
  EXPECT_EQ(cache.Count().memory, 0u);
  const std::string page(4000, 'p');
  for (PageId id = 0; id < 100; ++id) cache.Put(id, page);
  EXPECT_GE(cache.Count().memory, 100 * page.size());
  EXPECT_LE(cache.Count().memory, 100 * (page.size() + 100));
  for (PageId id = 0; id < 10000; ++id) cache.Put(id, page);
  const CompressedCache::Counters full = cache.Count();
  EXPECT_GT(full.memory, full.budget * 9 / 10);
  EXPECT_LE(full.memory, full.budget);
}

TEST(CompressedCacheTest, TheEngineReportsItsBudgetAndWhatItHolds) {
  std::string dir = std::filesystem::current_path() / "compressed_cache_XXXXXX";
  ASSERT_NE(mkdtemp(dir.data()), nullptr);
  EngineOptions options;
  options.page_size = 8192;
  options.cache_bytes = 12345678;
  options.compression = "lz4";
  options.extra = {{"compressed_cache_pct", "70"}};
  {
    const std::unique_ptr<Engine> engine = OpenBtree(dir, options);
    const auto settings = engine->EffectiveSettings();
    const std::map<std::string, std::string> by_name(settings.begin(), settings.end());
    EXPECT_EQ(by_name.at("cache_bytes"), "12345678");
    const uint64_t held = *engine->Counters().cache_bytes;
    EXPECT_EQ(by_name.at("cache_held_bytes"), std::to_string(held));
    EXPECT_LT(held, options.cache_bytes * 7 / 10) << "the cache of compressed pages is empty";
  }
  std::filesystem::remove_all(dir);
}

class CompressedStoreTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    options_.page_size = 8192;
    options_.cache_bytes = 400 << 10;
    options_.compression = PageCodec::kLz4;
    options_.compressed_cache_pct = 30;
  }
};

TEST_F(CompressedStoreTest, GrowsAndShrinksAsTheModelDoesWhateverTheCodec) {
  Model model;
  const PageCodec codecs[] = {PageCodec::kLz4, PageCodec::kZstd, PageCodec::kNone};
  for (int round = 0; round < 9; ++round) {
    SCOPED_TRACE(round);
    options_.compression = codecs[round % 3];
    options_.compressed_cache_pct = round % 3 == 2 ? 0 : 30;
    Open();
    Tree* tree = store_->OpenTable("t");
    {
      StoreClient client(store_.get());
      for (int i = 0; i < 300; ++i) {
        RandomCommit(&client, tree, &model, 1 + random_() % 8, round < 5 ? 1 : 7);
      }
    }
    ExpectRows(tree, model);
    store_->Checkpoint();
    ExpectSound();
    ExpectRows(tree, model);
  }
  store_.reset();
  EXPECT_TRUE(InspectDatabase(dir_, {}).faults.count == 0);
}

TEST_F(CompressedStoreTest, RecoversFromACrashWithEachProtection) {
  for (const TornPage way : {TornPage::kDoublewrite, TornPage::kFullPageImage, TornPage::kNone}) {
    SCOPED_TRACE(TornPageName(way));
    std::filesystem::remove_all(dir_);
    options_.torn_page = way;
    options_.checkpoint_log_bytes = 1 << 20;
    Model model;
    for (int round = 0; round < 4; ++round) {
      const auto seed = random_();
      const Model start = model;
      random_.seed(seed);
      RunAndCrash([&] {
        Tree* tree = store_->OpenTable("t");
        StoreClient client(store_.get());
        Model same = start;
        for (int i = 0; i < 200; ++i) RandomCommit(&client, tree, &same, 1 + random_() % 10, 3);
        store_->Flush();
      });
      random_.seed(seed);
      for (int i = 0; i < 200; ++i) {
        RandomCommit(nullptr, nullptr, &model, 1 + random_() % 10, 3);
      }
      Open();
      ExpectSound();
      ExpectRows(store_->OpenTable("t"), model);
    }
  }
}

TEST_F(CompressedStoreTest, ThreadsReadAndWriteInATinyPool) {
  options_.checkpoint_log_bytes = 1 << 20;
  Open();
  Tree* tree = store_->OpenTable("t");
  constexpr int kKeys = 3000;
  const auto key_of = [](int i) { return "key" + std::to_string(100000 + i); };
  {
    StoreClient client(store_.get());
    for (int i = 0; i < kKeys; ++i) {
      const std::string key = key_of(i), value = std::string(600, 'v') + "0";
      const RowWrite op{false, tree->table(), key, value};
      client.Commit({&op, 1});
    }
  }
  // Each thread changes rows of its own and reads them back. Row sizes vary, so that the compressed
  // lengths of pages do.
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      StoreClient client(store_.get());
      std::mt19937_64 random(static_cast<uint64_t>(t));
      std::map<int, std::string> mine;
      std::string value;
      for (int i = 0; i < 3000; ++i) {
        const int row = static_cast<int>(random() % (kKeys / 4)) * 4 + t;
        const std::string key = key_of(row);
        if (random() % 3 == 0) {
          mine[row] = std::string(random() % 1500, static_cast<char>('a' + random() % 26));
          const RowWrite op{false, tree->table(), key, mine[row]};
          client.Commit({&op, 1});
        } else if (!client.Get(tree, key, &value) || (mine.count(row) > 0 && value != mine[row])) {
          ++wrong;
        }
        if (t == 0 && i % 500 == 250) store_->ResizeCache((300 + random() % 400) << 10);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
  const CompressedCache::Counters cache = store_->file()->compressed_cache()->Count();
  EXPECT_GT(cache.hits, 100u);
  ExpectSound();
}

TEST_F(CompressedStoreTest, RefusesWhatItCannotDo) {
  const auto refused = [&](const StoreOptions& options, const std::string& says) {
    try {
      Store::Open(dir_, options);
      ADD_FAILURE() << "not refused: " << says;
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::kUsage);
      EXPECT_NE(std::string(e.what()).find(says), std::string::npos) << e.what();
    }
  };
  StoreOptions other = options_;
  other.io = IoMode::kMmap;
  refused(other, "--io mmap");
  other = options_;
  other.page_size = 4096;
  refused(other, "4096");
  EXPECT_TRUE(std::filesystem::is_empty(dir_)) << "nothing was made";
  Open();
  store_.reset();
  other = options_;
  other.compression = PageCodec::kNone;
  other.compressed_cache_pct = 0;
  other.io = IoMode::kMmap;
  refused(other, "may have compressed pages");
  std::filesystem::remove_all(dir_);
  options_.compression = PageCodec::kNone;
  options_.compressed_cache_pct = 0;
  Open();
  store_.reset();
  options_.compression = PageCodec::kLz4;
  refused(options_, "made without compression");
}

}  // namespace
}  // namespace testbed::btree
