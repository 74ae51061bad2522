// Tests runs on the sets of keys that --keys knows by name. apt-cache is a stand-in.
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "tests/cli/command.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class KeySetRunTest : public CommandTest {
 protected:
  static constexpr char kSmall[] =
      "--engine btree --dir d --ram 64M --threads 2 --account off --quiet --verify all "
      "--operations 200 --json run.json ";

  void Write(const std::string& name, const std::string& text) {
    fs::create_directories((directory_ / name).parent_path());
    std::ofstream(directory_ / name) << text;
  }
  // Makes an apt-cache that does what the lines of shell say, and returns the environment in which
  // it is found.
  std::string WithAptCache(const std::string& lines) {
    Write("bin/apt-cache", "#!/bin/sh\n" + lines);
    fs::permissions(directory_ / "bin/apt-cache", fs::perms::owner_all);
    return "PATH=" + (directory_ / "bin").string() + ":$PATH";
  }
  json RecordedKeys() { return json::parse(Read(directory_ / "d/testbed.json"))["keys"]; }
};

TEST_F(KeySetRunTest, PathsAreReadUpdatedScannedAndMissed) {
  for (int i = 0; i < 300; ++i) {
    Write("files/" + std::to_string(i % 7) + "/" + std::string(i % 90, 'x') + std::to_string(i),
          "");
  }
  const std::string keys = "--keys paths:files ";
  const CommandResult loaded =
      Run(kSmall + keys +
          "--workload insert,point-read,mixed --mix point-read=1,update=1,scan=1,erase=1 "
          "--scan-rows 5 --hit-ratio 0.7 --value-size 50 --indexes 1");
  ASSERT_EQ(loaded.code, 0) << loaded.err;
  const json document = Json("run.json");
  EXPECT_EQ(document["data"]["rows"], 300);
  EXPECT_EQ(document["options"]["keys"], "paths:files");
  EXPECT_NE(loaded.out.find("(mean, keys of paths:files)"), std::string::npos) << loaded.out;
  for (const json& phase : document["runs"][0]["phases"]) {
    if (phase["kind"] == "measure") {
      EXPECT_GT(phase["not_found"], 0) << phase["name"];
    }
  }
  const json recorded = RecordedKeys();
  EXPECT_EQ(recorded["name"], "paths:files");
  EXPECT_EQ(recorded["size"], document["data"]["key_bytes"].get<int>() + 300);
  EXPECT_EQ(recorded["hash"].get<std::string>().size(), 16u);

  const std::string reuse = kSmall + std::string("--reuse --workload point-read ");
  const CommandResult same = Run(reuse);
  EXPECT_EQ(same.code, 0) << same.err;
  Write("files/another", "");
  const CommandResult changed = Run(reuse);
  ExpectRefused(changed, "was loaded with --keys paths:files (");
  ExpectRefused(changed, "and this set has changed since, to ");
  Write("keys", "one\n");
  ExpectRefused(Run(reuse + "--keys keys"), ", not --keys keys (4 bytes");
}

// Once, each run of a command, and each child of a run, read the file for itself. The updates of
// the second run then inserted rows, and nobody said so.
TEST_F(KeySetRunTest, AFileThatChangesDuringACommandIsReadOnce) {
  const auto keys = [](char first) {
    std::string text;
    for (int i = 0; i < 2000; ++i) text += first + std::to_string(i) + "\n";
    return text;
  };
  Write("keys", keys('a'));
  const std::string common =
      "--engine btree --dir d --keys keys --ram 64M --account off --quiet --verify all --warmup 0 "
      "--json run.json ";
  ASSERT_EQ(Run(common + "--workload insert --threads 1").code, 0);
  std::thread changes([&] {
    bool writes = false;  // the first run writes: the record does not tell the rows
    for (int i = 0; i < 6000 && !writes; ++i) {
      const json record = json::parse(Read(directory_ / "d/testbed.json"), nullptr, false);
      writes = record.is_object() && record.value("population", json()).is_null();
      ::usleep(10000);
    }
    EXPECT_TRUE(writes);
    Write("keys", keys('b'));
  });
  const CommandResult result =
      Run(common + "--reuse --threads 1,2 --workload mixed --mix update=1 --seconds 1");
  changes.join();
  ASSERT_EQ(result.code, 0) << result.err;
  ExpectRefused(Run(common + "--reuse --workload point-read"), "was loaded with --keys keys (");

  // The rows are counted once more, by a scan.
  Write("keys", keys('a'));
  json record = json::parse(Read(directory_ / "d/testbed.json"));
  record.erase("population");
  std::ofstream(directory_ / "d/testbed.json") << record;
  const CommandResult counts =
      Run(common + "--reuse --workload point-read --operations 100 --threads 1");
  ASSERT_EQ(counts.code, 0) << counts.err;
  const json phase = Json("run.json")["runs"][0]["phases"][0];
  EXPECT_EQ(phase["name"], "count-rows");
  EXPECT_EQ(phase["rows"], 2000);
}

TEST_F(KeySetRunTest, PackagesAreTheNamesThatAptTells) {
  const std::string apt = WithAptCache(
      "[ \"$*\" = pkgnames ] || exit 1\n"
      "echo 'W: Unable to read lists' >&2\n"
      "printf 'libc6\\napt\\n0ad\\nlibc6\\nlibstdc++6\\nNot a name\\n'\n");
  const CommandResult result =
      Run(std::string(kSmall) + "--keys packages --workload insert,point-read", apt);
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(Json("run.json")["data"]["rows"], 4);
  EXPECT_EQ(Json("run.json")["data"]["key_bytes"], 3 + 3 + 5 + 10);
  EXPECT_EQ(RecordedKeys()["name"], "packages");
}

TEST_F(KeySetRunTest, WhatAptCannotTellIsRefused) {
  const std::string run = "--engine btree --dir d --keys packages";
  ExpectRefused(Run(run, WithAptCache("echo 'E: no lists'; exit 100\n")),
                "apt-cache failed: E: no lists; `apt update` renews what apt knows");
  ExpectRefused(Run(run, WithAptCache("echo 'N: nothing'\n")),
                "--keys packages: apt knows no package");
  EXPECT_FALSE(fs::exists(directory_ / "d"));
}

TEST_F(KeySetRunTest, AFileOfASetsNameIsGivenWithItsDirectory) {
  Write("words", "one\ntwo\nthree\n");
  const CommandResult result =
      Run(std::string(kSmall) + "--keys ./words --workload insert,point-read");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(Json("run.json")["data"]["rows"], 3);
  EXPECT_NE(result.out.find("(mean, keys of a file)"), std::string::npos) << result.out;
  // A name that is nearly a set's is taken for misspelt only where no file has it.
  Write("word", "one\ntwo\n");
  const CommandResult near = Run(
      "--engine null --keys word --ram 64M --threads 1 --workload insert --quiet --account off");
  EXPECT_EQ(near.code, 0) << near.err;
  if (fs::exists("/usr/share/dict/american-english-huge")) return;
  ExpectRefused(Run("--engine btree --dir e --keys words"), "`apt install wamerican-huge`");
  EXPECT_FALSE(fs::exists(directory_ / "e"));
}

}  // namespace
}  // namespace testbed
