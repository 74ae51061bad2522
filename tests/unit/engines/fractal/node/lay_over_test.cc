// Tests what messages do to rows: each case by itself, and random ones against a std::map.
#include "engines/fractal/node/lay_over.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace testbed::fractal {
namespace {

using RowMap = std::map<std::string, std::string>;

BasementRef BasementOf(const RowMap& rows) {
  BasementBuilder builder(SIZE_MAX / 2);
  for (const auto& [key, value] : rows) builder.Add(key, value);
  return builder.Finish();
}

// Returns the rows in order as one text, "key=value ".
std::string RowsText(const Basement& rows) {
  std::string text;
  for (uint32_t i = 0; i < rows.count(); ++i) {
    text.append(rows.key(i)).append("=").append(rows.value(i)).append(" ");
  }
  return text;
}

std::string TextAfter(const RowMap& rows, const std::vector<Message>& messages) {
  std::string text;
  LayOver(*BasementOf(rows), messages, [&text](std::string_view key, std::string_view value) {
    text.append(key).append("=").append(value).append(" ");
  });
  return text;
}

TEST(FractalLayOverTest, APutReplacesOrAddsAndAnEraseLeavesOut) {
  const RowMap rows = {{"b", "1"}, {"d", "2"}, {"f", "3"}};
  EXPECT_EQ(TextAfter(rows, {}), "b=1 d=2 f=3 ");
  EXPECT_EQ(TextAfter(rows, {{1, false, "d", "new"}}), "b=1 d=new f=3 ");
  EXPECT_EQ(TextAfter(rows, {{1, false, "a", "x"}, {1, false, "c", "y"}, {1, false, "g", "z"}}),
            "a=x b=1 c=y d=2 f=3 g=z ");
  EXPECT_EQ(TextAfter(rows, {{1, true, "b", {}}, {1, true, "f", {}}}), "d=2 ");
  EXPECT_EQ(TextAfter(rows, {{1, true, "a", {}}, {1, true, "e", {}}, {1, true, "g", {}}}),
            "b=1 d=2 f=3 ")
      << "there is no such row";
  EXPECT_EQ(TextAfter({}, {{1, true, "a", {}}, {1, false, "b", "x"}}), "b=x ");
}

TEST(FractalLayOverTest, AValueOfNoBytesIsARow) {
  EXPECT_EQ(TextAfter({{"a", "1"}}, {{1, false, "a", {}}, {1, false, "b", {}}}), "a= b= ");
}

TEST(FractalLayOverTest, OfSeveralBuffersTheHighestDecides) {
  const BasementRef rows = BasementOf({{"a", "leaf"}, {"b", "leaf"}, {"c", "leaf"}});
  MessageBuffer root, middle;
  middle.Add({1, false, "a", "middle"});
  middle.Add({1, true, "b", {}});
  middle.Add({1, true, "c", {}});
  root.Add({2, true, "a", {}});
  root.Add({2, false, "b", "root"});
  const MessageBuffer* above[] = {&root, &middle};
  EXPECT_EQ(RowsText(*LayBuffersOver(rows, above, {}, std::nullopt)), "b=root ");
}

TEST(FractalLayOverTest, OnlyMessagesOfTheRangeCount) {
  const BasementRef rows = BasementOf({{"c", "leaf"}});
  MessageBuffer root;
  for (const char* key : {"a", "b", "d", "e"}) root.Add({1, false, key, "root"});
  const MessageBuffer* above[] = {&root};
  EXPECT_EQ(RowsText(*LayBuffersOver(rows, above, "b", "e")), "b=root c=leaf d=root ");
  EXPECT_EQ(RowsText(*LayBuffersOver(rows, above, "b", std::nullopt)),
            "b=root c=leaf d=root e=root ");
  EXPECT_EQ(LayBuffersOver(rows, above, "f", std::nullopt).get(), rows.get())
      << "nothing was copied";
}

TEST(FractalLayOverTest, AgreesWithAMap) {
  std::mt19937_64 random(301);
  for (int round = 0; round < 300; ++round) {
    RowMap model;
    for (uint64_t i = random() % 40; i > 0; --i) {
      model[std::to_string(random() % 60)] = std::to_string(random());
    }
    const BasementRef rows = BasementOf(model);
    MessageBuffer buffers[3];  // the root's first
    for (uint64_t level = 3; level-- > 0;) {
      for (uint64_t i = random() % 40; i > 0; --i) {
        const std::string key = std::to_string(random() % 60), value = std::to_string(random());
        const bool erase = random() % 3 == 0;
        buffers[level].Add({4 - level, erase, key, erase ? std::string_view() : value});
        if (erase) {
          model.erase(key);
        } else {
          model[key] = value;
        }
      }
    }
    const MessageBuffer* above[] = {&buffers[0], &buffers[1], &buffers[2]};
    const BasementRef after = LayBuffersOver(rows, above, {}, std::nullopt);
    std::string why;
    EXPECT_TRUE(Basement::Validate(after->bytes(), &why)) << why;
    EXPECT_EQ(RowsText(*after), RowsText(*BasementOf(model)));
  }
}

}  // namespace
}  // namespace testbed::fractal
