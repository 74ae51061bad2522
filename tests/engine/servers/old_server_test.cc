// Tests the servers of MariaDB that are older than those of distributions, where they were fetched
// (tools/setup/fetch_mariadb.sh): what differs from the conformance suite, which runs on them
// nightly.
#ifdef TESTBED_HAVE_MYSQL
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "device/error.h"
#include "engines/mysql/unfinished_table.h"
#include "tests/engine/engine_test.h"
#include "tests/engine/setting_in_force.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

class OldServerTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    ASSERT_NE(::mkdtemp(directory_.data()), nullptr);
    options_.durability = Durability::kSync;
    options_.cache_bytes = 16 << 20;
    options_.extra = {{"server", GetParam()}, {"log_file_size", "16M"}};
    if (const std::string why = Missing(GetParam()); !why.empty()) GTEST_SKIP() << why;
  }
  void TearDown() override {
    engine_.reset();
    fs::remove_all(directory_);
  }
  // Returns why the server cannot be started; an empty string when it can.
  std::string Missing(const std::string& server) const {
    EngineOptions options = options_;
    options.extra["server"] = server;
    try {
      CheckEngineOptions(FindEngine("mysql"), options);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
  void Open() { engine_ = OpenEngine("mysql", Database(), options_); }
  void Reopen() {
    engine_.reset();
    Open();
  }
  std::string Database() const { return directory_ + "/db"; }
  std::string Schema() const { return Database() + "/cluster/testbed/"; }
  void Put(const std::string& table, const std::string& key, const std::string& value) {
    const TableId id = engine_->OpenTable(table);
    engine_->NewSession()->Put(id, key, value);
  }
  std::string Get(const std::string& table, const std::string& key) {
    const TableId id = engine_->OpenTable(table);
    const std::unique_ptr<Session> session = engine_->NewSession();
    std::string_view value;
    return session->Get(id, key, &value) ? std::string(value) : "(absent)";
  }
  std::string Effective(const std::string& name) const { return SettingInForce(*engine_, name); }
  void Note(const std::string& table) const {
    mysql::unfinished_table::Note(Database(), "testbed", "`testbed`.`" + table + "`");
  }
  bool HasNote() const { return fs::exists(Database() + "/" + mysql::unfinished_table::kFile); }

  // Direct IO needs a file system on a disk, so it is not under /tmp.
  std::string directory_ = fs::current_path().string() + "/old_server_XXXXXX";
  EngineOptions options_ = DefaultEngineOptions(FindEngine("mysql"));
  std::unique_ptr<Engine> engine_;
};

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const ServerChoice& server : FindEngine("mysql").servers()) names.push_back(server.name);
  return names;
}
INSTANTIATE_TEST_SUITE_P(Servers, OldServerTest, testing::ValuesIn(Names()),
                         [](const testing::TestParamInfo<std::string>& info) {
                           std::string name = info.param;
                           for (char& c : name) {
                             if (c == '@' || c == '.') c = '_';
                           }
                           return name;
                         });

TEST_P(OldServerTest, IsTheVersionThatWasAskedForInEachIoMode) {
  const std::string release = GetParam().substr(GetParam().find('@') + 1);
  for (const IoMode io : {IoMode::kDirect, IoMode::kBuffered}) {
    options_.io = io;
    Open();
    EXPECT_THAT(Effective("version"), HasSubstr(release));
    EXPECT_EQ(Effective("innodb_flush_method"), io == IoMode::kDirect ? "O_DIRECT" : "fsync");
    EXPECT_EQ(Effective("innodb_log_file_size"), std::to_string(8 << 20)) << "of two files";
    EXPECT_FALSE(engine_->KeepsIndexes());
    Put("t", std::string(768, 'k'), std::string(100000, 'v'));
    Reopen();
    EXPECT_EQ(Get("t", std::string(768, 'k')), std::string(100000, 'v'));
    engine_.reset();
    fs::remove_all(Database());
  }
}

TEST_P(OldServerTest, SettlesToNoDirtyPageAndKeepsItsSettings) {
  options_.durability = Durability::kLazy;
  Open();
  const std::string capacity = Effective("innodb_io_capacity");
  const TableId table = engine_->OpenTable("t");
  const std::unique_ptr<Session> session = engine_->NewSession();
  session->Begin();
  for (uint64_t row = 0; row < 2000; ++row) session->Put(table, RowKey(row), RowValue(row, 400));
  session->Commit();
  engine_->Settle();
  const EngineCounters counters = engine_->Counters();
  uint64_t dirty = UINT64_MAX;
  for (const auto& [name, value] : counters.now) {
    if (name == "buffer_pool_pages_dirty") dirty = value;
  }
  EXPECT_EQ(dirty, 0u);
  EXPECT_EQ(Effective("innodb_io_capacity"), capacity);
  EXPECT_THAT(Effective("innodb_max_dirty_pages_pct"), testing::StartsWith("75"));
}

