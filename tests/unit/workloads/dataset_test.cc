#include "workloads/dataset.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "device/error.h"
#include "workloads/keys/key_file.h"
#include "workloads/registry.h"

namespace testbed {
namespace {

DatasetOptions Small() {
  DatasetOptions options;
  options.rows = 5000;
  return options;
}

TEST(DatasetTest, KeysAreBigEndianNumbersPaddedWithZeros) {
  Dataset data(Small());
  char buffer[16];
  EXPECT_EQ(data.Key(258, buffer), std::string_view("\0\0\0\0\0\0\1\2"
                                                    "00000000",
                                                    16));
}

TEST(DatasetTest, EveryOrderHasEachKeyOnceAndAbsentKeysAreAbsent) {
  for (KeyOrder order : {KeyOrder::kSequential, KeyOrder::kRandom, KeyOrder::kPermuted}) {
    for (size_t key_size : {8, 16, 33}) {
      DatasetOptions options = Small();
      options.order = order;
      options.key_size = key_size;
      Dataset data(options);
      std::set<std::string> keys;
      std::string buffer(64, '\0');
      bool ascending = true;
      std::string last;
      for (uint64_t i = 0; i < data.rows(); ++i) {
        std::string key(data.Key(data.RowAt(i), buffer.data()));
        EXPECT_EQ(key.size(), key_size);
        ascending = ascending && last < key;
        last = key;
        keys.insert(std::move(key));
      }
      EXPECT_EQ(keys.size(), data.rows());
      EXPECT_EQ(ascending, order == KeyOrder::kSequential);
      for (uint64_t row = 0; row < data.rows(); ++row) {
        ASSERT_FALSE(keys.contains(std::string(data.AbsentKey(row, buffer.data()))));
      }
    }
  }
}

TEST(DatasetTest, AValueIsCheckedByItsRow) {
  for (size_t size : {0, 1, 15, 16, 17, 400, 100000}) {
    DatasetOptions options = Small();
    options.value_size = size;
    Dataset data(options);
    std::string value(size, '\0');
    for (uint64_t version : {0, 1, 7}) {
      data.Value(3, version, value.data());
      EXPECT_TRUE(data.Check(3, value));
      EXPECT_FALSE(data.Check(3, value + "x"));
      if (size >= 8) {
        EXPECT_FALSE(data.Check(4, value)) << size;
      }
      for (size_t at : {size_t{0}, size / 2, size - 1}) {
        if (at >= size) continue;
        value[at] = static_cast<char>(value[at] ^ 1);
        EXPECT_FALSE(data.Check(3, value)) << size << " byte " << at;
        value[at] = static_cast<char>(value[at] ^ 1);
      }
    }
  }
}

TEST(DatasetTest, AValueOfAnotherSizeIsTheRowsOwnToo) {
  DatasetOptions options = Small();
  options.value_size = 400;
  const Dataset data(options);
  for (size_t size : {8, 10, 15, 16, 17, 399, 401, 2000000}) {
    std::string value(size, '\0');
    data.SizedValue(3, 7, size, value.data());
    EXPECT_TRUE(data.Check(3, value)) << size;
    EXPECT_FALSE(data.Check(4, value)) << size;
    EXPECT_FALSE(data.Check(3, value.substr(0, size - 1))) << size << ", cut off";
    EXPECT_FALSE(data.Check(3, value + "x")) << size;
    value[size - 1] = static_cast<char>(value[size - 1] ^ 1);
    EXPECT_FALSE(data.Check(3, value)) << size;
  }
  std::string whole(400, '\0');
  data.Value(3, 0, whole.data());
  for (size_t cut : {0, 1, 7, 8, 16, 399}) EXPECT_FALSE(data.Check(3, whole.substr(0, cut))) << cut;
}

// Versions must differ, because an engine may leave out an update that changes nothing.
TEST(DatasetTest, VersionsDifferInShortValuesToo) {
  for (size_t size : {2, 3, 4, 8, 15, 16, 400}) {
    DatasetOptions options = Small();
    options.value_size = size;
    Dataset data(options);
    std::string before(size, '\0'), value(size, '\0');
    for (uint64_t version = 0x123456780; version < 0x123456780 + 100; ++version) {
      data.Value(3, version, value.data());
      EXPECT_NE(value, before) << size;
      EXPECT_TRUE(data.Check(3, value)) << size;
      before = value;
    }
  }
}

TEST(DatasetTest, FieldsHaveVersionsOfTheirOwn) {
  DatasetOptions options = Small();
  options.value_size = 1000;
  options.fields = 10;
  Dataset data(options);
  ASSERT_EQ(data.FieldSize(7), 100u);
  std::string value(1000, '\0'), field(100, '\0'), other(1000, '\0');
  data.Value(7, 0, value.data());
  EXPECT_TRUE(data.Check(7, value));
  EXPECT_FALSE(data.Check(8, value));
  for (const uint32_t f : {0, 4, 9}) {
    data.Field(7, f, 5 + f, field.data());
    value.replace(f * 100, 100, field);
    EXPECT_TRUE(data.Check(7, value)) << f;
  }
  data.Value(8, 0, other.data());
  for (uint32_t f = 0; f < 10; ++f) {
    std::string wrong = value;
    wrong.replace(f * 100, 100, other, f * 100, 100);
    EXPECT_FALSE(data.Check(7, wrong)) << "field " << f << " of another row";
    wrong = value;
    wrong.replace(f * 100, 100, value, (f + 1) % 10 * 100, 100);
    EXPECT_FALSE(data.Check(7, wrong)) << "another field in the place of " << f;
    wrong = value;
    wrong[f * 100 + 50] = static_cast<char>(wrong[f * 100 + 50] ^ 1);
    EXPECT_FALSE(data.Check(7, wrong)) << "a flipped bit in field " << f;
  }
  EXPECT_FALSE(data.Check(7, std::string_view(value).substr(0, 900)));
}

TEST(DatasetTest, FieldsAreEqualParts) {
  for (const size_t size : {size_t{1001}, size_t{150}, size_t{0}}) {
    DatasetOptions options = Small();
    options.value_size = size;
    options.fields = 10;
    EXPECT_THROW(Dataset{options}, Error) << size;
  }
}

DatasetOptions Uniform(size_t least, size_t most) {
  DatasetOptions options = Small();
  options.value_sizes = ValueSizes::kUniform;
  options.least_value = least;
  options.most_value = most;
  return options;
}

// By the bytes that a load adds --scratch auto chooses the size of its device, which is a setting:
// a history of nights with a seed each began a new series with every night.
TEST(DatasetTest, ALoadAddsAsManyBytesOfRandomSizesWithEverySeed) {
  const auto added = [](uint64_t seed) {
    DatasetOptions options = Uniform(100, 1000);
    options.seed = seed;
    return DataBytes({"insert"}, std::make_shared<const Dataset>(options), {});
  };
  EXPECT_EQ(added(1), 5000u * (16 + 550));
  EXPECT_EQ(added(2), added(1));
}

TEST(DatasetTest, EachRowHasASizeOfItsOwnFromTheLeastToTheMost) {
  const Dataset data(Uniform(100, 1000)), same(Uniform(100, 1000));
  DatasetOptions other = Uniform(100, 1000);
  other.seed = 43;
  const Dataset another(other);
  uint64_t bytes = 0, differ = 0;
  std::set<size_t> sizes;
  for (uint64_t row = 0; row < data.rows(); ++row) {
    const size_t size = data.ValueSize(row);
    ASSERT_GE(size, 100u);
    ASSERT_LE(size, 1000u);
    EXPECT_EQ(same.ValueSize(row), size);
    differ += another.ValueSize(row) != size;
    bytes += size;
    sizes.insert(size);
  }
  EXPECT_EQ(data.value_bytes(), bytes);
  EXPECT_EQ(data.max_value_size(), 1000u);
  EXPECT_EQ(data.options().value_size, 550u) << "the mean";
  EXPECT_NEAR(static_cast<double>(bytes) / 5000, 550, 15);
  EXPECT_GT(sizes.size(), 880u) << "of 901 sizes, in 5000 rows";
  EXPECT_GT(differ, 4900u);
  EXPECT_NE(another.value_bytes(), bytes);
  EXPECT_EQ(Dataset(Uniform(100, 1000)).value_bytes(), bytes) << "after another's sum";
  EXPECT_GE(data.ValueSize(1ull << 60), 100u) << "a row that was inserted later";
}

// A sum of so many sizes would never end.
TEST(DatasetTest, RowsWithoutNumberCountWithTheMean) {
  DatasetOptions options = Uniform(1, 1000);
  options.rows = uint64_t{1} << 50;
  const Dataset data(options);
  EXPECT_NEAR(static_cast<double>(data.value_bytes()) / static_cast<double>(options.rows), 500.5,
              0.01);
}

// The bytes that values are copied from would otherwise be there twice in the longest ones.
TEST(DatasetTest, AValueThatIsLongerThanTheMeanDoesNotRepeatItself) {
  DatasetOptions options = Uniform(0, 4 << 20);
  options.compressibility = 0;
  const Dataset data(options);
  uint64_t row = 0;
  while (data.ValueSize(row) < 4'000'000) ++row;
  std::string value(data.ValueSize(row), '\0');
  data.Value(row, 0, value.data());
  const std::string_view whole = value;
  EXPECT_EQ(whole.find(whole.substr(16, 64), 17), std::string_view::npos);
  EXPECT_TRUE(data.Check(row, whole));
}

TEST(DatasetTest, ValuesOfSeveralSizesAreCheckedByTheirRow) {
  using Range = std::pair<size_t, size_t>;
  for (const auto& [least, most] : {Range(0, 12), Range(8, 40), Range(300, 3000)}) {
    const Dataset data(Uniform(least, most));
    std::string value(most, '\0'), field(most, '\0');
    for (uint64_t row = 0; row < 200; ++row) {
      const size_t size = data.ValueSize(row);
      for (const uint64_t version : {0, 1, 7}) {
        data.Value(row, version, value.data());
        const std::string_view whole(value.data(), size);
        EXPECT_TRUE(data.TellsRow(row, size));
        EXPECT_TRUE(data.Check(row, whole)) << row << " of " << size;
        ASSERT_EQ(data.FieldSize(row), size);
        data.Field(row, 0, version, field.data());
        EXPECT_EQ(std::string_view(field.data(), size), whole) << "one field is the whole value";
        if (size < 8) continue;
        EXPECT_FALSE(data.Check(row + 1, whole)) << row << " of " << size;
        EXPECT_FALSE(data.Check(row, whole.substr(0, size - 1))) << "cut off";
      }
    }
  }
}

TEST(DatasetTest, SizesHaveTheTextOfTheirOption) {
  DatasetOptions options;
  EXPECT_EQ(ValueSizesText(options), "400");
  EXPECT_EQ(ValueSizesText(Uniform(100, 1000)), "100-1000");
  options.fields = 4;
  EXPECT_EQ(ValueSizesText(options), "4x100");
  options.fields = 1;
  options.value_sizes = ValueSizes::kColumn;
  EXPECT_EQ(ValueSizesText(options), "column");
  EXPECT_THROW(Dataset{options}, Error) << "there is no file";
}

TEST(DatasetTest, CompressibilityIsTheShareOfConstantBytes) {
  for (double share : {0.0, 0.25, 0.5, 1.0}) {
    DatasetOptions options = Small();
    options.value_size = 4000;
    options.compressibility = share;
    Dataset data(options);
    std::string value(4000, '\0');
    double constant = 0;
    for (uint64_t row = 0; row < 100; ++row) {
      data.Value(row, 0, value.data());
      constant += static_cast<double>(std::count(value.begin() + 16, value.end(), 'x'));
    }
    EXPECT_NEAR(constant / (100 * 3984), share + (1 - share) / 256, 0.01);
  }
}

TEST(DatasetTest, IndexKeysEndWithThePrimaryKeyAndDifferByIndex) {
  DatasetOptions options = Small();
  options.indexes = 2;
  Dataset data(options);
  char a[32], b[32], key[32];
  EXPECT_NE(data.IndexKey(0, 9, a), data.IndexKey(1, 9, b));
  EXPECT_TRUE(data.IndexKey(0, 9, a).ends_with(data.Key(9, key)));
  EXPECT_EQ(data.IndexKey(0, 9, a).size(), Dataset::kAttributeBytes + data.Key(9, key).size());
}

// Once, loads whose seeds followed each other had the same hashed keys, in nearly the same order,
// and shared all attributes of index entries but those of one index.
TEST(DatasetTest, SeedsThatFollowEachOtherGiveOtherHashes) {
  std::set<std::string> keys, attributes;
  char buffer[32];
  for (uint64_t seed : {42, 43, 44}) {
    DatasetOptions options = Small();
    options.order = KeyOrder::kRandom;
    options.seed = seed;
    options.indexes = 3;
    const Dataset data(options);
    for (uint64_t row = 0; row < data.rows(); ++row) {
      const std::string key(data.Key(row, buffer));
      ASSERT_EQ(data.RowOf(key), std::optional<uint64_t>(row));
      keys.insert(key);
      for (uint32_t index = 0; index < 3; ++index) {
        attributes.insert(
            std::string(data.IndexKey(index, row, buffer).substr(0, Dataset::kAttributeBytes)));
      }
    }
  }
  EXPECT_EQ(keys.size(), 3 * Small().rows);
  EXPECT_EQ(attributes.size(), 9 * Small().rows);
}

// Once, 95 of 100 rows were where those of the seed before were, but for a shift.
TEST(DatasetTest, SeedsThatFollowEachOtherGiveOtherOrders) {
  DatasetOptions options;
  options.rows = 100 * 100;
  options.order = KeyOrder::kPermuted;
  const Dataset first(options);
  ++options.seed;
  const Dataset second(options);
  constexpr uint64_t kShift = 101;  // 1 in each half of a number that the permutation takes
  int alike = 0;
  for (uint64_t i = 0; i + kShift < options.rows; ++i) {
    alike += second.RowAt(i) + kShift == first.RowAt(i + kShift);
  }
  EXPECT_LT(alike, 100);
}

// Returns the peak resident memory of the process, in bytes.
uint64_t PeakMemory() {
  rusage use;
  ::getrusage(RUSAGE_SELF, &use);
  return static_cast<uint64_t>(use.ru_maxrss) << 10;
}

class KeysFileTest : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }
  // A process reads a file of keys once, so each text has a file of its own.
  void Write(const std::string& text) {
    std::filesystem::remove(path_);
    path_ = NewPath();
    std::ofstream(path_) << text;
  }
  Dataset Load(const std::string& text) {
    Write(text);
    DatasetOptions options;
    options.order = KeyOrder::kFile;
    options.keys_file = path_;
    return Dataset(options);
  }
  static std::string NewPath() {
    static int files = 0;
    return testing::TempDir() + "testbed_keys_file_test_" + std::to_string(::getpid()) + "_" +
           std::to_string(++files);
  }
  std::string path_ = NewPath();
};

