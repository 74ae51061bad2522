#include "workloads/keys/key_set.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include "device/error.h"
#include "device/os/signal_guard.h"
#include "workloads/keys/key_source.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

class KeySetTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::current_path() / "key_set_test_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = fs::canonical(pattern);
  }
  void TearDown() override { fs::remove_all(directory_); }

  void Write(const std::string& name, const std::string& text = "x") {
    fs::create_directories((directory_ / name).parent_path());
    std::ofstream(directory_ / name) << text;
  }
  // Returns the sentence with which a set is refused.
  static std::string Refusal(const std::string& keys, const KeySetOrigins& from = {}) {
    try {
      (void)ReadKeySet(keys, from);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::kUsage) << keys;
      return error.what();
    }
    return keys + " was not refused";
  }

  fs::path directory_;
};

TEST_F(KeySetTest, ANameIsASetAndEverythingElseAFile) {
  for (const char* set : {"words", "places", "packages", "paths", "paths:", "paths:/usr/share"}) {
    EXPECT_TRUE(IsKeySet(set)) << set;
  }
  for (const char* file : {"", "./words", "/usr/words", "word", "Words", "path:x", "words:x"}) {
    EXPECT_FALSE(IsKeySet(file)) << file;
  }
}

TEST_F(KeySetTest, TheWordsOfAFileAreSortedAndEachIsThereOnce) {
  Write("dictionary", "pear\n\xc3\xa9tude\napple\n\npear\nApple\nquince");
  const KeySetOrigins from = {.words = directory_ / "dictionary",
                              .places = directory_ / "dictionary"};
  const std::string sorted = "Apple\napple\npear\nquince\n\xc3\xa9tude\n";
  EXPECT_EQ(ReadKeySet("words", from), sorted);
  EXPECT_EQ(ReadKeySet("places", from), sorted);
}

TEST_F(KeySetTest, WhatIsNotHereIsNamedWithWhatBringsIt) {
  const std::string file = directory_ / "nothing";
  const KeySetOrigins from = {.words = file, .places = file};
  EXPECT_EQ(Refusal("words", from),
            "--keys words needs " + file +
                ", which `apt install wamerican-huge` installs; a file named words is given as "
                "./words");
  EXPECT_EQ(Refusal("places", from),
            "--keys places needs " + file +
                ", which `tools/setup/fetch_places.sh` fetches; a file named places is given as "
                "./places");
  // A directory in place of the file does not count.
  EXPECT_NE(Refusal("words", {.words = directory_}).find("--keys words ("), std::string::npos);
}

TEST_F(KeySetTest, PathsAreThoseOfRegularFiles) {
  Write("b/two");
  Write("b-file");
  Write(".hidden");
  Write("a/deep/er/one");
  Write("line\nend");
  Write("line\nend of a directory/file");
  fs::create_symlink("b-file", directory_ / "link");
  fs::create_directory_symlink("/usr", directory_ / "b/usr");
  ASSERT_EQ(::mkfifo((directory_ / "fifo").c_str(), 0600), 0);
  const std::string top = directory_;
  const std::string paths =
      top + "/.hidden\n" + top + "/a/deep/er/one\n" + top + "/b-file\n" + top + "/b/two\n";
  EXPECT_EQ(ReadKeySet("paths:" + top), paths);
  EXPECT_EQ(ReadKeySet("paths:" + top + "/a/../"), paths);
  EXPECT_EQ(ReadKeySet("paths", {.paths = top}), paths);
  EXPECT_EQ(ReadKeySet("paths:" + top + "/b"), top + "/b/two\n");
}

// DIR of paths:DIR may be a symbolic link to a directory. Links below it are not followed.
TEST_F(KeySetTest, ThePathsBelowALinkAreThoseOfItsDirectory) {
  Write("here/file");
  fs::create_directory_symlink("here", directory_ / "link");
  EXPECT_EQ(ReadKeySet("paths:" + (directory_ / "link").string()),
            (directory_ / "here/file").string() + "\n");
}

