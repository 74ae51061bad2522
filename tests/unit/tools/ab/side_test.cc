// Tests the text of a side, and which sides can be compared.
#include "tools/ab/side.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "device/error.h"
#include "engines/registry.h"

namespace testbed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string Refusal(const std::string& text, const RunOptions& common = {}) {
  try {
    ParseSide("b", text, common);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::kUsage);
    return e.what();
  }
  return "accepted";
}

TEST(AbSideTest, WordsAreSeparatedBySpaceAndKeptTogetherByQuotes) {
  EXPECT_THAT(SplitWords("--a", ""), ElementsAre());
  EXPECT_THAT(SplitWords("--a", "  one\ttwo \n"), ElementsAre("one", "two"));
  EXPECT_THAT(SplitWords("--a", "x='a b' \"c d\"=1 ''"), ElementsAre("x=a b", "c d=1", ""));
  EXPECT_THROW(SplitWords("--a", "x='a b"), Error);
}

TEST(AbSideTest, ChangesTheCommonOptionsOnly) {
  RunOptions common = ParseRunOptions({"--engine", "btree", "--threads", "3", "--cache-pct", "10"});
  const AbSide same = ParseSide("a", "", common);
  EXPECT_EQ(same.options.engine_name, "btree");
  EXPECT_THAT(same.options.threads, ElementsAre(3));
  const AbSide other = ParseSide(
      "b", "engine=rocksdb threads=2 engine-option=bloom_bits=0 engine-option=x=y drop-caches=true",
      common);
  EXPECT_EQ(other.options.engine_name, "rocksdb");
  EXPECT_THAT(other.options.threads, ElementsAre(2));
  EXPECT_EQ(other.options.cache_pct, 10);
  EXPECT_TRUE(other.options.drop_caches);
  EXPECT_EQ(other.options.engine.extra.at("bloom_bits"), "0");
  EXPECT_EQ(other.options.engine.extra.at("x"), "y");
  EXPECT_EQ(common.engine_name, "btree");
}

TEST(AbSideTest, TakesVariablesAndFiles) {
  const std::string path = "ab_side_test_words";
  std::ofstream(path) << "# comment\nengine=lmdb  # the rest\nenv:A=b\n\ncache-pct=7\n";
  const AbSide side = ParseSide("b", "@" + path + " env:C='d e' cache-pct=8", {});
  std::filesystem::remove(path);
  EXPECT_EQ(side.options.engine_name, "lmdb");
  EXPECT_EQ(side.options.cache_pct, 8);
  EXPECT_EQ(side.environment.at("A"), "b");
  EXPECT_EQ(side.environment.at("C"), "d e");
  EXPECT_THAT(side.words,
              ElementsAre("engine=lmdb", "env:A=b", "cache-pct=7", "env:C=d e", "cache-pct=8"));
  EXPECT_THAT(ParseSide("b", "cache-pct=8", {}).words, ElementsAre());
  EXPECT_THAT(Refusal("@" + path), HasSubstr("@" + path + ": the file cannot be read"));
}

// Anything else would change a value without a word.
TEST(AbSideTest, ANumberSignWithinAWordOrQuotesIsNoComment) {
  const std::string path = "ab_side_test_signs";
  const auto with = [&](const std::string& text) {
    std::ofstream(path) << text;
    return "@" + path;
  };
  const AbSide side =
      ParseSide("b", with("env:A=/opt/a#b.so env:B='c #d' # env:C=e\n#env:D=f\ncache-pct=7\n"), {});
  EXPECT_EQ(side.environment.at("A"), "/opt/a#b.so");
  EXPECT_EQ(side.environment.at("B"), "c #d");
  EXPECT_EQ(side.environment.size(), 2u);
  EXPECT_EQ(side.options.cache_pct, 7);
  EXPECT_EQ(ParseSide("b", "env:A=#x", {}).environment.at("A"), "#x");
  EXPECT_THAT(Refusal(with("env:A='b\n")),
              HasSubstr("--b @" + path + ": a quote (') is not closed"));
  EXPECT_THAT(Refusal(with("@other")),
              HasSubstr("may not name another file; give @other in --b itself"));
  std::filesystem::remove(path);
}

// Without the check, each of these would be read as a file without options.
TEST(AbSideTest, ADirectoryADeviceAndAFileOfTheKernelAreNoFilesOfOptions) {
  EXPECT_THAT(Refusal("@."), HasSubstr("--b @.: the file is a directory"));
  EXPECT_THAT(Refusal("@/dev/null"), HasSubstr("is no regular file"));
  EXPECT_THAT(Refusal("@/proc/self/mem"), HasSubstr("has no length"));
}

