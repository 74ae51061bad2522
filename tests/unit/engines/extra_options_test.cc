#include "engines/extra_options.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "device/error.h"

namespace testbed {
namespace {

using Values = std::map<std::string, std::string>;

TEST(ExtraOptionsTest, AbsentOptionsHaveTheirDefault) {
  const Values values;
  const ExtraOptions extra("e", values);
  EXPECT_FALSE(extra.Has("x"));
  EXPECT_TRUE(extra.Flag("x", true));
  EXPECT_EQ(extra.Integer("x", 7, 0, 5), 7u);
  EXPECT_EQ(extra.Number("x", 0.5, 1, 2), 0.5);
  EXPECT_EQ(extra.Bytes("x", 3, 4, 5), 3u);
  EXPECT_EQ(extra.Choice("x", "a", {"b"}), "a");
}

enum class Shade : uint8_t { kLight, kDark, kNone };
const char* ShadeName(Shade shade) {
  return shade == Shade::kLight ? "light" : shade == Shade::kDark ? "dark" : "none";
}
Shade ShadeOf(const ExtraOptions& extra) {
  return extra.Choice("opt", Shade::kNone, {Shade::kLight, Shade::kDark}, ShadeName);
}

TEST(ExtraOptionsTest, ValuesAreChosenByTheirNames) {
  const Values given = {{"opt", "dark"}}, values;
  EXPECT_EQ(ShadeOf(ExtraOptions("e", given)), Shade::kDark);
  EXPECT_EQ(ShadeOf(ExtraOptions("e", values)), Shade::kNone) << "the default need not be accepted";
}

TEST(ExtraOptionsTest, TheWaitForConflictsIsTheOneItIsSaidToBe) {
  const Values values, given = {{"conflict_wait_ms", "50"}};
  EXPECT_EQ(ConflictWaitOption(ExtraOptions("e", given)), 50u);
  const std::string usual = std::to_string(ConflictWaitOption(ExtraOptions("e", values)));
  EXPECT_EQ(ConflictWaitMeaning("it waits").first, "conflict_wait_ms");
  EXPECT_EQ(ConflictWaitMeaning("it waits").second,
            "milliseconds for which it waits (" + usual + ")");
}

TEST(ExtraOptionsTest, SizesTakeUnitsOf1024) {
  const std::map<std::string, uint64_t> sizes = {
      {"0", 0},           {"4096", 4096},     {"512B", 512},        {"4k", 4096},
      {"4K", 4096},       {"4KiB", 4096},     {"4kB", 4096},        {"3M", 3 << 20},
      {"2G", 2ull << 30}, {"1T", 1ull << 40}, {"1TiB", 1ull << 40}, {"1.5G", 3ull << 29},
      {"4kb", 4096},      {"4KIB", 4096},     {"512b", 512},        {"1e3", 1000}};
  for (const auto& [text, bytes] : sizes) {
    const Values values = {{"x", text}};
    EXPECT_EQ(ExtraOptions("e", values).Bytes("x", 1, 0, 1ull << 50), bytes) << text;
  }
}

TEST(ExtraOptionsTest, AnotherValueIsToldByNumbersAndFlagsAlone) {
  for (const auto& [given, in_force] : std::map<std::string, std::string>{
           {"-1", "8"}, {"10", "30"}, {"99", "32"}, {"on", "OFF"}, {"0", "true"}, {"1k", "1000"}}) {
    EXPECT_TRUE(IsAnotherValue(given, in_force)) << given << " " << in_force;
  }
  for (const auto& [given, in_force] :
       std::map<std::string, std::string>{{"64k", "65536"},
                                          {"1", "ON"},
                                          {"TRUE", "true"},
                                          {"70", "70.000000"},
                                          {"-1", "18446744073709551615"},
                                          {"ZLIB", "zlib"},
                                          {"2", "DEMAND"},
                                          {"1:2", "3:4"},
                                          {"", "0"}}) {
    EXPECT_FALSE(IsAnotherValue(given, in_force)) << given << " " << in_force;
  }
}

// The command's own options take the same sizes. Once, those of engines took neither a part of a
// unit nor a small b.
TEST(ExtraOptionsTest, ASizeIsAWholeNumberOfBytesBelowTwoToTheSixtyFour) {
  EXPECT_EQ(ParseBytes("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(ParseBytes("9007199254740993"), 9007199254740993u) << "a double would round it";
  EXPECT_EQ(ParseBytes("16777215T"), 16777215ull << 40);
  EXPECT_EQ(ParseBytes("0.5k"), 512u);
  for (const char* text : {"", "k", "0.3", "0.3k", "-1", "nan", "inf", "16777216T", "1.7e7T",
                           "18446744073709551616", "1.5", "4 k", "4ki", "0x10", ".k"}) {
    EXPECT_EQ(ParseBytes(text), std::nullopt) << text;
  }
}

TEST(ExtraOptionsTest, FlagsTakeThreeSpellingsEach) {
  for (const char* text : {"1", "true", "on"}) {
    const Values values = {{"x", text}};
    EXPECT_TRUE(ExtraOptions("e", values).Flag("x", false)) << text;
  }
  for (const char* text : {"0", "false", "off"}) {
    const Values values = {{"x", text}};
    EXPECT_FALSE(ExtraOptions("e", values).Flag("x", true)) << text;
  }
}

template <typename Read>
void ExpectRefused(const std::string& text, Read read, const std::string& accepted = "") {
  const Values values = {{"opt", text}};
  const ExtraOptions extra("engine", values);
  try {
    read(extra);
    ADD_FAILURE() << "'" << text << "' was accepted";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::kUsage);
    const std::string what = e.what();
    EXPECT_EQ(
        what.find("engine cannot honour --engine-option opt=" + text + "; it accepts " + accepted),
        0u)
        << what;
  }
}

TEST(ExtraOptionsTest, RefusesValuesOfTheWrongForm) {
  for (const char* text : {"", "x", "-1", "3x", "3 ", " 3", "1.5", "11", "99999999999999999999"}) {
    ExpectRefused(text, [](const ExtraOptions& e) { e.Integer("opt", 1, 0, 10); });
  }
  for (const char* text : {"", "x", "nan", "-1", "10.5", "1,5"}) {
    ExpectRefused(text, [](const ExtraOptions& e) { e.Number("opt", 1, 0, 10); });
  }
  for (const char* text : {"", "k", "4q", "4kk", "4ki", "-4k", "17G", "99999999T", "1"}) {
    ExpectRefused(text, [](const ExtraOptions& e) { e.Bytes("opt", 1, 2, 16ull << 30); });
  }
  // Once, the sentence had the bounds as 0.001000 and 1000000000.000000.
  ExpectRefused(
      "-1", [](const ExtraOptions& e) { e.Number("opt", 1, 0.001, 1e9); },
      "numbers from 0.001 to 1000000000");
  ExpectRefused("yes", [](const ExtraOptions& e) { e.Flag("opt", true); });
  ExpectRefused("c", [](const ExtraOptions& e) { e.Choice("opt", "a", {"a", "b"}); });
  ExpectRefused("none", [](const ExtraOptions& e) { ShadeOf(e); }, "light, dark");
}

}  // namespace
}  // namespace testbed