TEST_F(KeysFileTest, TakesLinesInTheirOrder) {
  Dataset data = Load("pear\napple\n\nquince");
  char buffer[16];
  ASSERT_EQ(data.rows(), 3u);
  EXPECT_EQ(data.Key(0, buffer), "pear");
  EXPECT_EQ(data.Key(2, buffer), "quince");
  EXPECT_EQ(data.AbsentKey(1, buffer), "apple\n");
  EXPECT_EQ(data.key_bytes(), 4u + 5 + 6);
  EXPECT_EQ(data.value_bytes(), 3u * 400);
}

class KeyColumnTest : public KeysFileTest {
 protected:
  Dataset LoadColumn(const std::string& text) {
    Write(text);
    DatasetOptions options;
    options.order = KeyOrder::kFile;
    options.keys_file = path_;
    options.value_sizes = ValueSizes::kColumn;
    return Dataset(options);
  }
};

TEST_F(KeyColumnTest, ValuesHaveTheSizesOfTheirKeysLines) {
  const Dataset data = LoadColumn("pear\t5\n\napple\t0\nqu\tince\t3000");
  ASSERT_EQ(data.rows(), 3u);
  char buffer[16];
  EXPECT_EQ(data.Key(0, buffer), "pear");
  EXPECT_EQ(data.Key(2, buffer), "qu\tince") << "the last tab divides";
  EXPECT_EQ(data.RowOf("apple"), 1u);
  EXPECT_EQ(data.key_bytes(), 4u + 5 + 7);
  EXPECT_EQ(data.max_key_size(), 7u + 1);
  EXPECT_EQ(data.value_bytes(), 3005u);
  EXPECT_EQ(data.max_value_size(), 3000u);
  EXPECT_EQ(data.options().value_size, 1001u) << "the mean";
  std::string value(3000, '\0');
  for (uint64_t row = 0; row < 3; ++row) {
    const size_t size = data.ValueSize(row);
    EXPECT_EQ(size, row == 0 ? 5u : row == 1 ? 0u : 3000u);
    data.Value(row, 9, value.data());
    EXPECT_TRUE(data.Check(row, std::string_view(value.data(), size))) << row;
  }
  EXPECT_FALSE(data.Check(1, std::string_view(value.data(), 5))) << "not that row's size";
}

