// Tests the words of a command line that come from documents.
#include "tools/command/command_words.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace testbed {
namespace {

// The record has the number of the release, and the user may name it by another word.
TEST(CommandWordsTest, AReleaseByAnyNameHasTheOptionsOfTheRecord) {
  const nlohmann::json record = {{"engine", "rocksdb@10.4.2"},
                                 {"engine_options", {{"bloom_bits", "4"}}}};
  const auto has_option = [&record](const std::vector<std::string>& words) {
    const std::vector<std::string> more = WordsOfRecord(record, words);
    return std::find(more.begin(), more.end(), "bloom_bits=4") != more.end();
  };
  EXPECT_TRUE(has_option({"--reuse"}));
  EXPECT_TRUE(has_option({"--reuse", "--engine", "rocksdb@10.4.2"}));
  EXPECT_TRUE(has_option({"--reuse", "--engine", "rocksdb@latest"}));
  EXPECT_TRUE(has_option({"--reuse", "--engine=rocksdb@latest"}));
  EXPECT_FALSE(has_option({"--reuse", "--engine", "btree"}));
  EXPECT_FALSE(has_option({"--engine", "rocksdb@latest", "--engine-option", "bloom_bits=9"}));
}

// A run that was labelled by the setting that its database has was measured without it.
TEST(CommandWordsTest, ALabelIsNoSettingOfTheEngine) {
  const nlohmann::json record = {{"engine", "rocksdb"}, {"engine_options", {{"bloom_bits", "4"}}}};
  const auto settings = [&record](const std::vector<std::string>& words) {
    const std::vector<std::string> more = WordsOfRecord(record, words);
    return std::count(more.begin(), more.end(), "bloom_bits=4");
  };
  EXPECT_EQ(settings({"--reuse", "--label", "bloom_bits=4"}), 1);
  EXPECT_EQ(settings({"--reuse", "--workload-option", "bloom_bits=9"}), 1);
  EXPECT_EQ(settings({"--reuse", "--engine-option", "bloom_bits=9"}), 0);
  EXPECT_EQ(settings({"--reuse", "--engine-option=bloom_bits=9"}), 0);
}

}  // namespace
}  // namespace testbed
