// Tests how the user chooses the server of a run, by --server and --connect, and which packages
// tools/run.sh installs for it.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/cli/command.h"
#include "tests/paths.h"

namespace testbed {
namespace {

constexpr char kShort[] =
    " --ram 256M --rows 2000 --seconds 0.3 --warmup 0 --threads 2 --account off --quiet ";

class ServerChoiceTest : public CommandTest, public testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    if (!HasEngine(GetParam())) GTEST_SKIP() << "there is no " << GetParam() << " here";
  }
  static std::string Server() { return GetParam() == "mysql" ? "mariadb" : "postgres"; }
};
INSTANTIATE_TEST_SUITE_P(Engines, ServerChoiceTest, testing::Values("postgres", "mysql"),
                         [](const auto& info) { return info.param; });

TEST_P(ServerChoiceTest, NamesTheServerThatTheRunStarts) {
  const std::string words = "--engine " + GetParam() + " --server " + Server() + " --cache-pct 20";
  const CommandResult loaded = Run(words + kShort + "--dir d --json out.json");
  ASSERT_EQ(loaded.code, 0) << loaded.err;
  EXPECT_EQ(Json("out.json")["options"]["engine_options"], (nlohmann::json{{"server", Server()}}));
  // The record of the database names the server, too.
  for (const std::string& again : {std::string(), "--server " + Server()}) {
    const CommandResult result =
        Run("--reuse --dir d --verify all --json out.json " + again + kShort);
    ASSERT_EQ(result.code, 0) << again << " " << result.err;
    EXPECT_EQ(Json("out.json")["options"]["engine_options"]["server"], Server());
  }
}

TEST_P(ServerChoiceTest, AnotherServerThanThatOfTheEngineIsRefused) {
  const std::string engine = "--engine " + GetParam();
  // Each is refused in the words of the user.
  const std::vector<std::pair<std::string, std::string>> spellings = {
      {" --server nosuch", "--server nosuch"},
      {":nosuch", engine + ":nosuch"},
      {" --engine-option server=nosuch", "--engine-option server=nosuch"}};
  for (const auto& [words, named] : spellings) {
    const CommandResult wrong = Run(engine + words);
    ExpectRefused(wrong, "cannot honour " + named);
    EXPECT_NE(wrong.err.find("it accepts " + Server()), std::string::npos) << wrong.err;
  }
  const std::string server = engine + " --server " + Server();
  ExpectRefused(Run(server + " --connect mysql://me@localhost/"), "give one of them");
  for (const std::string& option : {"server=" + Server(), std::string("connect=host=x")}) {
    ExpectRefused(Run(server + " --engine-option " + option),
                  "--engine-option " + option.substr(0, option.find('=')));
    ExpectRefused(Run(engine + " --connect host=x --engine-option " + option),
                  "--connect URL: --engine-option " + option.substr(0, option.find('=')));
  }
  ExpectRefused(Run(engine + ":" + Server() + " --server " + Server()), "names the server already");
  EXPECT_TRUE(DirectoryIsEmpty());
}

TEST_P(ServerChoiceTest, TheUrlOfConnectIsThatOfTheEngineOption) {
  const std::string url =
      GetParam() == "mysql" ? "mysql://me@127.0.0.1:1/" : "postgresql://me@127.0.0.1:1/test";
  const std::string engine = "--engine " + GetParam() + kShort;
  const CommandResult option = Run(engine + "--engine-option connect=" + url);
  ExpectRefused(option, "cannot connect to the server at 127.0.0.1:1: ");
  EXPECT_EQ(Run(engine + "--connect " + url).err, option.err);
  // libpq says this in two lines.
  if (GetParam() == "postgres") ExpectRefused(option, "Connection refused; Is the server running");
}

using NoServerTest = CommandTest;

TEST_F(NoServerTest, AnEngineThatSpeaksToNoServerRefusesOne) {
  ExpectRefused(Run("--engine btree --server mariadb"),
                "--server mariadb: btree does its work itself and speaks to no server");
  ExpectRefused(Run("--engine btree --connect mysql://me@localhost/"), "--connect URL: btree");
  ExpectRefused(Run("crashtest --engine btree --server postgres"), "--server postgres: btree");
  EXPECT_TRUE(DirectoryIsEmpty());
}

