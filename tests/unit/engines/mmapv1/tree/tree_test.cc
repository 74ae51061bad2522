// Tests the b-tree of mmapv1 against a std::map: splits, and rows that are inserted, grow and are
// erased.
#include "engines/mmapv1/tree/tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "tests/unit/engines/mmapv1/test_util.h"

namespace testbed::mmapv1 {
namespace {

std::string Key(uint64_t i) {
  std::string digits = std::to_string(i);
  return "k" + std::string(15 - digits.size(), '0') + digits;
}

class Mmapv1TreeTest : public Mmapv1FilesTest {
 protected:
  void Open() {
    OpenFiles();
    table_ = NewTable("t");
  }
  void ExpectRows(const Rows& model) {
    const Tree& tree = table_->tree();
    auto expected = model.begin();
    TreePosition at;
    for (bool on = tree.First(&at); on; on = tree.Next(&at), ++expected) {
      ASSERT_NE(expected, model.end());
      ASSERT_EQ(tree.Key(at), expected->first);
      ASSERT_EQ(table_->Value(at), expected->second);
    }
    ASSERT_EQ(expected, model.end());
    auto back = model.rbegin();
    for (bool on = tree.Last(&at); on; on = tree.Prev(&at), ++back) {
      ASSERT_NE(back, model.rend());
      ASSERT_EQ(tree.Key(at), back->first);
    }
    ASSERT_EQ(back, model.rend());
    EXPECT_EQ(table_->entry().rows, model.size());
  }
  void ExpectSeeks(const Rows& model, const std::string& key) {
    const Tree& tree = table_->tree();
    TreePosition at;
    for (const bool beyond : {false, true}) {
      const auto next = beyond ? model.upper_bound(key) : model.lower_bound(key);
      ASSERT_EQ(tree.Seek(key, beyond, &at), next != model.end());
      if (next != model.end()) {
        ASSERT_EQ(tree.Key(at), next->first);
      }
      const auto after = beyond ? model.lower_bound(key) : model.upper_bound(key);
      ASSERT_EQ(tree.SeekBack(key, beyond, &at), after != model.begin());
      if (after != model.begin()) {
        ASSERT_EQ(tree.Key(at), std::prev(after)->first);
      }
    }
  }
  // Returns the fill of the leaves, from 0 to 1.
  double LeafFill() {
    table_.reset();
    files_.reset();
    const Inspection result = InspectDatabase(dir_, {});
    EXPECT_EQ(result.faults.count, 0u) << result.faults.kept.front().Text();
    return result.trees.at(0).levels.at(0).Fill();
  }