// After a kill 10.1 did not start again: "space header page consists of zero bytes".
TEST_P(OldServerTest, StartsAfterAKillInTheMiddleOfMakingATable) {
  for (const bool whole : {false, true}) {
    SCOPED_TRACE(whole);
    fs::remove_all(Database());
    Open();
    Put("t", "k", "v");
    engine_.reset();
    Note("cut");
    std::ofstream(Schema() + "cut.frm") << "definition cut of";
    std::ofstream(Schema() + "cut.ibd") << std::string(65536, '\0');
    // The files may also be whole, and the server's dictionary knows nothing of them.
    for (const std::string end : {".frm", ".ibd"}) {
      if (!whole) break;
      fs::copy_file(Schema() + "t" + end, Schema() + "cut" + end,
                    fs::copy_options::overwrite_existing);
    }
    Open();
    EXPECT_FALSE(HasNote());
    EXPECT_EQ(Get("t", "k"), "v");
    Put("cut", "k", "later");
    Reopen();
    EXPECT_EQ(Get("cut", "k"), "later");
    EXPECT_FALSE(HasNote());
    engine_.reset();
  }
}

// Makes tables in a child that is killed, and with it its server, at a random moment.
TEST_P(OldServerTest, EachTableCanBeMadeAfterAKill) {
  using std::chrono::milliseconds;
  Open();
  Put("t", "k", "v");
  engine_.reset();
  std::mt19937_64 random(301);
  for (int round = 0; round < 4; ++round) {
    const std::string prefix = "r" + std::to_string(round) + "_";
    const auto has = [&](int table) {
      return fs::exists(Schema() + prefix + std::to_string(table) + ".frm");
    };
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      try {
        const std::unique_ptr<Engine> engine = OpenEngine("mysql", Database(), options_);
        for (int i = 0; i < 1000; ++i) engine->OpenTable(prefix + std::to_string(i));
      } catch (const std::exception&) {  // the parent sees that there is no table
      }
      ::_exit(0);
    }
    for (int i = 0; i < 60000 && !has(0); ++i) std::this_thread::sleep_for(milliseconds(1));
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 60'000));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    std::this_thread::sleep_for(milliseconds(300));  // the kernel kills the server, too
    int tables = 0;
    while (has(tables)) ++tables;
    EXPECT_GT(tables, 0);
    Open();
    EXPECT_FALSE(HasNote());
    EXPECT_EQ(Get("t", "k"), "v");
    for (int i = std::max(0, tables - 2); i <= tables; ++i) {
      const std::string table = prefix + std::to_string(i);
      Put(table, "k", table);
      EXPECT_EQ(Get(table, "k"), table);
    }
    engine_.reset();
  }
}

// A server would refuse the files of another version in words of its own, or change them for good.
TEST_P(OldServerTest, ADatabaseOfAnotherVersionIsRefusedByOneSentence) {
  Open();
  Put("t", "k", "v");
  engine_.reset();
  std::vector<std::string> others = Names();
  others.emplace_back("mariadb");
  for (const std::string& other : others) {
    if (other == GetParam() || !Missing(other).empty()) continue;
    options_.extra["server"] = other;
    const std::string sentence = ErrorOf(Error::kUsage, [&] { Open(); });
    EXPECT_THAT(sentence, HasSubstr("give --server " + GetParam() + ", or load it anew"));
    // The other way round.
    const std::string mine = directory_ + "/of_other";
    OpenEngine("mysql", mine, options_).reset();
    options_.extra["server"] = GetParam();
    EXPECT_THAT(ErrorOf(Error::kUsage, [&] { OpenEngine("mysql", mine, options_); }),
                HasSubstr("give --server " + other + ", or load it anew"));
    fs::remove_all(mine);
  }
  Open();
  EXPECT_EQ(Get("t", "k"), "v");
}

TEST_P(OldServerTest, RefusesWhatItCannotHonour) {
  options_.cache_bytes = 2 << 20;
  options_.page_size = 4096;
  EXPECT_THAT(Missing(GetParam()), HasSubstr("needs a cache of 5242880 bytes"));
  options_.cache_bytes = 16 << 20;
  options_.page_size = 16384;
  options_.extra["server_option"] = "nosuch=1";
  EXPECT_THAT(ErrorOf(Error::kUsage, [&] { Open(); }), HasSubstr("unknown variable 'nosuch=1'"));
  EXPECT_FALSE(fs::exists(Database() + "/cluster"));
  options_.extra["server_option"] = "innodb_log_files_in_group=3";
  EXPECT_THAT(Missing(GetParam()), HasSubstr("the run's own options"));
  options_.extra.erase("server_option");
  Open();
  const bool small = GetParam() == "mariadb@10.1.23";  // values up to a tenth of the log
  const std::string value(2 << 20, 'v');
  if (small) {
    EXPECT_THAT(ErrorOf(Error::kUsage, [&] { Put("t", "k", value); }),
                HasSubstr("values of up to 1677721, not"));
  } else {
    Put("t", "k", value);
    EXPECT_TRUE(Get("t", "k") == value);
  }
}

// An old server's first complaint is always that it has no tables of privileges.
TEST_P(OldServerTest, ALostConnectionIsToldWithoutTheServersUsualComplaint) {
  Open();
  Put("t", "k", "v");
  std::unique_ptr<Session> session = engine_->NewSession();
  const TableId table = engine_->OpenTable("t");
  pid_t server = 0;
  std::ifstream(Database() + "/cluster/server.pid") >> server;
  ASSERT_GT(server, 0);
  ::kill(server, SIGKILL);
  const std::string sentence = ErrorOf(Error::kIo, [&] {
    for (int i = 0; i < 1000; ++i) session->Put(table, std::to_string(i), "v");
  });
  session.reset();
  EXPECT_THAT(sentence, HasSubstr("lost"));
  EXPECT_THAT(sentence, Not(HasSubstr("privilege")));
  Reopen();
  EXPECT_EQ(Get("t", "k"), "v");
}

}  // namespace
}  // namespace testbed
#endif