// The packages are those of the programs alone, as docs/servers.md has them.
TEST_F(NoServerTest, AServerThatIsNotInstalledNamesItsPackage) {
  const auto is_built = [](const char* name) {
    const auto& all = Engines();
    return std::any_of(all.begin(), all.end(), [&](const auto& i) { return i.name == name; });
  };
  if (is_built("postgres")) {
    ExpectRefused(
        Run("--engine postgres --server postgres@99"),
        "PostgreSQL 99 is not installed: apt-get install postgresql-99, or give --connect");
    for (const std::string version : {"", "15.3", "abc", "9", "9.5"}) {
      const CommandResult wrong = Run("--engine postgres --server postgres@" + version);
      ExpectRefused(wrong, version == "9" ? "PostgreSQL 9 is not installed"
                                          : "with a major version, such as postgres@15");
      if (version == "9") continue;
      EXPECT_NE(wrong.err.find("postgres@9.6.24, postgres@10.23"), std::string::npos) << wrong.err;
    }
  }
  if (is_built("mysql") && !HasEngine("mysql")) {
    ExpectRefused(Run("--engine mysql"), "apt-get install mariadb-server-core, or give");
  }
}

// The programs of older servers are fetched by a script, and no package has them.
TEST_F(NoServerTest, AnOlderServerThatIsNotThereNamesTheScriptThatFetchesIt) {
  const auto& all = Engines();
  if (std::none_of(all.begin(), all.end(), [](const auto& i) { return i.name == "mysql"; })) {
    GTEST_SKIP() << "there is no mysql in this build";
  }
  const std::string none = "TESTBED_CACHE_DIR=/nowhere";
  for (const std::string release : {"10.1.23", "10.2.11"}) {
    const std::string fetch = "`tools/setup/fetch_mariadb.sh " + release + "` fetches it once";
    const std::string major = release.substr(0, release.rfind('.'));
    ExpectRefused(Run("--engine mysql --server mariadb@" + release, none), fetch);
    ExpectRefused(Run("--engine mysql --server mariadb@" + major, none), fetch);
    ExpectRefused(Run("--engine mysql:mariadb@" + release, none), fetch);
    const std::string list = Run("list", none).out;
    EXPECT_NE(list.find("mariadb@" + release), std::string::npos) << list;
    EXPECT_NE(list.find("tools/setup/fetch_mariadb.sh " + release), std::string::npos) << list;
  }
  ExpectRefused(Run("--engine mysql --server mariadb@10.0.1"),
                "mysql cannot honour --server mariadb@10.0.1; it accepts mariadb, mariadb@10.1.23, "
                "mariadb@10.2.11, rocksdb");
  EXPECT_TRUE(DirectoryIsEmpty());
}

TEST_F(NoServerTest, AReleaseOfPostgresqlThatIsNotThereNamesTheScriptThatFetchesIt) {
  const auto& all = Engines();
  const auto info =
      std::find_if(all.begin(), all.end(), [](const auto& i) { return i.name == "postgres"; });
  if (info == all.end()) GTEST_SKIP() << "there is no postgres in this build";
  const std::string none = "TESTBED_CACHE_DIR=/nowhere";
  const std::string list = Run("list", none).out;
  for (const ServerChoice& server : info->servers()) {
    const std::string release = server.name.substr(server.name.find('@') + 1);
    const std::string fetch = "`tools/setup/fetch_postgres.sh " + release + "` fetches it once";
    ExpectRefused(Run("--engine postgres --server " + server.name, none), fetch);
    EXPECT_NE(list.find(server.name), std::string::npos) << list;
    EXPECT_NE(list.find("tools/setup/fetch_postgres.sh " + release), std::string::npos) << list;
  }
  // A major version may also be installed.
  if (!std::filesystem::exists("/usr/lib/postgresql/9.6")) {
    ExpectRefused(Run("--engine postgres --server postgres@9.6", none),
                  "`tools/setup/fetch_postgres.sh 9.6.24` fetches it once, or apt-get install "
                  "postgresql-9.6");
  }
  EXPECT_TRUE(DirectoryIsEmpty());
}

