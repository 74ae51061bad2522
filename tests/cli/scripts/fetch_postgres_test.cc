// Tests tools/setup/fetch_postgres.sh, which fetches releases of PostgreSQL, in a small tree of its
// own: its jar and Maven are stand-ins.
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

// Makes the jar, which has one archive, the table that names it, and a Maven that has it.
constexpr char kPostgresTree[] = R"sh(python3 - <<'END'
import io, tarfile, zipfile
packed = io.BytesIO()
with tarfile.open(fileobj=packed, mode="w:xz") as tar:
    for name in ["bin/initdb", "bin/postgres", "bin/pg_ctl", "lib/libpq.so.5.1", "lib/libpq.a",
                 "share/postgresql/postgres.bki", "share/../../escaped"]:
        text = ("#!/bin/sh\necho " + name + "\n").encode()
        entry = tarfile.TarInfo(name)
        entry.size = len(text)
        tar.addfile(entry, io.BytesIO(text))
    for name, target in [("lib/libpq.so.5", "libpq.so.5.1"), ("lib/out", "../../../escaped")]:
        link = tarfile.TarInfo(name)
        link.type, link.linkname = tarfile.SYMTYPE, target
        tar.addfile(link)
with zipfile.ZipFile("a.jar", "w") as jar:
    jar.writestr("META-INF/MANIFEST.MF", "x")
    jar.writestr("postgres-linux-x86_64.txz", packed.getvalue())
END
printf 'mariadb 2.0.0 2000-01 a:b:2.0.0 x\npostgres 1.10 2000-01 a:b:1.10.0 %s\n' "$(sha256sum <a.jar | cut -d' ' -f1)" >setup/server_releases
mkdir bin
printf '#!/bin/bash\necho "mvn $*" >>calls\nfor word; do [[ $word != -DoutputDirectory=* ]] || into=${word#*=}; done\nmkdir -p "$into"\ncp a.jar "$into/b-1.10.0.jar"\n' >bin/mvn
chmod +x bin/mvn)sh";

class FetchPostgresTest : public FetchScriptTest {
 protected:
  FetchPostgresTest() : FetchScriptTest("fetch_postgres.sh", kPostgresTree) {}

  fs::path Folder() const { return directory_ / "cache/postgres-1.10"; }
};

TEST_F(FetchPostgresTest, UnpacksWhatAServerNeedsOnce) {
  for (int time = 0; time < 2; ++time) {
    EXPECT_EQ(Fetch("1.10"), 0) << said_;
    EXPECT_THAT(said_, HasSubstr(Folder().string() + "\n"));
    const std::string calls = Read(directory_ / "calls");
    EXPECT_EQ(std::count(calls.begin(), calls.end(), '\n'), 1) << calls;
    EXPECT_THAT(calls, HasSubstr("-Dartifact=a:b:1.10.0"));
  }
  EXPECT_EQ(Shell(Folder().string() + "/bin/postgres"), 0) << said_;
  EXPECT_EQ(said_, "bin/postgres\n");
  for (const char* file : {"bin/initdb", "lib/libpq.so.5", "share/postgresql/postgres.bki"}) {
    EXPECT_TRUE(fs::exists(Folder() / file)) << file;
  }
  EXPECT_FALSE(fs::exists(Folder() / "bin/pg_ctl")) << "the run starts and ends its servers";
  EXPECT_FALSE(fs::exists(Folder() / "lib/libpq.a"));
  EXPECT_FALSE(fs::exists(fs::symlink_status(Folder() / "lib/out"))) << "a link to elsewhere";
  EXPECT_FALSE(fs::exists(directory_ / "escaped"));
  EXPECT_FALSE(fs::exists(directory_ / "cache/escaped"));
  EXPECT_EQ(Fetch("--remove 1.10"), 0) << said_;
  EXPECT_FALSE(fs::exists(Folder()));
}

// The server that root starts runs as another user.
TEST_F(FetchPostgresTest, OtherUsersCanReadAndExecuteThePrograms) {
  EXPECT_EQ(Fetch("1.10", "bash -c 'umask 077; exec \"$0\" \"$@\"' "), 0) << said_;
  const auto permits = [&](const char* file, fs::perms wanted) {
    return (fs::status(Folder() / file).permissions() & wanted) == wanted;
  };
  EXPECT_TRUE(permits("", fs::perms::others_read | fs::perms::others_exec));
  EXPECT_TRUE(permits("bin/postgres", fs::perms::others_read | fs::perms::others_exec));
  EXPECT_TRUE(permits("share/postgresql/postgres.bki", fs::perms::others_read));
}

TEST_F(FetchPostgresTest, TakesNoOtherJarThanTheOneThatIsPinned) {
  ASSERT_EQ(Shell("echo more >>a.jar; cp a.jar b.jar"), 0);
  EXPECT_EQ(Fetch("1.10"), 1);
  EXPECT_THAT(said_, HasSubstr("the jar of PostgreSQL 1.10 has a wrong SHA-256"));
  EXPECT_EQ(Fetch("1.10", "TESTBED_POSTGRES_JAR=b.jar"), 1);
  EXPECT_THAT(said_, HasSubstr("has a wrong SHA-256"));
  EXPECT_EQ(Fetch("1.10", "TESTBED_POSTGRES_JAR=none.jar"), 1);
  EXPECT_THAT(said_, HasSubstr("cannot read TESTBED_POSTGRES_JAR=none.jar"));
  EXPECT_FALSE(fs::exists(Folder()));
}

// 1.1 is another release than 1.10, although both are the same number.
TEST_F(FetchPostgresTest, NamesTheReleasesThatThereAre) {
  EXPECT_EQ(Fetch(""), 0);
  EXPECT_EQ(said_, "1.10\n");
  for (const char* words : {"2.0.0", "1.1", "1.100", "1.10 1.10", "--remove", "--remove ../x"}) {
    EXPECT_EQ(Fetch(words), 1) << words;
    EXPECT_THAT(said_, HasSubstr("takes a release of PostgreSQL: 1.10.")) << words;
  }
  EXPECT_EQ(Fetch("--where"), 0);
  EXPECT_EQ(said_, (directory_ / "cache").string() + "\n");
}

// The table and engines/postgres/versions.cc name the same releases.
TEST(PostgresReleasesTest, AreThoseThatTheEngineNames) {
  std::vector<std::string> table, names;
  std::ifstream file(SourceDir() + "/tools/setup/server_releases");
  for (std::string server, release, from; file >> server;) {
    if (server == "postgres" && file >> release >> from) {
      table.push_back("postgres@" + release + " " + from);
    }
    std::string rest;
    std::getline(file, rest);
  }
  ASSERT_FALSE(table.empty());
  for (const EngineInfo& info : Engines()) {
    if (info.name != "postgres") continue;
    for (const ServerChoice& server : info.servers()) {
      names.push_back(server.name + " " + server.from);
    }
    EXPECT_EQ(names, table);
    return;
  }
  GTEST_SKIP() << "there is no postgres in this build";
}

}  // namespace
}  // namespace testbed