TEST_F(KeyColumnTest, ALineWithoutASizeIsRefused) {
  for (const char* line : {"pear", "pear\t", "\t5", "pear\t-1", "pear\t5x", "pear 5",
                           "pear\t67108865", "pear\t99999999999999999999"}) {
    try {
      (void)LoadColumn("apple\t5\n" + std::string(line) + "\n");
      ADD_FAILURE() << line;
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::kUsage);
      EXPECT_EQ(std::string(e.what()).find("--value-size column: the line '"), 0u) << e.what();
    }
  }
}

// A spreadsheet or an editor of Windows put them there, and no key of the user's has them.
TEST_F(KeyColumnTest, CarriageReturnsAndAByteOrderMarkAreRefused) {
  const auto why_not = [](const auto& load) -> std::string {
    try {
      (void)load();
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::kUsage);
      return e.what();
    }
    return "";
  };
  const auto keys = [this] { return "--keys " + path_; };
  for (const char* text : {"pear\nfig\r\nplum\n", "pear\n\r\nplum", "pear\nfig\r"}) {
    const std::string why = why_not([&] { return Load(text); });
    EXPECT_EQ(why.find(keys() + " has a carriage return at the end of line 2, "), 0u) << why;
    EXPECT_NE(why.find("tr -d '\\r'"), std::string::npos) << why;
  }
  std::string why = why_not([&] { return LoadColumn("apple\t5\r\n"); });
  EXPECT_EQ(why.find(keys() + " has a carriage return at the end of line 1, "), 0u) << why;
  why = why_not([&] { return Load("\xef\xbb\xbfpear\nfig\n"); });
  EXPECT_EQ(why.find(keys() + " has a byte order mark in line 1, "), 0u) << why;
  EXPECT_EQ(Load("pe\rar\nfig\xef\xbb\xbf\n").rows(), 2u) << "within a key they are the user's";
}

