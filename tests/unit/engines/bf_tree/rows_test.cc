// Tests the search for the row before a key, compared with a std::map, and the encoding of values.
#ifdef TESTBED_HAVE_BF_TREE
#include "engines/bf_tree/rows.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>
#include <string>

namespace testbed::bf_tree {
namespace {

using Model = std::map<std::string, std::string>;

// Scans a std::map as the library scans a tree, and counts the scans.
class ModelSource : public RowSource {
 public:
  explicit ModelSource(const Model* model) : model_(model) {}
  void Scan(std::string_view start, std::string_view end, uint32_t most, Rows* rows) override {
    ++scans;
    rows->Reserve(most, kLongest);
    char* to = rows->buffer();
    uint32_t count = 0;
    auto at = model_->lower_bound(std::string(start));
    const auto in_range = [&] { return at != model_->end() && at->first < end; };
    for (; in_range() && count < most; ++at, ++count) {
      rows->sizes()[2 * count] = static_cast<uint32_t>(at->first.size());
      rows->sizes()[2 * count + 1] = static_cast<uint32_t>(at->second.size());
      for (const std::string& bytes : {at->first, at->second}) {
        std::memcpy(to, bytes.data(), bytes.size());
        to += bytes.size();
      }
    }
    rows->Take(count, !in_range());
  }

  int scans = 0;

 private:
  static constexpr size_t kLongest = 300;
  const Model* const model_;
};

class FindBeforeTest : public testing::Test {
 protected:
  // Expects that FindBefore finds the row that the model has before `bound`, or none.
  void Look(const std::string& bound, uint32_t most = 8) {
    SCOPED_TRACE("before " + testing::PrintToString(bound));
    ModelSource source(&model_);
    Rows rows, spare;
    const bool found =
        FindBefore(&source, {.prefix = kPrefix, .bound = bound, .most = most}, &rows, &spare);
    auto before = model_.lower_bound(bound);
    const bool expected = before != model_.begin() && (--before)->first.starts_with(kPrefix);
    ASSERT_EQ(found, expected);
    scans_ = source.scans;
    if (!found) return;
    ASSERT_GT(rows.count(), 0u);
    EXPECT_EQ(rows.key(rows.count() - 1), before->first);
    EXPECT_EQ(rows.value(rows.count() - 1), before->second);
    // The other rows that it returns are the model's rows before that one, without gaps.
    for (uint32_t i = rows.count(); i-- > 0; --before) {
      ASSERT_EQ(rows.key(i), before->first);
      if (i > 0) {
        ASSERT_NE(before, model_.begin());
      }
    }
  }

  static inline const std::string kPrefix = std::string("\0\0\0\x02", 4);
  static inline const std::string kEnd = std::string("\0\0\0\x03", 4);
  Model model_;
  int scans_ = 0;
};

TEST_F(FindBeforeTest, AnEmptyTableHasNone) {
  model_[std::string("\0\0\0\x01z", 5)] = "of the table before";
  model_[std::string("\0\0\0\x03a", 5)] = "of the table behind";
  Look(kEnd);
  Look(kPrefix + "k");
  Look(kPrefix);
  model_[kPrefix] = "the row with an empty key";
  Look(kEnd);
  Look(kPrefix + '\0');
  Look(kPrefix);
}

TEST_F(FindBeforeTest, AgreesWithAModel) {
  std::mt19937_64 random(301);
  static constexpr char kLetters[] = {'\0', '\x01', 'a', 'b', '\x7f', '\x80', '\xff'};
  const auto random_key = [&] {
    std::string key = random() % 3 == 0 ? kPrefix + "a common prefix " : kPrefix;
    for (size_t n = random() % 6; n > 0; --n) key += kLetters[random() % sizeof kLetters];
    return key;
  };
  for (int rows : {1, 3, 50, 2000}) {
    for (int i = 0; i < rows; ++i) model_[random_key()] = std::to_string(i);
    for (int i = 0; i < 300; ++i) ASSERT_NO_FATAL_FAILURE(Look(random_key(), 1 + random() % 8));
    ASSERT_NO_FATAL_FAILURE(Look(kEnd));
  }
}

// The keys differ only in bytes behind the digits that the search halves.
TEST_F(FindBeforeTest, KeysAsLongAsCanBe) {
  for (int i = 0; i < 100; ++i) {
    model_[kPrefix + std::string(122, '\xff') + static_cast<char>(i)] = "row";
    model_[kPrefix + std::string(20 + i, '\0')] = "row";
  }
  for (int i = 0; i < 100; ++i) {
    Look(kPrefix + std::string(122, '\xff') + static_cast<char>(i));
    Look(kPrefix + std::string(20 + i, '\0'));
  }
  Look(kEnd);
}

// A walk backward over rows takes few scans for each.
TEST_F(FindBeforeTest, TakesFewScansAmongNumbers) {
  for (int i = 0; i < 20000; ++i) model_[kPrefix + "row" + std::to_string(1000000 + i)] = "v";
  Look(kPrefix + "row1010005", 64);
  EXPECT_LE(scans_, 4);
  Look(kEnd, 64);
  EXPECT_LE(scans_, 100);
}

TEST(BfTreeValueTest, ComesBack) {
  using namespace std::string_literals;
  std::string room;
  for (const std::string& value : {""s, "\0"s, "\0\0"s, "v"s, "v\0"s, "\0v"s, "a value"s}) {
    const std::string kept(Encoded(value, &room));
    EXPECT_FALSE(kept.empty());
    EXPECT_LE(kept.size(), value.size() + 1);
    EXPECT_EQ(Decoded(kept), value);
  }
  EXPECT_EQ(Encoded("v", &room), "v");
}

}  // namespace
}  // namespace testbed::bf_tree
#endif  // TESTBED_HAVE_BF_TREE
