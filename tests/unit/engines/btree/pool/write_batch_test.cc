// Tests batches of pages: packed and unpacked they must be unchanged, and the unused bytes of a
// node must be in no copy of it.
#include "engines/btree/pool/write_batch.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "engines/btree/page/node.h"

namespace testbed::btree {
namespace {

// Makes a leaf with this many rows, whose unused gap holds old bytes.
void MakeLeaf(char* page, uint32_t page_size, PageId id, int rows, std::mt19937_64* random) {
  std::memset(page, 0xee, page_size);
  Node node(page, page_size);
  node.Init(id, 3, PageType::kLeaf, 0, {}, {}, true);
  for (int i = 0; i < rows; ++i) {
    const std::string key = std::to_string((*random)()), value(20 + (*random)() % 80, 'v');
    bool found;
    const uint32_t at = node.LowerBound(key, &found);
    if (!node.InsertLeaf(at, key, {value, false})) break;
  }
  ASSERT_EQ(node.Validate(), "");
  Header(page)->lsn = 1000 + id;
  std::memset(page + Node::SlotAt(node.count()), 0xdd,
              node.header()->heap - Node::SlotAt(node.count()));
}

// Adds leaves from empty to full, a free page, and a page of arbitrary bytes.
void Fill(WriteBatch* batch, uint32_t page_size, std::mt19937_64* random) {
  AlignedBuffer page(page_size);
  PageId id = 1;
  for (const int rows : {0, 1, 5, 20, 60, 10000}) {
    ASSERT_NO_FATAL_FAILURE(MakeLeaf(page.data(), page_size, id, rows, random));
    batch->Add(page.data());
    id += 1 + id % 2;
  }
  for (const PageType type : {PageType::kOverflow, PageType::kFree}) {
    for (uint32_t i = 0; i < page_size; ++i) page.data()[i] = static_cast<char>((*random)());
    Header(page.data())->id = id;
    Header(page.data())->type = type;
    batch->Add(page.data());
    ++id;
  }
}

std::vector<std::string> Pages(const WriteBatch& batch) {
  std::vector<std::string> pages;
  for (uint32_t i = 0; i < batch.count(); ++i) {
    pages.emplace_back(batch.page(i), batch.stored_bytes(i));
  }
  return pages;
}

TEST(WriteBatchTest, PackedAndLaidOutAgainItIsWhatItWas) {
  std::mt19937_64 random(7);
  for (const PageCodec codec : {PageCodec::kNone, PageCodec::kLz4, PageCodec::kZstd}) {
    for (uint32_t size = kMinPageSize; size <= kMaxPageSize; size *= 2) {
      SCOPED_TRACE(std::string(PageCodecName(codec)) + " " + std::to_string(size));
      WriteBatch batch(size, 16);
      ASSERT_NO_FATAL_FAILURE(Fill(&batch, size, &random));
      if (codec != PageCodec::kNone) batch.Compress(codec);
      const std::vector<std::string> before = Pages(batch);
      const size_t bytes = batch.Pack();
      EXPECT_EQ(bytes % 4096, 0u);
      // Each page must follow from the packed form alone.
      size_t at = WriteBatch::kHeaderBytes;
      AlignedBuffer page(size);
      for (uint32_t i = 0; i < batch.count(); ++i) {
        const PackedPage packed = batch.packed(i);
        std::memcpy(page.data(), batch.header() + at, packed.bytes());
        at += packed.bytes();
        UnpackPage(packed, page.data(), size);
        EXPECT_EQ(InspectPage(page.data(), size, batch.id(i)), PageState::kValid) << i;
        EXPECT_EQ(std::memcmp(page.data(), before[i].data(), before[i].size()), 0) << i;
      }
      ASSERT_LE(at, bytes);
      EXPECT_LT(bytes - at, 4096u);
      for (; at < bytes; ++at) EXPECT_EQ(batch.header()[at], 0);
      batch.LayOut();
      EXPECT_EQ(Pages(batch), before);
    }
  }
}

TEST(WriteBatchTest, WhatANodeDoesNotUseIsInNoCopy) {
  constexpr uint32_t kSize = 8192;
  std::mt19937_64 random(8);
  AlignedBuffer page(kSize);
  ASSERT_NO_FATAL_FAILURE(MakeLeaf(page.data(), kSize, 4, 30, &random));
  const Node node(page.data(), kSize);
  const uint32_t gap = Node::SlotAt(node.count()), heap = node.header()->heap;
  ASSERT_GT(heap - gap, 1000u);
  WriteBatch batch(kSize, 1);
  batch.Add(page.data());
  EXPECT_EQ(std::string(batch.page(0) + gap, heap - gap), std::string(heap - gap, '\0'));
  EXPECT_EQ(std::memcmp(batch.page(0) + 8, page.data() + 8, gap - 8), 0);
  EXPECT_EQ(std::memcmp(batch.page(0) + heap, page.data() + heap, kSize - heap), 0);
  batch.Pack();
  EXPECT_EQ(batch.packed(0).bytes(), kSize - (heap - gap));
}

}  // namespace
}  // namespace testbed::btree
