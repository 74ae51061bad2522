// Tests engines that are named with a release, with the real program. The program of the release is
// the same testbed in another place, so the tests cover only how a run is sent to it and how its
// results come back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/cli/command.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;

constexpr char kOfRelease[] =
    " --ram 64M --rows 2000 --threads 1 --operations 500 --quiet --account file ";

class ReleaseRunTest : public CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    releases_ = directory_.parent_path() / (directory_.filename().string() + ".releases");
    Install("btree", "9.8.7");
  }
  void TearDown() override {
    fs::remove_all(releases_);
    CommandTest::TearDown();
  }

  // Installs a release by a hard link to testbed: a program knows which release it is by the
  // directory that it lies in. That of an installation is named by a hash (build_engine.sh).
  void Install(const std::string& engine, const std::string& release,
               const std::string& made = "") {
    const fs::path folder =
        releases_ / (engine + "-" + (release.starts_with('/') ? "0a1b2c3d" : release));
    fs::create_directories(folder);
    std::error_code other_device;
    fs::create_hard_link(TestbedBinary(), folder / "testbed", other_device);
    if (other_device) fs::copy_file(TestbedBinary(), folder / "testbed");
    std::ofstream(folder / "release.json") << json{{"engine", engine},
                                                   {"release", release},
                                                   {"from", "2024-05"},
                                                   {"recipe", "cc -O2"},
                                                   {"made", made}};
  }

  CommandResult With(const std::string& arguments) {
    return Run(arguments, "TESTBED_RELEASES=" + releases_.string());
  }

  fs::path releases_;
};

TEST_F(ReleaseRunTest, AReleaseRunsAsAnEngineAndTheResultsNameIt) {
  const CommandResult result =
      With("--engine btree@9.8.7 --json run.json" + std::string(kOfRelease));
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("release 9.8.7 of 2024-05: cc -O2"));
  const json document = Json("run.json");
  EXPECT_EQ(document["options"]["engine"], "btree");
  EXPECT_EQ(document["options"]["release"], "9.8.7");
  const std::string rows = With("report run.json --csv").out;
  EXPECT_THAT(rows, HasSubstr(",option_release,"));
  EXPECT_THAT(rows, HasSubstr(",9.8.7,")) << "rows of several releases are told apart";
  const json& run = document["runs"].back();
  EXPECT_EQ(run["engine"]["name"], "btree");
  EXPECT_EQ(run["engine"]["release"],
            (json{{"name", "9.8.7"}, {"from", "2024-05"}, {"recipe", "cc -O2"}}));
  EXPECT_FALSE(run.contains("error"));
  EXPECT_TRUE(std::any_of(run["phases"].begin(), run["phases"].end(), [](const json& phase) {
    return phase["name"] == "point-read" && phase["count"] == 500;
  }));
}

// A script stays while releases come and go. bash ends a word at an @, and replaces only what
// follows it.
TEST_F(ReleaseRunTest, ShellsCompleteTheReleasesThatAreInstalledAtThatTime) {
  const std::string file = (directory_ / "bash").string();
  std::ofstream(file) << Run("completion bash").out;
  Install("btree", "9.9.0");
  Install("btree", "/opt/my $(btree)");
  EXPECT_EQ(With("completion releases").out, "btree@9.8.7\nbtree@9.9.0\n");
  const std::string program = TestbedBinary();
  const std::string bash =
      "TESTBED_RELEASES=" + releases_.string() + " bash -c 'source " + file +
      "; complete_words() { COMP_WORDS=(" + program +
      " \"$@\"); COMP_CWORD=$#; _testbed; echo \"${COMPREPLY[@]}\"; }; "
      "complete_words --engine btree@9; complete_words --engine btree @; "
      "complete_words crashtest --engine btree @ 9.9; complete_words --engine btre'";
  FILE* pipe = popen(bash.c_str(), "r");
  std::string out(4096, 0);
  out.resize(fread(out.data(), 1, out.size(), pipe));
  pclose(pipe);
  EXPECT_EQ(out, "btree@9.8.7 btree@9.9.0\n9.8.7 9.9.0\n9.9.0\nbtree btree@9.8.7 btree@9.9.0\n");
  EXPECT_THAT(Run("completion zsh").out, HasSubstr(" $(testbed completion releases 2>/dev/null)}"));
  EXPECT_THAT(Run("completion fish").out, HasSubstr(" (testbed completion releases 2>/dev/null)'"));
}