TEST_F(KeySetTest, ADirectoryWithoutPathsIsRefused) {
  Write("file");
  const std::string top = directory_;
  EXPECT_EQ(Refusal("paths:"), "--keys paths: names no directory; give paths or paths:DIR");
  EXPECT_EQ(Refusal("paths:" + top + "/file"),
            "--keys paths:" + top + "/file: " + top +
                "/file is no directory; give paths:DIR with a directory of files");
  EXPECT_EQ(Refusal("paths:" + top + "/none"),
            "--keys paths:" + top + "/none: " + top +
                "/none cannot be read: No such file or directory; give paths:DIR with a directory "
                "of files");
  Write("line\nend/file");
  EXPECT_NE(Refusal("paths:" + top + "/line\nend").find("has a line end, and a key is a line"),
            std::string::npos);
  fs::remove_all(directory_ / "line\nend");
  fs::remove(directory_ / "file");
  // The files of /proc are the kernel's.
  for (const std::string& empty : {top, std::string("/proc")}) {
    EXPECT_NE(Refusal("paths:" + empty)
                  .find("finds no key: a key is the path of a regular file "
                        "below " +
                        empty),
              std::string::npos)
        << Refusal("paths:" + empty);
  }
}

// Sets an environment variable while it lives.
class ChangedVariable {
 public:
  ChangedVariable(const char* name, const std::string& value) : name_(name) {
    if (const char* const before = std::getenv(name)) before_ = before;
    ::setenv(name, value.c_str(), 1);
  }
  ~ChangedVariable() {
    if (before_) {
      ::setenv(name_, before_->c_str(), 1);
    } else {
      ::unsetenv(name_);
    }
  }
  ChangedVariable(const ChangedVariable&) = delete;
  ChangedVariable& operator=(const ChangedVariable&) = delete;

 private:
  const char* const name_;
  std::optional<std::string> before_;
};

TEST_F(KeySetTest, FetchedPlacesLieInTheCacheFolder) {
  const ChangedVariable mine("TESTBED_CACHE_DIR", "/mine");
  EXPECT_TRUE(FetchedPlaces().starts_with("/mine/places-")) << FetchedPlaces();
  EXPECT_TRUE(FetchedPlaces().ends_with("/places")) << FetchedPlaces();
  EXPECT_EQ(KeySourceFile("places"), FetchedPlaces());
  // An empty variable counts as unset.
  const ChangedVariable none("TESTBED_CACHE_DIR", "");
  EXPECT_TRUE(fs::path(FetchedPlaces()).is_absolute()) << FetchedPlaces();
  EXPECT_FALSE(FetchedPlaces().starts_with("/mine"));
}

// Another user may have built the program, as with a Debian package.
TEST_F(KeySetTest, PlacesThatThisUserHasFetchedAreFound) {
  fs::path name;  // of the folder, with the version
  {
    const ChangedVariable mine("TESTBED_CACHE_DIR", "/mine");
    name = fs::path(FetchedPlaces()).parent_path().filename();
  }
  const ChangedVariable none("TESTBED_CACHE_DIR", "");
  const std::string in_cache = "cache/testbed/" + name.string() + "/places";
  const std::string in_home = "home/.cache/testbed/" + name.string() + "/places";
  const ChangedVariable home("HOME", directory_ / "home");
  {
    const ChangedVariable cache("XDG_CACHE_HOME", directory_ / "cache");
    // When nobody has fetched the places, this is the path that they would have for this user.
    const std::string nowhere = FetchedPlaces();
    EXPECT_TRUE(nowhere == (directory_ / in_cache).string() || fs::exists(nowhere)) << nowhere;
    Write(in_cache);
    EXPECT_EQ(FetchedPlaces(), (directory_ / in_cache).string());
  }
  const ChangedVariable no_cache("XDG_CACHE_HOME", "");
  Write(in_home);
  EXPECT_EQ(FetchedPlaces(), (directory_ / in_home).string());
  const ChangedVariable no_home("HOME", "");
  EXPECT_TRUE(fs::path(FetchedPlaces()).is_absolute()) << FetchedPlaces();
}

