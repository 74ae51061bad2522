// Tests a PostgreSQL server that root has started. It runs as a user that other programs of the
// machine may have as well, so it must have no rights of root that they could use, and must not
// admit them.
#ifdef TESTBED_HAVE_POSTGRES
#include <gtest/gtest.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "engines/postgres/settings.h"
#include "tests/engine/engine_test.h"
#include "tests/engine/setting_in_force.h"

namespace testbed {
namespace {

class PostgresServerTest : public EngineTest {
 protected:
  std::string Cluster() const { return dir_ + "/cluster"; }
  static std::string TextOf(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // Returns the output of psql, which connects as user `name` of the server. `prefix` is a command
  // that runs it. `sql` has no quotation marks of the shell.
  std::string Ask(const std::string& name, const std::string& prefix = "",
                  const std::string& sql = "SELECT 40 + 2") const {
    // The user may not be able to search the directories above the cluster, so psql inherits it as
    // an open descriptor.
    const std::string command = "PGCONNECT_TIMEOUT=20 " + prefix + " " + psql_ +
                                " -h /proc/self/fd/9 -U " + name + " -d postgres -Atc '" + sql +
                                "' 2>&1 </dev/null 9<" + Cluster();
    std::string said;
    FILE* const pipe = ::popen(command.c_str(), "r");
    char buffer[512];
    while (const size_t n = ::fread(buffer, 1, sizeof buffer, pipe)) said.append(buffer, n);
    ::pclose(pipe);
    return said;
  }

  std::string Setting(const std::string& wanted) const { return SettingInForce(*engine_, wanted); }

  const std::string psql_ = postgres::FindPrograms("") + "/psql";
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PostgresServerTest);
INSTANTIATE_TEST_SUITE_P(Engines, PostgresServerTest,
                         testing::Values(EngineCase{.engine = "postgres", .io = IoMode::kBuffered}),
                         EngineCaseName);

TEST_P(PostgresServerTest, HasNoCapability) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root has something to lend";
  Open();
  std::ifstream file(Cluster() + "/postmaster.pid");
  pid_t server = 0;
  file >> server;
  const std::string status = TextOf("/proc/" + std::to_string(server) + "/status");
  for (const char* kind : {"CapInh", "CapPrm", "CapEff", "CapAmb"}) {
    EXPECT_NE(status.find(std::string(kind) + ":\t0000000000000000\n"), std::string::npos)
        << kind << ": " << status;
  }
}

TEST_P(PostgresServerTest, AdmitsTheUserOfTheRunAlone) {
  if (::access(psql_.c_str(), X_OK) != 0) GTEST_SKIP() << "there is no " << psql_;
  Open();
  EXPECT_EQ(Ask("testbed"), "42\n");
  EXPECT_NE(Ask("postgres").find("FATAL"), std::string::npos);
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  struct stat owner {};
  ASSERT_EQ(::stat(Cluster().c_str(), &owner), 0);
  const std::string as_the_server = "setpriv --reuid " + std::to_string(owner.st_uid) +
                                    " --regid " + std::to_string(owner.st_gid) + " --clear-groups";
  const std::string said = Ask("testbed", as_the_server);
  EXPECT_NE(said.find("Peer authentication failed"), std::string::npos) << said;
}

// The server also writes down the errors of statements, after which a connection goes on.
TEST_P(PostgresServerTest, AnErrorOfAStatementIsNotWhyAConnectionIsLost) {
  if (::access(psql_.c_str(), X_OK) != 0) GTEST_SKIP() << "there is no " << psql_;
  Open();
  Put("k", "v");
  const std::string said = Ask("testbed", "", "SELECT 1 / 0");
  EXPECT_NE(said.find("division by zero"), std::string::npos) << said;
  pid_t server = 0;
  std::ifstream(Cluster() + "/postmaster.pid") >> server;
  // With its first process its others end, too.
  ::kill(server, SIGKILL);
  const std::string sentence = ErrorOf(Error::kIo, [&] {
    for (int i = 0; i < 1000; ++i) Put("k" + std::to_string(i), "v");
  });
  EXPECT_NE(sentence.find("is lost"), std::string::npos) << sentence;
  EXPECT_EQ(sentence.find("division"), std::string::npos) << sentence;
}

// The lock of another transaction makes the commit fail, since the writes are sent with it.
TEST_P(PostgresServerTest, ACommitThatFailsEndsItsTransaction) {
  options_.extra = {{"conflict_wait_ms", "0"}, {"server_option", "lock_timeout=10"}};
  Open();
  Put("held", "0");
  const std::unique_ptr<Session> holder = engine_->NewSession();
  std::string_view value;
  holder->Begin();
  holder->Put(table_, "held", "1");
  EXPECT_TRUE(holder->Get(table_, "held", &value));  // the server has the write, and its lock
  session_->Begin();
  Put("held", "2");
  ErrorOf(Error::kRun, [&] { session_->Commit(); });
  Put("free", "3");
  holder->Commit();
  EXPECT_TRUE(holder->Get(table_, "free", &value)) << "a write that no commit follows";
  EXPECT_EQ(Get("held"), "1");
  session_->Begin();
  session_->Rollback();
}

// The server answers a write outside of a transaction, and then commits it when the pipeline ends.
TEST_P(PostgresServerTest, AWriteWhoseCommitFailsIsNotAcknowledged) {
  if (::access(psql_.c_str(), X_OK) != 0) GTEST_SKIP() << "there is no " << psql_;
  Open();
  const auto run = [&](const std::string& sql) { return Ask("testbed", "", sql); };
  EXPECT_EQ(run("CREATE FUNCTION testbed.refuse() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN "
                "RAISE EXCEPTION $q$not this one$q$; END$$"),
            "CREATE FUNCTION\n");
  EXPECT_EQ(run("CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON testbed.\"default\" DEFERRABLE "
                "INITIALLY DEFERRED FOR EACH ROW EXECUTE PROCEDURE testbed.refuse()"),
            "CREATE TRIGGER\n");
  const std::string sentence = ErrorOf(Error::kRun, [&] { Put("k", "v"); });
  EXPECT_NE(sentence.find("not this one"), std::string::npos) << sentence;
  EXPECT_EQ(Get("k"), kAbsent);
  EXPECT_EQ(run("DROP TRIGGER refuse ON testbed.\"default\""), "DROP TRIGGER\n");
  Put("k", "v");
  EXPECT_EQ(Get("k"), "v");
}

// On a server of others nothing else tells that lazy commits are no longer made durable.
TEST_P(PostgresServerTest, CommitsFailAfterTheirLazySyncHasFailed) {
  if (::access(psql_.c_str(), X_OK) != 0) GTEST_SKIP() << "there is no " << psql_;
  options_.durability = Durability::kSync;
  Open();
  EngineOptions options = options_;
  options.durability = Durability::kLazy;
  options.lazy_interval_ms = 20;
  options.extra = {{"schema", "shelf"},
                   {"connect", "host=" + Cluster() + " user=testbed dbname=postgres"}};
  const std::unique_ptr<Engine> engine = OpenEngine("postgres", dir_ + "/shelf", options);
  const TableId table = engine->OpenTable("t");
  const std::unique_ptr<Session> session = engine->NewSession();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  const auto in_time = [&] { return std::chrono::steady_clock::now() < deadline; };
  std::string ended;
  while (ended.empty() && in_time()) {
    session->Put(table, "k", "v");
    ended = Ask("testbed", "",
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> "
                "pg_backend_pid() AND query LIKE $$%emit_message%$$");
  }
  EXPECT_EQ(ended, "t\n");
  const std::string sentence = ErrorOf(Error::kIo, [&] {
    while (in_time()) session->Put(table, "k", "w");
  });
  EXPECT_NE(sentence.find("lost"), std::string::npos) << sentence;
}

// PostgreSQL begins a checkpoint at a part of max_wal_size, and starts with two segments at least.
TEST_P(PostgresServerTest, TheLogBetweenCheckpointsFollowsTheMemory) {
  options_.ram_bytes = 256 * kMiB;
  options_.extra["wal_segment_size"] = "64M";
  Open();
  EXPECT_EQ(Setting("checkpoint_log_bytes"), std::to_string(256 * kMiB));
  EXPECT_EQ(Setting("max_wal_size"), "512MB");  // 4 segments * 1.9, rounded up
  EXPECT_EQ(Setting("min_wal_size"), "128MB");
  Close();
  options_.extra["server_option"] = "Checkpoint-Completion-Target=0.5";
  Open();
  EXPECT_EQ(Setting("max_wal_size"), "384MB");
}

TEST_P(PostgresServerTest, ACheckpointBeginsAtItsDistance) {
  if (::access(psql_.c_str(), X_OK) != 0) GTEST_SKIP() << "there is no " << psql_;
  options_.extra["checkpoint_log_bytes"] = "32M";
  options_.extra["server_option"] = "log_checkpoints=on";
  Open();
  engine_->Checkpoint();
  const auto has_begun = [&] {
    return TextOf(dir_ + "/server.log").find("checkpoint starting: wal") != std::string::npos;
  };
  const auto log_a_megabyte = [&] {
    Ask("testbed", "", "SELECT pg_logical_emit_message(true, $$t$$, repeat($$x$$, 1000000))");
  };
  for (int megabytes = 0; megabytes < 28; ++megabytes) {
    log_a_megabyte();
    ASSERT_FALSE(has_begun()) << "after " << megabytes << " MB of 32 MiB";
  }
  for (int megabytes = 0; megabytes < 100 && !has_begun(); ++megabytes) log_a_megabyte();
  EXPECT_TRUE(has_begun());
}

// What the log has of pages depends on how long ago the last checkpoint was.
TEST_P(PostgresServerTest, ALoadOnAGivenServerBeginsWithACheckpoint) {
  if (::access(psql_.c_str(), X_OK) != 0) GTEST_SKIP() << "there is no " << psql_;
  Open();
  const auto redo = [this] {
    return Ask("testbed", "", "SELECT redo_lsn FROM pg_control_checkpoint()");
  };
  const std::string before = redo();
  EngineOptions options = options_;
  options.extra = {{"schema", "mine"},
                   {"connect", "host=" + Cluster() + " user=testbed dbname=postgres"}};
  const std::unique_ptr<Engine> engine = OpenEngine("postgres", dir_ + "/mine", options);
  EXPECT_NE(redo(), before);
}

// Neither the thread of lazy commits nor the server makes the commit durable while the test runs.
TEST_P(PostgresServerTest, ACheckpointThatIsNotAllowedMakesCommitsDurableAllTheSame) {
  if (::access(psql_.c_str(), X_OK) != 0) GTEST_SKIP() << "there is no " << psql_;
  options_.durability = Durability::kLazy;
  options_.lazy_interval_ms = 3'600'000;
  options_.extra["autovacuum"] = "off";
  Open();
  EXPECT_EQ(Ask("testbed", "", "CREATE ROLE me LOGIN"), "CREATE ROLE\n");
  EXPECT_EQ(Ask("testbed", "", "GRANT CREATE ON DATABASE postgres TO me"), "GRANT\n");
  std::ofstream(Cluster() + "/pg_hba.conf")
      << "local all testbed peer map=testbed\nlocal all me trust\n";
  EXPECT_EQ(Ask("testbed", "", "SELECT pg_reload_conf()"), "t\n");
  // The server reads the file some time after it was told to.
  for (int i = 0; i < 1000 && Ask("me") != "42\n"; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EngineOptions options = options_;
  options.extra = {{"schema", "mine"},
                   {"connect", "host=" + Cluster() + " user=me dbname=postgres"}};
  const std::unique_ptr<Engine> engine = OpenEngine("postgres", dir_ + "/mine", options);
  engine->NewSession()->Put(engine->OpenTable("t"), "k", "v");
  std::string end = Ask("testbed", "", "SELECT pg_current_wal_insert_lsn()");
  end.pop_back();  // the end of the line
  engine->Checkpoint();
  EXPECT_EQ(Ask("testbed", "", "SELECT pg_current_wal_flush_lsn() >= $$" + end + "$$"), "t\n");
}

// A server with track_counts=off tells 0 blocks, which would look like a count.
TEST_P(PostgresServerTest, AServerThatCountsNoBlocksTellsNone) {
  Open();
  EXPECT_TRUE(engine_->Counters().block_requests.has_value());
  Close();
  options_.extra["server_option"] = "track_counts=off";
  Open();
  Put("k", "v");
  const EngineCounters counters = engine_->Counters();
  EXPECT_FALSE(counters.block_requests.has_value());
  EXPECT_FALSE(counters.block_reads.has_value());
  EXPECT_TRUE(counters.blocks_written.has_value());
}

// The database is opened anew, so that the server alone knows which names are in use.
TEST_P(PostgresServerTest, AnIndexIsNotTakenForAnotherColumnNorForAnotherRelation) {
  Open();
  if (!engine_->KeepsIndexes()) GTEST_SKIP() << "it keeps no indexes";
  engine_->OpenIndex("i", engine_->OpenTable("u"), {{0, 1}});
  Close();
  Open();
  for (const std::string name : {"k", "v", "ctid", "i", "u", "default_pkey"}) {
    const std::string sentence =
        ErrorOf(Error::kUsage, [&] { engine_->OpenIndex(name, table_, {{0, 1}}); });
    EXPECT_NE(sentence.find("cannot name an index '" + name + "'"), std::string::npos) << sentence;
  }
  Put("row", "b");
  std::string_view value;
  EXPECT_TRUE(session_->Get(engine_->OpenIndex("j", table_, {{0, 1}}), "brow", &value));
  const TableId other = engine_->OpenTable("u");
  session_->Put(other, "row", "d");
  EXPECT_TRUE(session_->Get(engine_->OpenIndex("i", other, {{0, 1}}), "drow", &value));
}

// A cluster that an earlier version made admits everybody, and its files belong to the user of the
// server.
TEST_P(PostgresServerTest, WritesAnewWhoIsAdmittedWheneverItStarts) {
  Open();
  Close();
  const std::string hba = Cluster() + "/pg_hba.conf", ident = Cluster() + "/pg_ident.conf";
  const std::string other = dir_ + "/other", rules = TextOf(hba), names = TextOf(ident);
  std::ofstream(hba) << "local all all trust\n";
  std::ofstream(other) << "theirs";
  std::filesystem::remove(ident);
  std::filesystem::create_symlink(other, ident);
  Open();
  EXPECT_EQ(TextOf(hba), rules);
  EXPECT_EQ(TextOf(ident), names);
  EXPECT_EQ(rules.find("trust"), std::string::npos) << rules;
  EXPECT_EQ(TextOf(other), "theirs");
}

// The server of a killed run, or one whose power was cut, may still be ending: its process is
// there, and so is its socket.
TEST_P(PostgresServerTest, WaitsForTheEndOfTheServerBefore) {
  Open();
  Put("k", "v");
  Close();
  struct stat owner {};
  ASSERT_EQ(::stat(Cluster().c_str(), &owner), 0);
  const pid_t before = ::fork();
  if (before == 0) {
    // The next server looks for processes of its own user alone.
    const bool is_theirs = ::geteuid() != 0 || ::setuid(owner.st_uid) == 0;
    ::sleep(is_theirs ? 2 : 0);
    ::_exit(0);
  }
  std::ofstream(Cluster() + "/postmaster.pid") << before << "\n";
  std::ofstream(Cluster() + "/.s.PGSQL.5432") << "";
  const std::jthread reaper([before] { ::waitpid(before, nullptr, 0); });
  Open();
  EXPECT_EQ(Get("k"), "v");
}

}  // namespace
}  // namespace testbed
#endif
