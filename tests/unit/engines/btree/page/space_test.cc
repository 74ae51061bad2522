// Tests the space map against a model, and the promise that a commit never runs out of pages.
#include "engines/btree/page/space.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <random>
#include <set>
#include <vector>

#include "device/error.h"
#include "tests/unit/engines/failing_new.h"

namespace testbed::btree {
namespace {

TEST(SpaceTest, RefusesMorePagesThanAFileMayHave) {
  Space space(4096, [](uint32_t) {});
  EXPECT_THROW(space.Reserve(kMaxPages), Error);
  EXPECT_THROW(space.Promise(kMaxPages), Error);
  EXPECT_EQ(space.used_pages(), 1u);
  EXPECT_EQ(space.Reserve(1), 1u);
}

TEST(SpaceTest, GivesNoPageTwice) {
  uint32_t length = 0;
  Space space(4096, [&](uint32_t pages) { length = pages; });
  std::mt19937 random(1);
  std::set<PageId> taken;
  std::vector<PageRun> reserved, used;
  for (int i = 0; i < 20000; ++i) {
    switch (random() % 5) {
      case 0:
      case 1: {
        const uint32_t n = random() % 4 == 0 ? 1 + random() % 200 : 1;
        const PageId first = space.Reserve(n);
        ASSERT_GE(first, 1u);
        ASSERT_LE(first + n, length);
        for (PageId page = first; page < first + n; ++page) {
          ASSERT_TRUE(taken.insert(page).second) << page << " was given twice";
          ASSERT_FALSE(space.IsUsed(page)) << "reserved is not used";
        }
        reserved.push_back({first, n});
        break;
      }
      case 2:
        if (reserved.empty()) break;
        space.MarkUsed(reserved.back().first, reserved.back().pages);
        used.push_back(reserved.back());
        reserved.pop_back();
        break;
      case 3:
        if (reserved.empty()) break;
        space.Cancel(reserved.back().first, reserved.back().pages);
        for (uint32_t p = 0; p < reserved.back().pages; ++p) taken.erase(reserved.back().first + p);
        reserved.pop_back();
        break;
      case 4: {
        if (used.empty()) break;
        std::swap(used[random() % used.size()], used.back());
        space.MarkFree(used.back().first, used.back().pages);
        for (uint32_t p = 0; p < used.back().pages; ++p) taken.erase(used.back().first + p);
        used.pop_back();
        break;
      }
    }
  }
  uint32_t count = 1;  // the superblock
  for (const PageRun& run : used) {
    count += run.pages;
    EXPECT_TRUE(space.IsUsed(run.first));
  }
  EXPECT_EQ(space.used_pages(), count);

  // A snapshot must have the used pages, and not those that are only reserved.
  Space restored(4096, [](uint32_t) {});
  restored.Restore(space.Snapshot());
  EXPECT_EQ(restored.used_pages(), count);
  for (const PageRun& run : used) EXPECT_TRUE(restored.IsUsed(run.first));
  for (const PageRun& run : reserved) EXPECT_FALSE(restored.IsUsed(run.first));
}

TEST(SpaceTest, FreedPagesAreUsedAgainBeforeTheFileGrows) {
  uint32_t length = 0;
  Space space(4096, [&](uint32_t pages) { length = pages; });
  std::vector<PageId> pages;
  for (int i = 0; i < 5000; ++i) {
    pages.push_back(space.Reserve(1));
    space.MarkUsed(pages.back(), 1);
  }
  const uint32_t before = length;
  std::mt19937 random(2);
  for (int i = 0; i < 20000; ++i) {
    PageId& page = pages[random() % pages.size()];
    space.MarkFree(page, 1);
    page = space.Reserve(1);
    space.MarkUsed(page, 1);
  }
  EXPECT_EQ(length, before);
}

TEST(SpaceTest, WhatWasPromisedIsThereOnAFullDisk) {
  bool full = false;
  Space space(4096, [&](uint32_t) {
    if (full) throw Error(Error::kIo, "full");
  });
  space.Promise(1000);
  full = true;
  for (int i = 0; i < 1000; ++i) space.MarkUsed(space.Reserve(1), 1);
  space.Unpromise(1000);
  EXPECT_THROW(space.Promise(1 << 20), Error);
  // The failed promise must not count.
  full = false;
  space.Promise(1);
  space.Unpromise(1);
}

// A commit that finds no memory for the map of a longer file fails, and the store stays in service.
// Pages without bits in the map must not be given out then.
TEST(SpaceTest, APromiseThatFindsNoMemoryLeavesTheLength) {
  constexpr uint64_t kPages = 1 << 20;
  Space space(4096, [](uint32_t) {});
  int refused = 0;
  for (;; ++refused) {
    const uint32_t before = space.file_pages();
    FailingNew::Set(refused);
    bool done = true;
    try {
      space.Promise(kPages);
    } catch (const std::bad_alloc&) {
      done = false;
    }
    FailingNew::Clear();
    if (done) break;
    ASSERT_EQ(space.file_pages(), before);
    const PageId page = space.Reserve(1);
    ASSERT_LT(page, space.file_pages());
    space.Cancel(page, 1);
  }
  EXPECT_GE(refused, 2) << "for the used and for the reserved pages";
  EXPECT_GE(space.file_pages(), kPages);
  const PageId run = space.Reserve(kPages);
  space.MarkUsed(run, kPages);
  EXPECT_EQ(space.used_pages(), kPages + 1);
}

// The promise for a commit is bounded twice: by the number of its rows, and by the pages that exist
// or that its bytes fill. Many small rows into few pages meet the second bound.
TEST(SpaceTest, ACommitIsPromisedNoMoreThanItsRowsAndThePagesCanNeed) {
  Space space(65536, [](uint32_t) {});
  space.MarkUsed(space.Reserve(100), 100);
  EXPECT_EQ(space.PromiseForSplits({3, 300}), 2u * 3 + 8) << "two pages for each row, and the root";
  space.Unpromise(2 * 3 + 8);
  const uint64_t many = space.PromiseForSplits({20000, 20000 * 420});
  EXPECT_LT(many, 5000u) << "and not two for each of 20,000 rows, which are 2.6 GB";
  EXPECT_GT(many, 10 * 20000 * 420 / 65536u);
  space.Unpromise(many);
  uint32_t cut = 0;
  Space file(4096, [](uint32_t) {}, [&](uint32_t) { ++cut; });
  file.Promise(10000);
  file.Unpromise(10000);
  EXPECT_EQ(cut, 0u) << "no commit waits until the file is shorter";
  file.GiveBack();
  EXPECT_EQ(cut, 1u);
  file.Promise(100000);
  file.Unpromise(100000);
  EXPECT_EQ(cut, 2u) << "but for 400 MB in an empty database";
}

// The rows of a commit may lie under different nodes of each level, all of which are full. Trees of
// up to three levels are most of them, and a commit to them must not be refused earlier.
TEST(SpaceTest, ACommitIsPromisedAPageForEachRowAndLevelBelowTheRoot) {
  constexpr uint64_t kWrites = 1000;
  Space space(8192, [](uint32_t) {});
  space.MarkUsed(space.Reserve(100'000), 100'000);
  const auto promised = [&](uint32_t trees, uint32_t levels) {
    const uint64_t pages = space.PromiseForSplits({kWrites, kWrites * 100, trees, levels});
    space.Unpromise(pages);
    return pages;
  };
  for (const uint32_t levels : {1, 2, 3}) EXPECT_EQ(promised(1, levels), 2 * kWrites + 8) << levels;
  for (const uint32_t levels : {4, 5, 9}) {
    EXPECT_EQ(promised(1, levels), (levels - 1) * kWrites + 8) << levels;
  }
  // A root of each tree may be split, for which it takes two pages.
  for (const uint32_t trees : {2, 20}) EXPECT_EQ(promised(trees, 3), 2 * kWrites + 2 * trees + 6);
}

// A snapshot with the promised pages would make the file longer at the next opening, on a disk that
// may have no space for it.
TEST(SpaceTest, ASnapshotEndsWithTheLastUsedPage) {
  Space space(4096, [](uint32_t) {});
  space.MarkUsed(space.Reserve(5), 5);
  space.Reserve(10);
  space.Promise(100000);
  EXPECT_GT(space.file_pages(), 100000u);
  SpaceSnapshot snapshot = space.Snapshot();
  EXPECT_EQ(snapshot.pages, 6u);
  EXPECT_EQ(snapshot.words.size(), 1u);
  // A snapshot with more pages, as earlier versions wrote it, must take no more space either.
  Extend(&snapshot, 100000);
  EXPECT_EQ(LengthInUse(snapshot), 6u);
  Space again(4096, [](uint32_t) {});
  again.Restore(snapshot);
  EXPECT_EQ(again.file_pages(), 6u);
  again.Restore(snapshot, 1000);
  EXPECT_EQ(again.file_pages(), 1000u);
  EXPECT_EQ(again.used_pages(), 6u);
}

// When the disk has no room for the usual step, the file must grow by what is needed. Another error
// must not be tried again.
TEST(SpaceTest, OnlyAFullDiskIsAskedForLess) {
  for (const int code : {ENOSPC, EIO}) {
    int calls = 0;
    Space space(4096, [&](uint32_t) {
      if (++calls == 1) throw Error::Io("allocate", "f", code);
    });
    if (code == ENOSPC) {
      space.Promise(10);
    } else {
      EXPECT_THROW(space.Promise(10), Error);
    }
    EXPECT_EQ(calls, code == ENOSPC ? 2 : 1);
  }
}

// A file system may keep the space that it found before the disk was full, and a longer file.
TEST(SpaceTest, AFullDiskLeavesTheFileAsLongAsItsPages) {
  constexpr uint32_t kRoom = 20;  // pages that the disk has space for
  uint32_t length = 1;
  Space space(
      4096,
      [&](uint32_t pages) {
        length = std::max(length, std::min(pages, kRoom));
        if (pages > kRoom) throw Error::Io("allocate", "f", ENOSPC);
      },
      [&](uint32_t pages) { length = pages; });
  space.Promise(10);
  EXPECT_EQ(space.file_pages(), 11u) << "the usual step has no space, and these pages have";
  EXPECT_EQ(length, 11u);
  EXPECT_THROW(space.Promise(10), Error);
  EXPECT_EQ(space.file_pages(), 11u);
  EXPECT_EQ(length, 11u);
}

}  // namespace
}  // namespace testbed::btree
