// Tests message buffers against a std::map.
#include "engines/fractal/node/message_buffer.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "device/error.h"

namespace testbed::fractal {
namespace {

using Model = std::map<std::string, std::pair<uint64_t, std::string>>;  // number and value

std::string RandomKey(std::mt19937_64* random) {
  std::string key((*random)() % 6, ' ');
  for (char& c : key)
    c = "\x00\x01"
        "ab\x80\xff"[(*random)() % 6];
  return key;
}

void Expect(const MessageBuffer& buffer, const Model& model) {
  const std::vector<Message> all = buffer.All();
  ASSERT_EQ(all.size(), model.size());
  size_t bytes = 0, i = 0;
  for (const auto& [key, message] : model) {
    ASSERT_EQ(all[i].key, key);
    ASSERT_EQ(all[i].number, message.first);
    ASSERT_EQ(all[i].value, message.second);
    bytes += kMessageOverhead + key.size() + message.second.size();
    ++i;
  }
  ASSERT_GE(buffer.bytes(), bytes);
}

TEST(FractalMessageBufferTest, KeepsTheNewestOfEachKeyInOrder) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::mt19937_64 random(seed);
    MessageBuffer buffer;
    Model model;
    uint64_t number = 0;
    for (int round = 0; round < 40; ++round) {
      if (random() % 3 == 0) {
        std::map<std::string, std::string> many;
        for (int i = 0; i < 50; ++i) many[RandomKey(&random)] = std::string(random() % 40, 'm');
        std::vector<Message> sorted;
        for (const auto& [key, value] : many) {
          sorted.push_back({++number, false, key, value});
          model[key] = {number, value};
        }
        buffer.AddSorted(sorted);
      } else {
        for (int i = 0; i < 100; ++i) {
          const std::string key = RandomKey(&random), value(random() % 40, 's');
          buffer.Add({++number, false, key, value});
          model[key] = {number, value};
        }
      }
      ASSERT_NO_FATAL_FAILURE(Expect(buffer, model));
      for (int i = 0; i < 50; ++i) {
        const std::string key = RandomKey(&random);
        const auto at = model.find(key);
        const auto found = buffer.Find(key);
        ASSERT_EQ(found.has_value(), at != model.end());
        if (found) {
          ASSERT_EQ(found->number, at->second.first);
        }
        const auto after = buffer.After(key, i % 2 == 0);
        const auto next = i % 2 == 0 ? model.upper_bound(key) : model.lower_bound(key);
        ASSERT_EQ(after.has_value(), next != model.end());
        if (after) {
          ASSERT_EQ(after->key, next->first);
        }
        const auto before = buffer.Before(key, i % 2 == 0);
        auto previous = i % 2 == 0 ? model.lower_bound(key) : model.upper_bound(key);
        ASSERT_EQ(before.has_value(), previous != model.begin());
        if (before) {
          ASSERT_EQ(before->key, std::prev(previous)->first);
        }
      }
      const std::string low = RandomKey(&random), high = low + RandomKey(&random);
      std::vector<Message> range;
      buffer.Range(low, high, &range);
      auto at = model.lower_bound(low);
      for (const Message& m : range) ASSERT_EQ(m.key, (at++)->first);
      ASSERT_EQ(at, model.lower_bound(high));
    }
    std::string why;
    MessageBuffer again;
    ASSERT_TRUE(again.Parse(buffer.Serialize(), &why)) << why;
    ASSERT_NO_FATAL_FAILURE(Expect(again, model));
  }
}

TEST(FractalMessageBufferTest, WritingOneRowAgainAndAgainTakesNoMoreMemory) {
  MessageBuffer buffer;
  for (uint64_t i = 0; i < 100000; ++i) {
    buffer.Add({i, i % 7 == 0, "key", std::string(i % 90, 'x')});
  }
  EXPECT_EQ(buffer.All().size(), 1u);
  EXPECT_LT(buffer.memory(), 64u << 10);
}

// The values are bytes that must not be read, so a buffer that took them would crash the test.
TEST(FractalMessageBufferTest, WhatWouldNeedLongerPlacesIsRefusedAndChangesNothing) {
  constexpr size_t kBytes = UINT32_MAX;
  void* const at =
      ::mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(at, MAP_FAILED);
  const std::string_view whole(static_cast<const char*>(at), kBytes);
  const std::string_view half = whole.substr(0, kBytes / 2);
  MessageBuffer buffer;
  buffer.Add({1, false, "a", "value"});
  const size_t bytes = buffer.bytes();
  EXPECT_THROW(buffer.Add({2, false, "a", whole}), Error);
  EXPECT_THROW(buffer.Add({2, false, "b", whole}), Error);
  EXPECT_THROW(buffer.AddSorted({{2, false, "a", half}, {3, false, "b", half}}), Error);
  EXPECT_EQ(buffer.bytes(), bytes);
  ASSERT_NO_FATAL_FAILURE(Expect(buffer, {{"a", {1, "value"}}}));
  buffer.Add({2, false, "b", "value"});
  ASSERT_NO_FATAL_FAILURE(Expect(buffer, {{"a", {1, "value"}}, {"b", {2, "value"}}}));
  ::munmap(at, kBytes);
}

TEST(FractalMessageBufferTest, ParseRefusesWhatIsNoBuffer) {
  MessageBuffer buffer;
  for (uint64_t i = 0; i < 20; ++i) buffer.Add({~i, false, std::to_string(i), "value"});
  const std::string good = buffer.Serialize();
  std::string why;
  for (size_t n = 0; n < good.size(); ++n) {
    MessageBuffer parsed;
    EXPECT_FALSE(parsed.Parse(good.substr(0, n), &why)) << n;
  }
  std::mt19937_64 random(301);
  for (int i = 0; i < 20000; ++i) {  // whatever the bytes are, nothing outside of them is read
    std::string bad = good;
    for (int flips = 0; flips < 3; ++flips) {
      bad[random() % bad.size()] = static_cast<char>(random());
    }
    MessageBuffer parsed;
    if (parsed.Parse(bad, &why)) parsed.All();
  }
}

}  // namespace
}  // namespace testbed::fractal
