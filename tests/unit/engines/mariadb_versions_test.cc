// Tests what testbed knows of the versions of MariaDB: which arguments each accepts, which version
// has made a database, and how an older server is asked to write its pages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "device/error.h"
#include "engines/sql/mariadb_files.h"
#ifdef TESTBED_HAVE_MYSQL
#include "engines/mysql/old_server.h"
#include "engines/mysql/versions.h"
#include "engines/sql/mariadb_pages.h"
#include "engines/sql/mariadb_settings.h"
#endif

namespace testbed {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::Not;
using testing::StartsWith;

class MariadbFilesTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(::mkdtemp(directory_.data()), nullptr); }
  void TearDown() override { fs::remove_all(directory_); }
  // Writes a file that has these bytes at these offsets, and zeros before them.
  void Write(const std::string& name, const std::map<size_t, std::string>& parts) const {
    std::string text;
    for (const auto& [at, bytes] : parts) {
      text.resize(at);
      text += bytes;
    }
    fs::create_directories(fs::path(directory_ + "/" + name).parent_path());
    std::ofstream(directory_ + "/" + name, std::ios::binary) << text;
  }
  // Writes a system file whose header page has these flags.
  void WriteFlags(unsigned flags) const {
    const std::string bytes = {0, 0, static_cast<char>(flags >> 8), static_cast<char>(flags)};
    Write("ibdata1", {{24, std::string("\0\x08", 2)}, {54, bytes}});
  }

  std::string directory_ = testing::TempDir() + "mariadb_files_XXXXXX";
};

// The flags come from servers that were started with each page size: first those of 10.1.23 and
// 10.2.11, which are equal, and then those of 10.11.19.
TEST_F(MariadbFilesTest, TheSizeOfPagesIsKnownInBothFormats) {
  const std::map<unsigned, uint32_t> sizes = {{0x0c0, 4096},  {0x100, 8192},  {0, 16384},
                                              {0x180, 32768}, {0x1c0, 65536}, {0x13, 4096},
                                              {0x15, 16384}};
  for (const auto& [flags, size] : sizes) {
    WriteFlags(flags);
    EXPECT_EQ(mariadb::PageSizeOf(directory_), size) << flags;
  }
  Write("ibdata1", {{100, "x"}});
  EXPECT_FALSE(mariadb::PageSizeOf(directory_)) << "its first page was not written yet";
  fs::remove(directory_ + "/ibdata1");
  EXPECT_FALSE(mariadb::PageSizeOf(directory_));
}

// The first bytes of log files of 10.1.23, 10.2.11 and 10.11.19.
TEST_F(MariadbFilesTest, TheLogTellsTheVersion) {
  EXPECT_EQ(mariadb::LogVersionOf(directory_), 0u);
  Write("ib_logfile0", {{16, "    "}, {512, "x"}});
  EXPECT_EQ(mariadb::LogVersionOf(directory_), 100100u);
  Write("ib_logfile0", {{3, "\x01"}, {16, "MariaDB 10.2.11"}});
  EXPECT_EQ(mariadb::LogVersionOf(directory_), 100200u);
  Write("ib_logfile0", {{0, "Phys"}, {16, "MariaDB 10.11.19"}});
  EXPECT_EQ(mariadb::LogVersionOf(directory_), 100800u);
  Write("ib_logfile0", {{512, "x"}});
  EXPECT_EQ(mariadb::LogVersionOf(directory_), 0u) << "no log of any version is all zeros";
}

TEST_F(MariadbFilesTest, FilesHaveTheirKinds) {
  for (const char* binary_log : {"binlog.000001", "binlog.index", "binlog.state"}) {
    EXPECT_EQ(mariadb::KindOf(binary_log), FileKind::kBinaryLog) << binary_log;
  }
  EXPECT_EQ(mariadb::KindOf("testbed/binlog.ibd"), FileKind::kData) << "a table of that name";
  EXPECT_EQ(mariadb::KindOf("ib_logfile0"), FileKind::kLog);
  EXPECT_EQ(mariadb::KindOf("ibtmp1"), FileKind::kTemp);
  EXPECT_EQ(mariadb::KindOf("aria_log_control"), FileKind::kMeta);
}

TEST_F(MariadbFilesTest, EachFileOfALogMustBeThere) {
  for (const char* name : {"ibdata1", "ib_logfile0", "t/db.opt", "t/a.frm", "t/a.ibd"}) {
    Write(name, {{0, "x"}});
  }
  mariadb::CheckFilesThere(directory_, true);
  try {
    mariadb::CheckFilesThere(directory_, true, 2);
    ADD_FAILURE() << "a log of two files lacks one";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::kCorruption);
    EXPECT_THAT(error.what(), testing::HasSubstr("/ib_logfile1 is missing"));
  }
  Write("ib_logfile1", {{0, "x"}});
  mariadb::CheckFilesThere(directory_, true, 2);
}