// Wherever a release can be named, an installation of one's own can be, by its prefix.
TEST_F(ReleaseRunTest, AnInstallationIsNamedByItsPrefix) {
  const std::string name = "btree@/opt/my btree";
  Install("btree", "/opt/my btree", "4711 1700000000");
  for (const char* slashes : {"", "/", "//"}) {
    const CommandResult result =
        With("--engine '" + name + slashes + "' --dir d --fresh --json run.json" +
             std::string(kOfRelease));
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("release /opt/my btree of 2024-05: cc -O2"));
    EXPECT_EQ(Json("run.json")["options"]["release"], "/opt/my btree");
    const json of_run = Json("run.json")["runs"][0]["engine"]["release"];
    EXPECT_EQ(of_run["name"], "/opt/my btree");
    EXPECT_EQ(of_run["made"], "4711 1700000000") << "another build there has the same name";
  }
  const std::string again =
      "--dir d --reuse --workload point-read --threads 1 --operations 9 --quiet";
  EXPECT_EQ(With(again).code, 0) << "the record of the database names it";
  EXPECT_EQ(
      With("crashtest --engine '" + name + "' --kills 1 --longest-ms 50 --writers 1 --quiet").code,
      0);
  const CommandResult sweep =
      With("--engine 'btree," + name + "' --out sweep --workload insert,point-read" +
           std::string(kOfRelease));
  ASSERT_EQ(sweep.code, 0) << sweep.err;
  EXPECT_THAT(sweep.out, HasSubstr(name));
  EXPECT_THAT(With("list").out, HasSubstr(name));
  ExpectRefused(With("--engine rocksdb@/opt/none" + std::string(kOfRelease)),
                "`tools/build_engine.sh rocksdb /opt/none` links one with the library that is "
                "installed there");
}

TEST_F(ReleaseRunTest, ADatabaseIsReusedByTheReleaseThatMadeIt) {
  ASSERT_EQ(With("--engine btree@9.8.7 --dir d --workload insert" + std::string(kOfRelease)).code,
            0);
  const std::string again =
      "--dir d --reuse --workload point-read --threads 1 --operations 9 --quiet";
  const CommandResult same = With(again + " --json run.json");
  ASSERT_EQ(same.code, 0) << same.err;
  EXPECT_EQ(Json("run.json")["runs"][0]["engine"]["release"]["name"], "9.8.7");
  ExpectRefused(With(again + " --engine btree"), "give --engine \"btree@9.8.7\"");
}

TEST_F(ReleaseRunTest, ItsFilesAreRemovedAsThoseOfTheEngine) {
  const std::string load = "--engine btree@9.8.7 --workload insert" + std::string(kOfRelease);
  ASSERT_EQ(With(load).code, 0);
  EXPECT_TRUE(DirectoryIsEmpty()) << "a run without --dir leaves nothing behind";
  ASSERT_EQ(With(load + "--dir d").code, 0);
  std::ofstream(directory_ / "d/db/mine") << "of a user";
  const CommandResult fresh = With(load + "--dir d --fresh");
  EXPECT_EQ(fresh.code, 0);
  EXPECT_EQ(fresh.err, "testbed: db/mine in --dir d is not testbed's and stays\n");
}

TEST_F(ReleaseRunTest, SidesOfAComparisonAreReleases) {
  const CommandResult result = With(
      "ab --a engine=btree --b engine=btree@9.8.7 --json ab.json --ram 64M --rows 5000 "
      "--threads 1 --workload point-read --time 3s --loads 1 --slice 0.05 --warmup 0 --quiet "
      "--account file");
  ASSERT_EQ(result.code, 0) << result.err;
  for (const json& run : Json("ab.json")["runs"]) {
    EXPECT_EQ(run["engine"].contains("release"), run["side"] == "b") << run["engine"];
  }
}

