// Tests basements, node images, and the places of blocks.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "engines/fractal/cache/block_table.h"
#include "engines/fractal/node/node_image.h"

namespace testbed::fractal {
namespace {

BasementRef MakeBasement(int from, int rows) {
  BasementBuilder builder(64 << 10);
  for (int i = from; i < from + rows; ++i) {
    std::string key = std::to_string(100000 + i);
    builder.Add(key, std::string(static_cast<size_t>(i % 50), 'v') + key);
  }
  return builder.Finish();
}

TEST(FractalBasementTest, FindsItsRowsAndNothingElse) {
  const BasementRef rows = MakeBasement(0, 300);
  std::string why;
  EXPECT_TRUE(Basement::Validate(rows->bytes(), &why)) << why;
  bool equal;
  for (uint32_t i = 0; i < 300; ++i) {
    EXPECT_EQ(rows->LowerBound(rows->key(i), &equal), i);
    EXPECT_TRUE(equal);
    EXPECT_EQ(rows->LowerBound(std::string(rows->key(i)) + "x", &equal), i + 1);
    EXPECT_FALSE(equal);
  }
  EXPECT_EQ(rows->LowerBound("", &equal), 0u);
}

TEST(FractalBasementTest, IsNoLongerThanAPageUnlessARowIs) {
  BasementBuilder builder(4096);
  const std::string value(100, 'v');
  while (builder.Fits("key", value)) builder.Add("key", value);
  EXPECT_LE(builder.size(), 4096u);
  EXPECT_GT(builder.size(), 4096u - 120);
  const size_t size = builder.size();
  EXPECT_EQ(builder.Finish()->bytes().size(), size);
  EXPECT_TRUE(builder.Fits("key", std::string(10000, 'v')));
}

TEST(FractalBasementTest, ValidateRefusesWhatIsNoBasement) {
  const std::string good = MakeBasement(0, 30)->bytes();
  std::string why;
  for (size_t n = 0; n < good.size(); ++n) {
    EXPECT_FALSE(Basement::Validate(std::string_view(good).substr(0, n), &why)) << n;
  }
  std::mt19937_64 random(301);
  for (int i = 0; i < 20000; ++i) {
    std::string bad = good;
    bad[random() % bad.size()] = static_cast<char>(random());
    if (!Basement::Validate(bad, &why)) continue;
    const Basement rows(bad);
    bool equal;
    for (uint32_t row = 0; row < rows.count(); ++row) rows.LowerBound(rows.value(row), &equal);
  }
}

class FractalImageTest : public testing::TestWithParam<bool> {
 protected:
  // Makes a leaf or an inner node of three parts.
  static void Fill(Node* node, bool leaf) {
    node->height = leaf ? 0 : 2;
    node->max_number = 77;
    node->pivots = {"100100", "100200"};
    node->parts.resize(3);
    for (int p = 0; p < 3; ++p) {
      Part& part = node->parts[p];
      if (leaf) {
        part.rows = MakeBasement(100 * p, 100);
        continue;
      }
      part.child = static_cast<BlockId>(p + 10);
      part.buffer = std::make_unique<MessageBuffer>();
      for (int i = 0; i < 50; ++i) {
        part.buffer->Add({77, i % 3 == 0, std::to_string(100000 + 100 * p + i), "value"});
      }
    }
  }
};

TEST_P(FractalImageTest, ComesBackAsItWasInEveryCodec) {
  Node node(42);
  Fill(&node, GetParam());
  for (const Codec codec : {Codec::kNone, Codec::kLz4, Codec::kZlib, Codec::kZstd}) {
    const NodeImage image = MakeImage(TakeSnapshot(node), codec);
    EXPECT_EQ(image.extent % kExtentUnit, 0u);
    Node again(42);
    std::string why;
    const std::string_view header(image.bytes.data(), image.header_bytes);
    ASSERT_TRUE(ParseHeader(header, image.extent, &again, &why)) << why;
    EXPECT_EQ(ChecksumOf(header), image.header_checksum);
    EXPECT_EQ(again.height, node.height);
    EXPECT_EQ(again.max_number, 77u);
    EXPECT_EQ(again.pivots, node.pivots);
    for (size_t p = 0; p < 3; ++p) {
      Part& part = again.parts[p];
      EXPECT_EQ(part.child, node.parts[p].child);
      EXPECT_EQ(part.place.codec, codec);
      const std::string_view stored(image.bytes.data() + part.place.start, part.place.stored);
      ASSERT_TRUE(ParsePart(stored, part.place, 42, again.leaf(), &part, &why)) << why;
      if (again.leaf()) {
        EXPECT_EQ(part.rows->bytes(), node.parts[p].rows->bytes());
      } else {
        EXPECT_EQ(part.buffer->Serialize(), node.parts[p].buffer->Serialize());
      }
    }
    Node other(43);
    EXPECT_FALSE(ParseHeader(header, image.extent, &other, &why)) << "another block's";
  }
}

// Even with a matching checksum the parts may not lie one behind the other, as reads of several
// parts require.
TEST_P(FractalImageTest, PartsThatAreNotOneBehindTheOtherAreRefused) {
  constexpr size_t kPlacesAt = 40, kPlaceSize = 21;
  Node node(42);
  Fill(&node, GetParam());
  const NodeImage image = MakeImage(TakeSnapshot(node), Codec::kNone);
  std::string header(image.bytes.data(), image.header_bytes);
  const std::string first = header.substr(kPlacesAt, kPlaceSize);
  header.replace(kPlacesAt, kPlaceSize, header, kPlacesAt + kPlaceSize, kPlaceSize);
  header.replace(kPlacesAt + kPlaceSize, kPlaceSize, first);
  const uint64_t checksum = Checksum(std::string_view(header).substr(sizeof(uint64_t)), 42);
  header.replace(0, sizeof checksum, reinterpret_cast<const char*>(&checksum), sizeof checksum);
  Node again(42);
  std::string why;
  EXPECT_FALSE(ParseHeader(header, image.extent, &again, &why));
  EXPECT_EQ(why, "its parts are not one behind the other");
}

TEST_P(FractalImageTest, EveryChangedByteOfItIsFound) {
  Node node(42);
  Fill(&node, GetParam());
  const NodeImage image = MakeImage(TakeSnapshot(node), Codec::kLz4);
  const PartPlace& last = image.places.back();
  for (size_t at = 0; at < last.start + last.stored; ++at) {
    std::string bytes(image.bytes.data(), image.extent);
    bytes[at] = static_cast<char>(bytes[at] ^ 0x20);
    Node again(42);
    std::string why;
    bool sound = ParseHeader(std::string_view(bytes).substr(0, image.header_bytes), image.extent,
                             &again, &why);
    for (size_t p = 0; sound && p < 3; ++p) {
      Part& part = again.parts[p];
      sound = ParsePart(std::string_view(bytes).substr(part.place.start, part.place.stored),
                        part.place, 42, again.leaf(), &part, &why);
    }
    EXPECT_FALSE(sound) << at;
  }
}

INSTANTIATE_TEST_SUITE_P(LeafAndInner, FractalImageTest, testing::Bool());

TEST(FractalFreeSpaceTest, NeverGivesTheSameByteTwiceAndJoinsWhatComesBack) {
  std::mt19937_64 random(301);
  FreeSpace space(8192);
  std::map<uint64_t, uint64_t> used;
  for (int i = 0; i < 20000; ++i) {
    if (random() % 2 == 0 || used.empty()) {
      const uint64_t bytes = (1 + random() % 20) * 4096, offset = space.Allocate(bytes);
      const auto next = used.lower_bound(offset);
      ASSERT_TRUE(next == used.end() || offset + bytes <= next->first);
      ASSERT_TRUE(next == used.begin() ||
                  std::prev(next)->first + std::prev(next)->second <= offset);
      ASSERT_GE(offset, 8192u);
      used[offset] = bytes;
    } else {
      auto at = used.lower_bound(random() % space.end());
      if (at == used.end()) at = used.begin();
      space.Free(at->first, at->second);
      used.erase(at);
    }
  }
  for (const auto& [offset, bytes] : used) space.Free(offset, bytes);
  EXPECT_EQ(space.free_bytes(), 0u);
  EXPECT_EQ(space.end(), 8192u);
}

// The space of blocks of the last checkpoint must not be reused before the next checkpoint has
// ended, because a crash returns to them.
TEST(FractalBlockTableTest, KeepsWhatACrashReturnsTo) {
  std::mt19937_64 random(301);
  BlockTable table(8192);
  std::map<BlockId, BlockPlace> durable;
  const auto write = [&](BlockId block, bool current, bool in_progress) {
    BlockPlace place;
    place.bytes = static_cast<uint32_t>((1 + random() % 8) * 4096);
    place.offset = table.Allocate(place.bytes);
    for (const auto& [other, kept] : durable) {
      ASSERT_TRUE(place.offset + place.bytes <= kept.offset ||
                  kept.offset + kept.bytes <= place.offset)
          << "block " << block << " over block " << other;
    }
    table.Set(block, place, current, in_progress);
  };
  for (int round = 0; round < 200; ++round) {
    for (int i = 0; i < 20; ++i) {
      ASSERT_NO_FATAL_FAILURE(write(1 + random() % 30, true, false));
      if (i % 7 == 0) table.Remove(1 + random() % 30);
    }
    table.BeginCheckpoint();
    for (int i = 0; i < 5; ++i) ASSERT_NO_FATAL_FAILURE(write(1 + random() % 30, false, true));
    for (int i = 0; i < 5; ++i) ASSERT_NO_FATAL_FAILURE(write(1 + random() % 30, true, false));
    if (round % 5 == 4) {
      table.AbortCheckpoint();
      continue;
    }
    const std::string bytes = table.SerializeInProgress();
    const uint64_t at = table.Allocate(4096);
    table.EndCheckpoint(at, 4096);
    durable.clear();
    for (size_t entry = 8; entry < bytes.size(); entry += 32) {
      BlockPlace place;
      place.offset = Load<uint64_t>(bytes.data() + entry + 8);
      place.bytes = Load<uint32_t>(bytes.data() + entry + 16);
      durable[Load<BlockId>(bytes.data() + entry)] = place;
    }
    durable[0] = {at, 4096, 0, 0};
    for (const auto& [block, place] : durable) {
      for (const auto& [other, kept] : durable) {
        ASSERT_TRUE(block == other || place.offset + place.bytes <= kept.offset ||
                    kept.offset + kept.bytes <= place.offset);
      }
    }
  }
}

}  // namespace
}  // namespace testbed::fractal