TEST(AbSideTest, RefusesWithTheNameOfTheSide) {
  EXPECT_THAT(Refusal("engine"), HasSubstr("--b: engine is not accepted"));
  EXPECT_THAT(Refusal("=x"), HasSubstr("--b: =x is not accepted"));
  EXPECT_THAT(Refusal("env:=x"), HasSubstr("give env:NAME=VALUE"));
  EXPECT_THAT(Refusal("env:x"), HasSubstr("give env:NAME=VALUE"));
  EXPECT_THAT(Refusal("no-such=1"), HasSubstr("--b: "));
  EXPECT_THAT(Refusal("cache-pct=200"), HasSubstr("--cache-pct"));
  EXPECT_THAT(Refusal("threads=1,2"), HasSubstr("one number of threads"));
  EXPECT_THAT(Refusal("cache-pc=9"), HasSubstr("did you mean cache-pct?"));
  EXPECT_THAT(Refusal("drop-caches=maybe"), HasSubstr("--drop-caches maybe is not accepted"));
  EXPECT_THAT(Refusal("threads=true"), HasSubstr("--threads true is not accepted"));
  for (const char* name : {"workload", "seed", "seconds", "json", "scratch", "report-interval"}) {
    EXPECT_THAT(Refusal(std::string(name) + "=1"), HasSubstr("is the same for all sides")) << name;
  }
  // Only one side would bear the cost of these options.
  for (const char* name : {"record", "csv-series", "live", "readahead-model"}) {
    EXPECT_THAT(Refusal(std::string(name) + "=1"), HasSubstr("--b: ")) << name;
    EXPECT_THAT(Refusal(std::string(name) + "=1"), HasSubstr("leave ")) << name;
  }
}

// The keys of the file or the set would be named in the results, and others be measured.
TEST(AbSideTest, RealKeysHaveAnOrderOfTheirOwn) {
  const std::string refused = "--b: --keys inserts keys in an order of their own, and --key-order";
  EXPECT_THAT(Refusal("keys=words key-order=random"), HasSubstr(refused));
  EXPECT_THAT(Refusal("key-order=random keys=words"), HasSubstr(refused));
  const RunOptions keys = ParseRunOptions({"--engine", "btree", "--keys", "words"});
  EXPECT_THAT(Refusal("key-order=random", keys), HasSubstr(refused));
  EXPECT_EQ(ParseSide("b", "keys=places", keys).options.data.keys_file, "places");
  EXPECT_EQ(ParseSide("b", "keys=words", {}).options.data.order, KeyOrder::kFile);
}

TEST(AbSideTest, AFlagThatIsFalseTakesBackWhatAllSidesHave) {
  const RunOptions common = ParseRunOptions({"--engine", "btree", "--drop-caches"});
  EXPECT_TRUE(ParseSide("a", "", common).options.drop_caches);
  EXPECT_FALSE(ParseSide("b", "drop-caches=false", common).options.drop_caches);
  EXPECT_TRUE(ParseSide("b", "drop-caches=false drop-caches=true", common).options.drop_caches);
}

std::string Compared(const std::string& a, const std::string& b) {
  RunOptions common = ParseRunOptions({"--engine", "btree", "--ram", "64M"});
  std::vector<AbSide> sides = {ParseSide("a", a, common), ParseSide("b", b, common)};
  for (AbSide& side : sides) side.options.Resolve();
  try {
    CheckComparable(sides);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::kUsage);
    return e.what();
  }
  return "";
}

TEST(AbSideTest, SidesThatDoOtherWorkCannotBeCompared) {
  EXPECT_EQ(Compared("cache-pct=10", "cache-pct=20 io=mmap threads=2"), "");
  EXPECT_EQ(Compared("rows=10 indexes=2", "rows=10"), "") << "they are no part of the rows";
  EXPECT_THAT(Compared("rows=10 compressibility=0.3", "rows=10"), HasSubstr("compressibility"));
  EXPECT_THAT(Compared("rows=10", "rows=20"), HasSubstr("rows is 10 on side a and 20 on side b"));
  EXPECT_THAT(Compared("key-size=16", "key-size=32 rows=10"), HasSubstr("cannot be compared"));
  EXPECT_THAT(Compared("rows=10", "rows=10 value-size=7"), HasSubstr("value-size"));
  EXPECT_THAT(Compared("rows=10 value-size=100-1000", "rows=10 value-size=550"),
              HasSubstr("value-size is \"100-1000\" on side a and 550 on side b"));
  EXPECT_EQ(Compared("rows=10 value-size=1000-2000", "rows=10 value-size=1000-2000"), "");
  EXPECT_THAT(Compared("rows=10 value-size=10x100", "rows=10 value-size=1000"),
              HasSubstr("value-size is \"10x100\" on side a and 1000 on side b"));
  EXPECT_THAT(Compared("rows=10", "rows=10 distribution=zipfian"), HasSubstr("distribution"));
  EXPECT_THAT(Compared("rows=10", "rows=10 consume=copy"), HasSubstr("give --consume outside"));
  EXPECT_THAT(Compared("rows=10", "rows=10 workload-option=x=1"),
              HasSubstr("give --workload-option outside"));
  // Another budget means another number of rows, unless --rows fixes it.
  EXPECT_THAT(Compared("", "ram=128M"), HasSubstr("give --rows"));
  EXPECT_EQ(Compared("rows=1000", "rows=1000 ram=128M"), "");
}