TEST_F(ReleaseRunTest, ASweepHasReleasesAsAnAxis) {
  const CommandResult result =
      With("--engine btree,btree@9.8.7 --out sweep --workload insert,point-read" +
           std::string(kOfRelease));
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("btree@9.8.7"));
  int of_release = 0, cells = 0;
  for (const auto& entry : fs::recursive_directory_iterator(directory_ / "sweep")) {
    if (entry.path().extension() != ".json") continue;
    const json document = json::parse(Read(entry.path()), nullptr, false);
    if (!document.is_object() || !document.contains("runs")) continue;
    ++cells;
    of_release += document["runs"][0]["engine"].contains("release");
  }
  EXPECT_GE(of_release, 1);
  EXPECT_EQ(cells, 2 * of_release);  // no database is shared by two releases
}

TEST_F(ReleaseRunTest, ACrashTestIsThatOfTheRelease) {
  const CommandResult result =
      With("crashtest --engine btree@9.8.7 --kills 1 --longest-ms 50 --writers 1 --quiet");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("btree@9.8.7: 1 kill, "));
}

TEST_F(ReleaseRunTest, ARunThatIsWatchedNamesTheRelease) {
  const CommandResult result = With(
      "--engine btree@9.8.7 --ram 64M --rows 2000 --threads 1 --operations 500 --account file "
      "--live");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("btree@9.8.7, 1 thread point-read: "));
}

// A program of another build would test the engine by its own rules.
TEST_F(ReleaseRunTest, ACrashTestByAProgramOfAnotherBuildIsRefused) {
  const fs::path folder = releases_ / "btree-9.8.7";
  fs::rename(folder / "testbed", folder / "linked");
  std::ofstream(folder / "testbed") << "#!/bin/sh\nTESTBED_BUILD_OF_CALLER=another exec "
                                    << (folder / "linked").string() << " \"$@\"\n";
  fs::permissions(folder / "testbed", fs::perms::owner_all);
  ExpectRefused(
      With("crashtest --engine btree@9.8.7 --kills 1 --longest-ms 50 --writers 1 --quiet"),
      "was linked for another build of testbed; run `tools/build_engine.sh btree 9.8.7` again");
  EXPECT_TRUE(DirectoryIsEmpty());
}

// The program of the release gets the keys from this one: read again, the set might have changed.
TEST_F(ReleaseRunTest, ASetOfKeysIsReadOnceForTheReleaseToo) {
  const fs::path bin = directory_ / "bin", calls = directory_ / "calls";
  fs::create_directories(bin);
  std::ofstream(bin / "apt-cache")
      << "#!/bin/sh\necho call >>" << calls.string() << "\nprintf 'one\\ntwo\\nthree\\n'\n";
  fs::permissions(bin / "apt-cache", fs::perms::owner_all);
  const CommandResult result =
      Run("--engine btree@9.8.7 --keys packages --ram 64M --threads 1 --operations 50 --quiet "
          "--account off --verify all --json run.json",
          "TESTBED_RELEASES=" + releases_.string() + " PATH=" + bin.string() + ":$PATH");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(Json("run.json")["data"]["rows"], 3);
  EXPECT_EQ(Read(calls), "call\n");
}

// A file of keys is not copied for the program of the release, which therefore refuses another
// text.
TEST_F(ReleaseRunTest, AFileOfKeysThatHasChangedIsRefusedByTheRelease) {
  const fs::path folder = releases_ / "btree-9.8.7", keys = directory_ / "keys";
  std::ofstream(keys) << "one\ntwo\n";
  fs::rename(folder / "testbed", folder / "linked");
  std::ofstream(folder / "testbed") << "#!/bin/sh\necho three >" << keys.string() << "\nexec "
                                    << (folder / "linked").string() << " \"$@\"\n";
  fs::permissions(folder / "testbed", fs::perms::owner_all);
  ExpectRefused(With("--engine btree@9.8.7 --keys keys --ram 64M --threads 1 --operations 50 "
                     "--quiet --account off"),
                "--keys keys has changed since the command began");
}

TEST_F(ReleaseRunTest, WhatTheReleaseDoesNotAcceptIsRefusedBeforeAnythingIsMade) {
  ExpectRefused(With("--engine btree@9.8.7 --dir d --engine-option torn_pages=never" +
                     std::string(kOfRelease)),
                "torn_pages");
  EXPECT_TRUE(DirectoryIsEmpty());
}

