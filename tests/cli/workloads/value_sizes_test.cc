// Tests runs whose values have several sizes: --value-size LEAST-MOST, and a column of --keys.
#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/cli/command.h"

namespace testbed {
namespace {

using nlohmann::json;

class ValueSizesTest : public CommandTest {
 protected:
  static constexpr char kSmall[] =
      "--engine btree --dir d --ram 64M --threads 2 --account off --quiet --verify all "
      "--operations 400 --json run.json ";

  // Expects that no answer was wrong, and returns the bytes of keys and values that the load wrote.
  int64_t BytesLoaded(const json& document) {
    int64_t loaded = 0;
    for (const json& phase : document["runs"][0]["phases"]) {
      if (phase["kind"] == "settle") continue;
      EXPECT_EQ(phase.value("wrong", 0), 0) << phase["name"];
      if (phase["kind"] == "load") loaded = phase["user_bytes_written"];
    }
    return loaded;
  }
};

TEST_F(ValueSizesTest, RowsOfSeveralSizesAreInsertedUpdatedReadAndScanned) {
  const CommandResult result =
      Run(std::string(kSmall) +
          "--rows 3000 --value-size 0-1k --rows-per-transaction 7 --workload insert,mixed --mix "
          "point-read=1,update=1,read-modify-write=1,insert=1,scan=1,erase=1 --scan-rows 5");
  ASSERT_EQ(result.code, 0) << result.err;
  const json document = Json("run.json"), data = document["data"];
  EXPECT_EQ(document["options"]["value_size"], "0-1024");
  EXPECT_NEAR(data["value_bytes"].get<double>() / 3000, 512, 25);
  EXPECT_EQ(BytesLoaded(document),
            data["key_bytes"].get<int64_t>() + data["value_bytes"].get<int64_t>());
  EXPECT_NE(result.out.find("3,000 rows of 16 + " +
                            fmt::format("{:.1f}", data["value_bytes"].get<double>() / 3000) +
                            " (mean, 0-1024) bytes"),
            std::string::npos)
      << result.out;
  EXPECT_EQ(json::parse(Read(directory_ / "d/testbed.json"))["value_size"], "0-1024");

  const std::string reuse = std::string(kSmall) + "--reuse --workload point-read ";
  const CommandResult same = Run(reuse);
  EXPECT_EQ(same.code, 0) << same.err;
  (void)BytesLoaded(Json("run.json"));
  ExpectRefused(Run(reuse + "--value-size 0-1025"), "--value-size \"0-1024\"");
  ExpectRefused(Run(reuse + "--value-size 512"), "--value-size \"0-1024\"");
}

// The number of rows follows from the mean.
TEST_F(ValueSizesTest, RowsFillTheRatio) {
  const CommandResult result =
      Run("--engine null --ram 256M --db-ratio 0.0125 --value-size 84-884 --workload insert "
          "--quiet --account off --json run.json");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(Json("run.json")["data"]["rows"], (256 << 20) / 80 / 500);
}

TEST_F(ValueSizesTest, AColumnOfTheKeysHasTheSizes) {
  int64_t values = 0;
  {
    std::ofstream keys(directory_ / "keys");
    for (int i = 0; i < 500; ++i) {
      keys << "key-" << i * 7 % 500 << "\t" << i * i % 900 << "\n";
      values += i * i % 900;
    }
  }
  const CommandResult result =
      Run(std::string(kSmall) +
          "--keys keys --value-size column --indexes 1 --workload insert,mixed --mix "
          "point-read=1,update=2,scan=1,erase=1 --hit-ratio 0.8");
  ASSERT_EQ(result.code, 0) << result.err;
  const json document = Json("run.json");
  EXPECT_EQ(document["data"]["rows"], 500);
  EXPECT_EQ(document["data"]["value_bytes"], values);
  EXPECT_EQ(document["options"]["value_size"], "column");
  const int64_t keys = document["data"]["key_bytes"];
  EXPECT_EQ(BytesLoaded(document), values + keys + keys + 500 * 8) << "with the index";
  const CommandResult same = Run(std::string(kSmall) + "--reuse --workload point-read");
  EXPECT_EQ(same.code, 0) << same.err;
  (void)BytesLoaded(Json("run.json"));
  ExpectRefused(Run(std::string(kSmall) + "--reuse --workload point-read --value-size 100"),
                "--value-size \"column\"");

  std::ofstream(directory_ / "keys") << "key-1\n";
  ExpectRefused(Run("--engine btree --dir e --keys keys --value-size column"),
                "--value-size column: the line 'key-1' of --keys keys is no key, tab and size");
  EXPECT_FALSE(std::filesystem::exists(directory_ / "e"));
}

TEST_F(ValueSizesTest, AValueThatTheEngineDoesNotTakeIsRefusedBeforeTheLoad) {
  const std::string load = "--engine log --dir e --workload insert ";
  ExpectRefused(Run(load + "--value-size 0-1M"),
                "--value-size 0-1048576: log takes values of 524288 bytes at most, and the longest "
                "has 1048576");
  ExpectRefused(Run(load + "--value-size 600000"), "--value-size 600000: log takes values of ");
  std::ofstream(directory_ / "keys") << "key-1\t5\nkey-2\t600000\n";
  ExpectRefused(Run(load + "--keys keys --value-size column"),
                "--value-size column: log takes values of 524288 bytes at most, and the longest "
                "has 600000");
  EXPECT_FALSE(std::filesystem::exists(directory_ / "e"));
  const CommandResult longest =
      Run(load + "--value-size 512k --ram 64M --rows 3 --threads 1 --account off --quiet");
  EXPECT_EQ(longest.code, 0) << longest.err;
}

}  // namespace
}  // namespace testbed