TEST_F(KeyColumnTest, TheSameKeyWithAnotherSizeIsThereTwice) {
  EXPECT_THROW(LoadColumn("pear\t5\npear\t6\n"), Error);
  EXPECT_EQ(Load("pear\t5\npear\t6\n").rows(), 2u) << "without a column the line is the key";
}

// The file is sparse, and so long that reading it to its end would be noticed.
TEST_F(KeysFileTest, RefusesALineThatNoEngineTakesAsAKeyWhileItIsRead) {
  for (const uint64_t bytes : {uint64_t{kMostKeyBytes} + 11, uint64_t{4} << 30}) {
    std::ofstream(path_) << "pear\n\napple\n";
    std::filesystem::resize_file(path_, 12 + bytes);
    const uint64_t before = PeakMemory();
    try {
      DatasetOptions options;
      options.order = KeyOrder::kFile;
      options.keys_file = path_;
      const Dataset data(options);
      FAIL();
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::kUsage);
      EXPECT_EQ(std::string(e.what()),
                "--keys " + path_ +
                    " has more than 8388608 bytes in line 4, which no engine takes as a key; give "
                    "a file that holds one key a line");
    }
    EXPECT_LT(PeakMemory() - before, 64u << 20);
  }
}

TEST_F(KeysFileTest, TakesTheLongestLine) {
  const Dataset data = Load("pear\n" + std::string(kMostKeyBytes, 'x') + "\napple\n" +
                            std::string(kMostKeyBytes, 'y'));
  EXPECT_EQ(data.rows(), 4u);
  EXPECT_EQ(data.max_key_size(), kMostKeyBytes + 1);
  EXPECT_THROW(Load(std::string(kMostKeyBytes + 1, 'x') + "\napple\n"), Error);
}