#ifdef TESTBED_HAVE_MYSQL
TEST(MariadbVersionTest, IsTheFirstInAText) {
  EXPECT_EQ(mysql::ParseVersion("10.1.23-MariaDB"), 100123u);
  EXPECT_EQ(mysql::ParseVersion("Ver 15.1 Distrib 10.11.19-MariaDB, for debian"), 101119u);
  EXPECT_EQ(mysql::ParseVersion("10.2.11-MariaDB-10.2.11+maria~jessie"), 100211u);
  for (const char* none : {"", "10", "10.1", "10.1.", "no", "1000.1.1", "10..1.2"}) {
    EXPECT_EQ(mysql::ParseVersion(none), 0u) << none;
  }
  EXPECT_EQ(mysql::VersionName(100123), "10.1.23");
  EXPECT_EQ(mysql::ServerFor(100100), "mariadb@10.1.23");
  EXPECT_EQ(mysql::ServerFor(100200), "mariadb@10.2.11");
  EXPECT_EQ(mysql::ServerFor(100800), "mariadb");
  EXPECT_EQ(mysql::FindOldServer("mariadb"), nullptr);
}

TEST(MariadbVersionTest, AMajorVersionIsTheNewestReleaseOfIt) {
  for (const mysql::OldServer& server : mysql::OldServers()) {
    EXPECT_EQ(mysql::FindOldServer(server.name), &server);
  }
  ASSERT_NE(mysql::FindOldServer("mariadb@10.1"), nullptr);
  EXPECT_EQ(mysql::FindOldServer("mariadb@10.1")->release, "10.1.23");
  ASSERT_NE(mysql::FindOldServer("mariadb@10.2"), nullptr);
  EXPECT_EQ(mysql::FindOldServer("mariadb@10.2")->release, "10.2.11");
  for (const char* none : {"mariadb@10", "mariadb@10.1.", "mariadb@10.1.2", "mariadb@", "10.1"}) {
    EXPECT_EQ(mysql::FindOldServer(none), nullptr) << none;
  }
}

std::vector<std::string> Fitted(mysql::Version version, uint64_t pool = 64 << 20) {
  std::vector<std::string> arguments = {
      "--innodb-log-file-size=16777216", "--innodb-buffer-pool-chunk-size=1048576",
      "--loose-innodb-log-file-buffering=0", "--innodb-page-size=16384"};
  mysql::old_server::FitArguments(version, pool, &arguments);
  return arguments;
}

// A server ends when it meets an option that it does not know.
TEST(OldServerArgumentsTest, AreThoseThatTheVersionHas) {
  const std::vector<std::string> newest = {
      "--innodb-log-file-size=16777216", "--innodb-buffer-pool-chunk-size=1048576",
      "--loose-innodb-log-file-buffering=0", "--innodb-page-size=16384"};
  EXPECT_EQ(Fitted(mysql::kNewest), newest);
  const std::vector<std::string> of_10_2 = {
      "--innodb-log-file-size=8388608", "--innodb-buffer-pool-chunk-size=1048576",
      "--innodb-page-size=16384", "--innodb-log-files-in-group=2"};
  EXPECT_EQ(Fitted(100211), of_10_2) << "both files together have the size that was asked for";
  const std::vector<std::string> of_10_1 = Fitted(100123);
  EXPECT_THAT(of_10_1, Not(Contains(StartsWith("--innodb-buffer-pool-chunk-size"))));
  EXPECT_THAT(of_10_1, Contains("--innodb-buffer-pool-instances=1"));
  EXPECT_THAT(of_10_1, Contains("--innodb-file-format=Barracuda"));
  EXPECT_THAT(of_10_1, Contains("--innodb-large-prefix=1"));
  EXPECT_THAT(Fitted(100123, 1 << 30), Contains("--innodb-buffer-pool-instances=8"));
}

TEST(OldServerArgumentsTest, LimitsAreThoseOfTheVersion) {
  EXPECT_EQ(mysql::old_server::LeastPool(mysql::kNewest, 4096), 2u << 20);
  EXPECT_EQ(mysql::old_server::LeastPool(100123, 4096), 5u << 20);
  EXPECT_EQ(mysql::old_server::LeastPool(100211, 16384), 6u << 20);
  EXPECT_EQ(mysql::old_server::LeastPool(100211, 32768), 24u << 20);
  EXPECT_EQ(mysql::old_server::MaxValueSize(100211, 16 << 20), mariadb::kMaxValueSize);
  EXPECT_EQ(mysql::old_server::MaxValueSize(100123, 16 << 20), (16u << 20) / 10);
  EXPECT_EQ(mysql::old_server::MaxValueSize(100123, uint64_t{1} << 30), mariadb::kMaxValueSize);
}