// A command reads its keys several times, and files change, come and go meanwhile.
TEST_F(KeySetTest, ASetAndAFileStayTheSameInAProcess) {
  Write("set/one");
  const std::string set = "paths:" + (directory_ / "set").string();
  const std::shared_ptr<const std::string> first = ReadKeys(set);
  EXPECT_EQ(*first, (directory_ / "set/one").string() + "\n");
  Write("set/two");
  EXPECT_EQ(ReadKeys(set), first);
  EXPECT_EQ(ReadKeySet(set), *first + (directory_ / "set/two").string() + "\n");

  const std::string file = directory_ / "file";
  Write("file", "pear\r\n");
  EXPECT_THROW((void)ReadKeys(file), Error);
  Write("file", "pear\napple\n");
  const std::shared_ptr<const std::string> text = ReadKeys(file);
  EXPECT_EQ(*text, "pear\napple\n") << "in the order of the file";
  Write("file", "plum\n");
  EXPECT_EQ(ReadKeys(file), text) << "held once";
  fs::remove(file);
  EXPECT_EQ(ReadKeys(file), text);
}

TEST_F(KeySetTest, ASetIsLentToThePrograms) {
  Write("set/one");
  const std::string set = "paths:" + (directory_ / "set").string();
  EXPECT_EQ(LendKeys("").file, "");
  const LentKeys lent = LendKeys(set);
  EXPECT_EQ(LendKeys(set).file, lent.file) << "one file for all of them";
  fs::remove_all(directory_ / "set");
  const std::string borrowed = set + "/of/another/process";
  BorrowKeys(borrowed, lent);
  EXPECT_EQ(*ReadKeys(borrowed), (directory_ / "set/one").string() + "\n");
}

TEST_F(KeySetTest, AFileIsLentWhereItIsAndAnotherTextIsRefused) {
  const std::string file = directory_ / "file";
  Write("file", "pear\n");
  const LentKeys lent = LendKeys(file);
  EXPECT_EQ(lent.file, file);
  EXPECT_EQ(lent.hash, HashOfKeys("pear\n"));
  BorrowKeys("of another process", lent);
  EXPECT_EQ(*ReadKeys("of another process"), "pear\n");
  Write("file", "plum\n");
  try {
    BorrowKeys("of a third process", lent);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::kUsage);
    EXPECT_STREQ(error.what(),
                 "--keys of a third process has changed since the command began; leave the file as "
                 "it is until the command has ended");
  }
}

TEST_F(KeySetTest, ARequestToStopEndsTheSearchForPaths) {
  Write("file");
  const SignalGuard signals;
  ASSERT_EQ(std::raise(SIGTERM), 0);
  EXPECT_THROW((void)ReadKeySet("paths:" + directory_.string()), Stopped);
}

// A directory that could not be opened for want of a descriptor is not one without files.
TEST_F(KeySetTest, ASearchThatTheSystemCannotGoOnWithMakesNoSet) {
  Write("file");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  std::string said;
  Error::Kind kind = Error::kUsage;
  try {
    said = ReadKeySet("paths:" + directory_.string());
  } catch (const Error& error) {
    kind = error.kind();
    said = error.what();
  }
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(kind, Error::kIo) << said;
  EXPECT_NE(said.find(directory_.string()), std::string::npos) << said;
}

// The closed directory changes nothing for any user but root, who may list it.
TEST_F(KeySetTest, ADirectoryThatThisUserMayNotListIsPassedOver) {
  Write("file");
  Write("closed/file");
  fs::permissions(directory_ / "closed", fs::perms::none);
  const bool listed = ::access((directory_ / "closed").c_str(), R_OK | X_OK) == 0;
  const std::string set = ReadKeySet("paths:" + directory_.string());
  fs::permissions(directory_ / "closed", fs::perms::owner_all);
  const std::string closed = listed ? (directory_ / "closed/file").string() + "\n" : "";
  EXPECT_EQ(set, closed + (directory_ / "file").string() + "\n");
}

TEST_F(KeySetTest, KeysThatComeFromOneFileNameIt) {
  EXPECT_EQ(KeySourceFile("keys.txt"), "keys.txt");
  EXPECT_EQ(KeySourceFile("words"), "/usr/share/dict/american-english-huge");
  for (const char* none : {"", "packages", "paths", "paths:/usr"}) {
    EXPECT_EQ(KeySourceFile(none), "") << none;
  }
}

}  // namespace
}  // namespace testbed