TEST_F(KeysFileTest, RefusesAFileThatMemoryHasNoRoomFor) {
  std::ofstream(path_) << "pear\n";
  const auto memory = static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                      static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  std::filesystem::resize_file(path_, memory / 2 + 4096);
  DatasetOptions options;
  options.order = KeyOrder::kFile;
  options.keys_file = path_;
  try {
    const Dataset data(options);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::kUsage);
    EXPECT_NE(std::string(e.what()).find(" that are read; give a file that holds one key a line, "
                                         "in at most half of the memory"),
              std::string::npos)
        << e.what();
  }
}

// The keys of a set lie in a text that all data sets share, and that must outlive each of them.
TEST_F(KeysFileTest, TakesTheKeysOfASet) {
  const std::string directory = path_ + "_directory";
  std::filesystem::create_directories(directory + "/b");
  for (const char* name : {"/b/two", "/one", "/a-longer-name"}) std::ofstream(directory + name);
  DatasetOptions options;
  options.order = KeyOrder::kFile;
  options.keys_file = "paths:" + directory;
  const std::string top = std::filesystem::canonical(directory);
  const Dataset data(options);
  { const Dataset another(options); }
  std::filesystem::remove_all(directory);
  std::string buffer(data.max_key_size(), '\0');
  ASSERT_EQ(data.rows(), 3u);
  EXPECT_EQ(data.Key(0, buffer.data()), top + "/a-longer-name");
  EXPECT_EQ(data.Key(1, buffer.data()), top + "/b/two");
  EXPECT_EQ(data.Key(2, buffer.data()), top + "/one");
  EXPECT_EQ(data.key_bytes(), 3 * top.size() + 14 + 6 + 4);
  EXPECT_EQ(data.max_key_size(), top.size() + 14 + 1);
  for (uint64_t row = 0; row < data.rows(); ++row) {
    const std::string key(data.Key(row, buffer.data()));
    EXPECT_EQ(data.RowOf(key), row);
    const std::string absent(data.AbsentKey(row, buffer.data()));
    EXPECT_GT(absent, key);
    EXPECT_FALSE(data.RowOf(absent).has_value());
    if (row + 1 < data.rows()) {
      EXPECT_LT(absent, std::string(data.Key(row + 1, buffer.data())));
    }
  }
}

TEST_F(KeysFileTest, NamesTheSetsWhereAFileIsNotThere) {
  DatasetOptions options;
  options.order = KeyOrder::kFile;
  options.keys_file = path_ + "_not_there";
  try {
    const Dataset data(options);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::kUsage);
    EXPECT_NE(std::string(e.what()).find(", or words, places, packages, paths or paths:DIR"),
              std::string::npos)
        << e.what();
  }
}

TEST_F(KeysFileTest, RefusesAKeyThatIsThereTwice) {
  try {
    Load("pear\napple\npear\n");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::kUsage);
    EXPECT_NE(std::string(e.what()).find("pear"), std::string::npos);
  }
}

}  // namespace
}  // namespace testbed