// A stand-in for a server whose page cleaner writes a few pages between two looks at its state.
class SlowServer {
 public:
  std::vector<std::vector<std::string>> Ask(const std::string& sql) {
    said.push_back(sql);
    if (sql == "SHOW ENGINE INNODB STATUS") {
      // The log ends with the record of the checkpoint, which the checkpoint does not cover.
      if (variables.at("innodb_max_dirty_pages_pct") == "0.001") checkpoint += 100;
      if (checkpoint + 9 > end) checkpoint = end - 9;
      return {{"InnoDB", "",
               "---\nLOG\n---\nLog sequence number " + std::to_string(end) +
                   "\nLast checkpoint at  " + std::to_string(checkpoint) + "\n"}};
    }
    const std::string select = "SELECT @@GLOBAL.", set = "SET GLOBAL ";
    if (sql.starts_with(select)) return {{variables.at(sql.substr(select.size()))}};
    if (sql.starts_with(set)) {
      const size_t equals = sql.find(" = ");
      variables.at(sql.substr(set.size(), equals - set.size())) = sql.substr(equals + 3);
    }
    return {};
  }
  uint64_t end = 5000, checkpoint = 4400;
  std::map<std::string, std::string> variables = {{"innodb_io_capacity", "1000"},
                                                  {"innodb_io_capacity_max", "2000"},
                                                  {"innodb_max_dirty_pages_pct", "75.000000"}};
  std::vector<std::string> said;
};

TEST(OldServerPagesTest, AreWrittenAndTheServersVariablesStay) {
  SlowServer server;
  const auto before = server.variables;
  const mariadb::Ask ask = [&](const std::string& sql) { return server.Ask(sql); };
  const auto look = [&] {
    mariadb::PageState pages;
    mysql::old_server::ReadLog(ask, &pages);
    return pages;
  };
  mariadb::WritePages("mysql", ask, look, {.has_statement = false});
  EXPECT_GE(server.checkpoint + 64, server.end);
  EXPECT_EQ(server.variables, before);
  // The capacity must never exceed its maximum: the server would then raise the maximum for good.
  const std::vector<std::string> sets = {"SET GLOBAL innodb_io_capacity_max = 1000000",
                                         "SET GLOBAL innodb_io_capacity = 1000000",
                                         "SET GLOBAL innodb_max_dirty_pages_pct = 0.001",
                                         "SET GLOBAL innodb_max_dirty_pages_pct = 75.000000",
                                         "SET GLOBAL innodb_io_capacity = 1000",
                                         "SET GLOBAL innodb_io_capacity_max = 2000"};
  std::vector<std::string> seen;
  for (const std::string& sql : server.said) {
    if (sql.starts_with("SET")) seen.push_back(sql);
  }
  EXPECT_EQ(seen, sets);
}

// 10.2.11 has no status variable for the length of the history. Without that length a settle step
// would not wait for the purge.
TEST(OldServerPagesTest, ThePurgeIsFollowedByTheStatusOfInnodb) {
  const std::string status = "TRANSACTIONS\n---\nTrx id counter 7\nHistory list length 12\nLIST OF";
  const auto ask = [&](const std::string& sql) {
    EXPECT_EQ(sql, "SHOW ENGINE INNODB STATUS");
    return std::vector<std::vector<std::string>>{{"InnoDB", "", status}};
  };
  EXPECT_EQ(mysql::old_server::HistoryLength(ask), 12u);
  EXPECT_THROW(mysql::old_server::ParseStatus(status, "Log sequence number"), Error);
}

// The server wakes its purge once a second, and later on a busy machine.
TEST(PurgeTest, ItIsAwaitedFromOneOfItsRunsToTheNext) {
  using std::chrono::steady_clock;
  const auto run = steady_clock::now() + std::chrono::milliseconds(1200);
  uint64_t history = 0;
  mariadb::AwaitPurge([&] {
    history = steady_clock::now() < run ? 3 : 0;
    return mariadb::PurgeState{.history = history};
  });
  EXPECT_EQ(history, 0u);
}

// The purge still reads pages after it has removed the last version of a row.
TEST(PurgeTest, ItsReadsAreAwaited) {
  constexpr uint64_t kHistory = 2, kHeaders = 15;
  uint64_t calls = 0;
  mariadb::AwaitPurge([&] {
    const uint64_t call = calls++;
    return mariadb::PurgeState{.history = call < kHistory ? kHistory - call : 0,
                               .pages_read = 1000 + std::min(call, kHistory + kHeaders)};
  });
  EXPECT_GT(calls, kHistory + kHeaders);
}

// On a server that runs already, transactions of other clients change the length of the history and
// read pages all the time.
TEST(PurgeTest, OtherClientsDoNotLetItWaitForEver) {
  constexpr std::chrono::milliseconds kPatience(60);
  for (const uint64_t least : {0, 7}) {
    uint64_t calls = 0;
    mariadb::AwaitPurge(
        [&] {
          ++calls;
          return mariadb::PurgeState{.history = least + calls % 2, .pages_read = calls};
        },
        kPatience);
    EXPECT_GT(calls, 1u) << least;
  }
}
#endif

}  // namespace
}  // namespace testbed