// An update of ten fields reads the row and writes one of them.
TEST(AbSideTest, SizesOfValuesAreComparedAsTheUserGivesThem) {
  EXPECT_EQ(Compared("rows=10 value-size=10x100", "rows=10 value-size=10x100"), "");
  EXPECT_EQ(Compared("rows=10 value-size=100-1000", "rows=10 value-size=100-1000"), "");
  EXPECT_THAT(Compared("rows=10 value-size=1000", "rows=10 value-size=10x100"),
              HasSubstr("value-size is 1000 on side a and \"10x100\" on side b"));
  EXPECT_THAT(Compared("rows=10 value-size=20x50", "rows=10 value-size=10x100"),
              HasSubstr("value-size is \"20x50\" on side a and \"10x100\" on side b"));
  EXPECT_THAT(Compared("rows=10 value-size=550", "rows=10 value-size=100-1000"),
              HasSubstr("value-size is 550 on side a and \"100-1000\" on side b"));
}

// The number of rows follows from what the user gave. To give --rows, too, would not help.
TEST(AbSideTest, WhatMakesOtherRowsIsNamedBeforeTheirNumber) {
  EXPECT_THAT(Compared("", "value-size=200"), HasSubstr("give --value-size outside"));
  EXPECT_THAT(Compared("", "key-size=32"), HasSubstr("give --key-size outside"));
  const std::string keys = "ab_side_test_keys";
  std::ofstream(keys) << "one\nother\n";
  EXPECT_EQ(Compared("keys=" + keys, "keys=" + keys), "");
  EXPECT_THAT(Compared("", "keys=" + keys), HasSubstr("give --keys outside"));
  std::filesystem::remove(keys);
}

// The sides may have other engines, and the first may be one that keeps nothing. The file system of
// /proc has no space at all.
TEST(AbSideTest, TheDatabasesOfAllSidesNeedSpaceTogether) {
  const auto refusal = [](const std::vector<std::string>& texts) -> std::string {
    const RunOptions common = ParseRunOptions(
        {"--rows", "1024", "--key-size", "24", "--value-size", "1000", "--ram", "64M"});
    std::vector<AbSide> sides;
    for (const std::string& text : texts) {
      const std::string label(1, static_cast<char>('a' + sides.size()));
      sides.push_back(ParseSide(label, text, common));
      sides.back().options.Resolve();
    }
    try {
      CheckSpaceOfSides(sides, "/proc");
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::kUsage);
      return e.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal({"engine=null", "engine=null"}), "accepted");
  EXPECT_THAT(refusal({"engine=null", "engine=btree"}), HasSubstr("all sides need 1M at least"));
  EXPECT_THAT(refusal({"engine=btree", "engine=null", "engine=btree"}),
              HasSubstr("all sides need 2M at least"));
  // An entry of an index has the key and an attribute of eight bytes.
  EXPECT_THAT(refusal({"engine=null", "engine=btree indexes=1"}),
              HasSubstr("all sides need 1.0M at least"));
}

// The kernel account knows such threads by their names alone. All processes of PostgreSQL have one.
TEST(AbSideTest, ThreadsThatEnginesOfSeveralSidesHaveAreNamed) {
  const auto shared = [](const std::vector<std::string>& texts) {
    std::vector<AbSide> sides;
    for (const std::string& text : texts) sides.push_back(ParseSide("a", text, {}));
    return SharedThreads(sides);
  };
  EXPECT_THAT(shared({"engine=btree", "engine=btree"}), IsEmpty());
  const std::string server = "engine=postgres";
  const std::string elsewhere = server + " engine-option=connect=postgresql://me@localhost/rows";
  const bool built = std::any_of(Engines().begin(), Engines().end(), [](const EngineInfo& engine) {
    return engine.name == "postgres";
  });
  if (!built) GTEST_SKIP() << "this build has no postgres";
  EXPECT_THAT(shared({server, "engine=btree"}), IsEmpty());
  EXPECT_THAT(shared({server, "engine=btree", server}), ElementsAre("postgres"));
  EXPECT_THAT(shared({server, elsewhere}), ElementsAre("postgres"));
  EXPECT_THAT(shared({elsewhere, elsewhere}), IsEmpty()) << "no account looks for them";
}

}  // namespace
}  // namespace testbed