// The arguments of a server follow from its version, which a program is asked for.
TEST_F(NoServerTest, AProgramThatIsNoServerOfMariadbIsRefused) {
  const auto& all = Engines();
  if (std::none_of(all.begin(), all.end(), [](const auto& i) { return i.name == "mysql"; })) {
    GTEST_SKIP() << "there is no mysql in this build";
  }
  const std::filesystem::path program = directory_ / "mysqld";
  const auto refusal = [&](const std::string& says, const std::string& words = "") {
    std::ofstream(program) << "#!/bin/sh\necho '" << says << "'\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    return Run("--engine mysql --engine-option program=" + program.string() + words);
  };
  ExpectRefused(refusal("mysqld  Ver 5.5.62-MariaDB for Linux on x86_64"),
                "it takes a MariaDB of version 10.1.0 or later, and this one is 5.5.62");
  ExpectRefused(refusal("mysqld  Ver 8.0.36 for Linux on x86_64 (MySQL Community Server)"),
                "it takes the path of a mariadbd, and to --version this program says: mysqld  Ver");
  ExpectRefused(refusal("mysqld  Ver 10.1.23-MariaDB", " --server mariadb@10.1.23"),
                "server mariadb@10.1.23 sets the program; give one of them");
}

// An installed program is asked, too. Before 10.5 the log of MariaDB has two files.
TEST_F(NoServerTest, AnInstalledMariadbGetsTheArgumentsOfItsVersion) {
  const auto& all = Engines();
  if (std::none_of(all.begin(), all.end(), [](const auto& i) { return i.name == "mysql"; })) {
    GTEST_SKIP() << "there is no mysql in this build";
  }
  const std::filesystem::path bin = directory_ / "bin", words = directory_ / "words";
  std::filesystem::create_directory(bin);
  const auto start = [&](const std::string& version) {
    std::ofstream(bin / "mariadbd")
        << "#!/bin/sh\ncase \"$*\" in\n*--version) echo 'mariadbd  Ver " << version
        << "-MariaDB for Linux' ;;\n*) echo \"$*\" >" << words.string() << " ;;\nesac\n";
    std::filesystem::permissions(bin / "mariadbd", std::filesystem::perms::owner_all);
    return Run("--engine mysql" + std::string(kShort), "PATH=" + bin.string() + ":$PATH");
  };
  const CommandResult ended = start("10.4.34");
  if (ended.err.find("needs MariaDB's client library") != std::string::npos) {
    GTEST_SKIP() << ended.err;
  }
  EXPECT_NE(ended.code, 0);
  EXPECT_NE(Read(words).find("--innodb-log-files-in-group=2"), std::string::npos) << ended.err;
  start("10.11.14");
  EXPECT_EQ(Read(words).find("--innodb-log-files-in-group"), std::string::npos) << Read(words);
  EXPECT_NE(Read(words).find("--innodb-page-size"), std::string::npos) << Read(words);
  ExpectRefused(start("10.0.38"), "mysql cannot start " + (bin / "mariadbd").string() +
                                      ": it takes a MariaDB of version 10.1.0 or later, and this "
                                      "one is 10.0.38");
}

// Returns what a function of tools/setup/setup.sh prints, with a space after each line.
std::string SaidBySetup(const std::string& call) {
  const std::string command = "bash -c 'set -euo pipefail; source " + SourceDir() +
                              "/tools/setup/setup.sh; " + call + "' 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  std::string out(4096, 0);
  out.resize(fread(out.data(), 1, out.size(), pipe));
  EXPECT_EQ(pclose(pipe), 0) << out;
  std::replace(out.begin(), out.end(), '\n', ' ');
  return out;
}