  std::unique_ptr<Table> table_;
};

TEST_F(Mmapv1TreeTest, AscendingKeysFillBucketsToNineTenths) {
  Open();
  for (uint64_t i = 0; i < 20000; ++i) table_->Put(Key(i), "");
  const double fill = LeafFill();
  EXPECT_GT(fill, 0.88);
  EXPECT_LT(fill, 0.93);
}

TEST_F(Mmapv1TreeTest, RandomKeysFillBucketsToTwoThirds) {
  Open();
  std::mt19937_64 random(301);
  for (uint64_t i = 0; i < 20000; ++i) table_->Put(Key(random() % 1000000000), "");
  const double fill = LeafFill();
  EXPECT_GT(fill, 0.6);
  EXPECT_LT(fill, 0.8);
}

// The figures of one table leave out the other's extents, and the size on disk has them.
TEST_F(Mmapv1TreeTest, TheSpaceOfTheFilesIsTheSameWhicheverTableIsAskedFor) {
  Open();
  std::unique_ptr<Table> other = NewTable("u");
  for (uint64_t i = 0; i < 2000; ++i) {
    table_->Put(Key(i), "value");
    other->Put(Key(i), std::string(100, 'v'));
  }
  other.reset();
  table_.reset();
  files_.reset();
  const Inspection all = InspectDatabase(dir_, {});
  EXPECT_EQ(all.trees.size(), 2u);
  EXPECT_EQ(all.disk.back().first, "journal") << "all extents are reached";
  for (const char* table : {"t", "u"}) {
    InspectOptions options;
    options.table = table;
    const Inspection one = InspectDatabase(dir_, options);
    EXPECT_EQ(one.trees.size(), 1u);
    EXPECT_EQ(one.disk.back().first, "extents of other tables");
    EXPECT_EQ(SumOf(one.disk), SumOf(all.disk));
  }
}

TEST_F(Mmapv1TreeTest, ARowWithoutValueHasNoRecord) {
  Open();
  table_->Put("a", "");
  EXPECT_EQ(table_->entry().heap.records, 0u);
  table_->Put("a", "value");
  EXPECT_EQ(table_->entry().heap.records, 1u);
  table_->Put("a", "");
  EXPECT_EQ(table_->entry().heap.records, 0u);
  ExpectRows({{"a", ""}});
  CheckSound();
}

TEST_F(Mmapv1TreeTest, ARowThatGrowsMovesAndPaddingFollows) {
  options_.extra["allocation"] = "padding";
  Open();
  for (int i = 0; i < 100; ++i) table_->Put(Key(i), std::string(400, 'a'));
  EXPECT_EQ(table_->entry().padding, 1);
  table_->Put(Key(1), std::string(401, 'b'));
  EXPECT_EQ(counts_.moved.load() + counts_.in_place.load(), 1u);
  for (int i = 0; i < 5; ++i) table_->Put(Key(i), std::string(600, 'c'));
  EXPECT_EQ(counts_.moved.load(), 5u);
  EXPECT_NEAR(table_->entry().padding, 1.5, 0.01);
  for (int i = 0; i < 100; ++i) table_->Put(Key(50), std::string(300, 'd'));
  EXPECT_NEAR(table_->entry().padding, 1.4, 0.01);
  for (int i = 10; i < 50; ++i) table_->Put(Key(i), std::string(9000 + i * 100, 'e'));
  EXPECT_LE(table_->entry().padding, 2);
  CheckSound();
}

TEST_F(Mmapv1TreeTest, EmptiedFromEachSideItIsOneEmptyBucket) {
  for (const int order : {0, 1, 2}) {
    Open();
    std::vector<uint64_t> rows(6000);
    for (uint64_t i = 0; i < rows.size(); ++i) rows[i] = i;
    for (const uint64_t i : rows) table_->Put(Key(i), "v");
    if (order == 1) std::reverse(rows.begin(), rows.end());
    if (order == 2) std::shuffle(rows.begin(), rows.end(), std::mt19937(301));
    for (const uint64_t i : rows) table_->Erase(Key(i));
    ExpectRows({});
    EXPECT_EQ(table_->entry().index.records, 1u) << order;
    EXPECT_EQ(table_->entry().heap.records, 0u);
    table_.reset();
    CheckSound();
    std::filesystem::remove_all(dir_);
    std::filesystem::create_directory(dir_);
  }
}

TEST_F(Mmapv1TreeTest, AgreesWithAModel) {
  for (const uint64_t seed : {301, 302, 303, 304}) {
    SCOPED_TRACE(seed);
    Open();
    std::mt19937_64 random(seed);
    Rows model;
    // Some seeds have long keys, so that a bucket holds few, splits are frequent, and replacements
    // often do not fit.
    const auto key = [&] {
      const uint64_t n = random() % 3000;
      const size_t longest = seed % 2 == 0 ? 1024 : 40;
      std::string text = Key(n);
      text.resize(std::max<size_t>(text.size(), (n * 2654435761u) % longest + 1), 'x');
      return text;
    };
    for (int round = 0; round < 6; ++round) {
      const bool growing = round % 2 == 0;
      for (int i = 0; i < 4000; ++i) {
        const std::string k = key();
        if (random() % 10 < (growing ? 3 : 7)) {
          table_->Erase(k);
          model.erase(k);
        } else {
          const std::string value(random() % 4 == 0 ? 0 : random() % 2000, 'v');
          table_->Put(k, value);
          model[k] = value;
        }
      }
      ASSERT_NO_FATAL_FAILURE(ExpectRows(model));
      for (int i = 0; i < 300; ++i) {
        ASSERT_NO_FATAL_FAILURE(ExpectSeeks(model, key()));
      }
    }
    table_.reset();
    CheckSound();
    std::filesystem::remove_all(dir_);
    std::filesystem::create_directory(dir_);
  }
}

TEST_F(Mmapv1TreeTest, DocumentsAreReadAsTheyWereWritten) {
  std::string_view key, value;
  EXPECT_FALSE(ParseDocument("", &key, &value));
  EXPECT_FALSE(ParseDocument(std::string(100, '\0'), &key, &value));
  Open();
  table_->Put("the key", "the value");
  TreePosition at;
  ASSERT_TRUE(table_->tree().Find("the key", &at));
  const DiskLoc loc = table_->tree().Record(at);
  const std::string document(files_->At(Plus(loc, 16), 39), 39);
  ASSERT_TRUE(ParseDocument(document, &key, &value));
  EXPECT_EQ(key, "the key");
  EXPECT_EQ(value, "the value");
  for (size_t i = 0; i < document.size(); ++i) {
    ParseDocument(document.substr(0, i), &key, &value);  // reads nothing beyond it
    EXPECT_FALSE(ParseDocument(document.substr(0, i), &key, &value)) << i;
  }
}

}  // namespace
}  // namespace testbed::mmapv1