TEST_F(ReleaseRunTest, AReleaseThatIsNotThereIsRefusedWithWhatToDo) {
  ExpectRefused(With("--engine btree@1.0" + std::string(kOfRelease)), "btree has no releases");
  ExpectRefused(With("ab --a engine=btree --b engine=btree@1.0"), "btree has no releases");
  ExpectRefused(With("crashtest --engine btree@1.0"), "btree has no releases");
  // In a list, too: the others would be measured, and the report alone would name it at the end.
  const std::string list = "--engine btree,btree@1.0" + std::string(kOfRelease);
  ExpectRefused(With(list), "btree has no releases");
  ExpectRefused(With(list + "--forecast"), "btree has no releases");
  ExpectRefused(With("--engine rocksdb@10.4.2,btree@9.8.7" + std::string(kOfRelease)),
                "`tools/build_engine.sh rocksdb 10.4.2` builds it once");
  ExpectRefused(With("--engine nosuch@1.0" + std::string(kOfRelease)), "nosuch is not known");
  EXPECT_TRUE(DirectoryIsEmpty());
  // Another machine may run what is saved.
  EXPECT_EQ(With(list + "--save list.toml").code, 0);
}

// The program has the library of before, whose figures would be taken for those of the new one.
TEST_F(ReleaseRunTest, AProgramThatIsOlderThanItsLibraryIsRefused) {
  const fs::path folder = releases_ / "btree-9.8.7", library = folder / "libbtree.a";
  std::ofstream(library) << "!<arch>\n";
  std::ofstream(folder / "release.json")
      << json{{"engine", "btree"}, {"release", "9.8.7"}, {"library", library.string()}};
  const fs::file_time_type linked = fs::last_write_time(folder / "testbed");
  fs::last_write_time(library, linked + std::chrono::seconds(1));
  const std::string run = "--engine btree@9.8.7" + std::string(kOfRelease);
  ExpectRefused(With(run), "was linked before " + library.string() + " was made anew; run " +
                               "`tools/build_engine.sh btree 9.8.7` again");
  EXPECT_TRUE(DirectoryIsEmpty());
  fs::last_write_time(library, linked);
  EXPECT_EQ(With(run).code, 0);
}

// An older installation may take the place of a newer one, and its files keep their times.
TEST_F(ReleaseRunTest, AProgramWhoseLibraryWasReplacedByAnOlderOneIsRefused) {
  const fs::path folder = releases_ / "btree-9.8.7", library = folder / "libbtree.a";
  std::ofstream(library) << "!<arch>\n";
  const auto linked_with = [&](const std::string& made) {
    std::ofstream(folder / "release.json") << json{
        {"engine", "btree"}, {"release", "9.8.7"}, {"library", library.string()}, {"made", made}};
  };
  const fs::file_time_type linked = fs::last_write_time(folder / "testbed");
  fs::last_write_time(library, linked - std::chrono::hours(1));
  struct stat is = {};
  ASSERT_EQ(::stat(library.c_str(), &is), 0);
  const std::string run = "--engine btree@9.8.7" + std::string(kOfRelease);
  const std::string time = std::to_string(is.st_mtime);
  linked_with("9 " + time);
  ExpectRefused(With(run), "was linked before " + library.string() + " was made anew");
  linked_with("8 " + std::to_string(is.st_mtime + 1));
  ExpectRefused(With(run), "was linked before " + library.string() + " was made anew");
  EXPECT_TRUE(DirectoryIsEmpty());
  linked_with("8 " + time);
  EXPECT_EQ(With(run).code, 0);
}

TEST_F(ReleaseRunTest, AProgramThatIsNoTestbedIsRefused) {
  const fs::path program = releases_ / "btree-9.8.7" / "testbed";
  fs::remove(program);
  std::ofstream(program) << "#!/bin/sh\nexit 1\n";
  fs::permissions(program, fs::perms::owner_all);
  ExpectRefused(With("--engine btree@9.8.7" + std::string(kOfRelease)), "gave no answer");
  EXPECT_TRUE(DirectoryIsEmpty());
}

TEST_F(ReleaseRunTest, TheListShowsWhatIsInstalledAndWhatCanBe) {
  const std::string list = With("list").out;
  EXPECT_THAT(list, HasSubstr("btree@9.8.7"));
  EXPECT_THAT(list, HasSubstr("tools/build_engine.sh rocksdb 10.4.2"));
}

}  // namespace
}  // namespace testbed