// Where PostgreSQL is not installed, the script finds what FindRelease and FindOldServer find.
TEST_F(NoServerTest, RunShTakesTheNewestReleaseOfAMajorVersion) {
  const auto release = [](const std::string& name) {
    return SaidBySetup("release_of_server " + name);
  };
  EXPECT_EQ(release("postgres@18.6"), "18.6 ");
  EXPECT_EQ(release("mariadb@10.1.23"), "10.1.23 ");
  for (const char* none : {"postgres", "mariadb", "mariadb@10", "mariadb@10.1.2", "mariadb@10.11",
                           "postgres@9", "postgres@1", "postgres@13", "postgres@18."}) {
    EXPECT_EQ(release(none), "") << none;
  }
#if defined(__x86_64__)
  EXPECT_EQ(release("mariadb@10.1"), "10.1.23 ");
  EXPECT_EQ(release("mariadb@10.2"), "10.2.11 ");
  // The packages of another version are not those of the distribution.
  for (const std::string version : {"9.6", "10", "18"}) {
    const std::string name = "postgres@" + version;
    const bool installed = std::filesystem::exists("/usr/lib/postgresql/" + version) ||
                           std::filesystem::exists("/usr/pgsql-" + version);
    if (!installed) {
      EXPECT_TRUE(release(name).starts_with(version + ".")) << release(name);
    }
    EXPECT_EQ(SaidBySetup("package_of_server " + name).find("postgresql"), std::string::npos);
  }
#endif
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/usr/lib/postgresql", error)) {
    const std::string name = "postgres@" + entry.path().filename().string();
    if (!std::filesystem::exists(entry.path() / "bin/initdb")) continue;
    EXPECT_EQ(release(name), "") << name;
    EXPECT_EQ(SaidBySetup("package_of_server " + name), "") << name;
  }
}

// tools/run.sh installs a server only when the words ask for one that the run starts.
TEST_F(NoServerTest, RunShInstallsTheServerThatTheWordsName) {
  const auto servers = [](const std::string& words) {
    return SaidBySetup("servers_of_words " + words);
  };
  EXPECT_EQ(servers("--engine mysql --server mariadb --cache-pct 20"), "mariadb ");
  EXPECT_EQ(servers("--engine postgres --server=postgres@15"), "postgres@15 ");
  EXPECT_EQ(servers("crashtest --engine=postgres"), "postgres ");
  EXPECT_EQ(servers("--engine mysql:mariadb,btree,postgres:postgres@15"), "mariadb postgres@15 ");
  EXPECT_EQ(servers("--engine mysql --server mariadb@10.1.23"), "mariadb@10.1.23 ");
  EXPECT_EQ(servers("--engine postgres --server postgres@18.6"), "postgres@18.6 ");
  EXPECT_EQ(servers("--engine mysql:mariadb@10.2.11,mysql"), "mariadb mariadb@10.2.11 ");
  EXPECT_EQ(servers("--engine mysql:rocksdb"), "mariadb ");
  EXPECT_EQ(servers("--engine mysql --server rocksdb"), "mariadb ");
  EXPECT_EQ(servers("--engine rocksdb,btree"), "");
  EXPECT_EQ(servers("--engine mysql --connect mysql://me@db/"), "");
  EXPECT_EQ(servers("--engine postgres --engine-option connect=host=x"), "");
  EXPECT_EQ(servers("--engine mysql --engine-option program=/opt/mariadbd"), "");
  EXPECT_EQ(servers("--engine rocksdb --label mysql"), "");
  EXPECT_EQ(servers(""), "");
  EXPECT_EQ(servers("--fresh --engine postgres"), "postgres ");
  EXPECT_EQ(servers("--engine postgres --engine-option server=postgres@15"), "postgres@15 ");
  EXPECT_EQ(servers(R"(ab --a "engine=mysql threads=2" "--b=engine=postgres server=postgres@15")"),
            "mariadb postgres@15 ");
  EXPECT_EQ(servers(R"(ab --engine postgres --a threads=1 --b "engine=mysql program=/opt/m")"),
            "postgres ");
}

}  // namespace
}  // namespace testbed
