// Tests what only the engines of servers promise: data of others on the server stay untouched, the
// end of the server during work is an error of one sentence, and its reads are charged to the
// operation that caused them.
#include "tests/engine/servers/server_test.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "device/account/kernel_account.h"
#include "device/account/ledger.h"
#include "device/error.h"
#include "device/os/mutex.h"
#include "device/os/sys_file.h"
#include "engines/databases.h"
#include "engines/registry.h"
#include "tests/engine/account/closure_test.h"
#include "tests/engine/checkpoint_while_writing.h"
#include "tests/engine/setting_in_force.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

TESTBED_FOR_EVERY_ENGINE(ServerTest);

TEST_P(ServerTest, OpensNoDirectoryWithoutADatabase) {
  options_.create = false;
  ErrorOf(Error::kUsage, [&] { OpenEngine(info().name, dir_ + "/none", options_); });
  EXPECT_FALSE(fs::exists(dir_ + "/none"));
}

TEST_P(ServerTest, LeavesWhatIsAnothersOnAServerThatRunsAlready) {
  if (GetParam().IsMyRocks()) GTEST_SKIP() << "a server that runs already must have InnoDB";
  Open();
  std::unique_ptr<Engine> mine = Connect("a", "shelf");
  PutIn(mine.get(), "k", "of a");
  // Another directory's database is refused, and replaced only if that is asked for.
  const std::string others = ErrorOf(Error::kUsage, [&] { Connect("b", "shelf"); });
  EXPECT_NE(others.find(dir_ + "/a"), std::string::npos) << others;
  EXPECT_EQ(ValueOf(mine.get(), "k"), "of a");
  mine.reset();
  mine = Connect("a", "shelf");
  EXPECT_EQ(ValueOf(mine.get(), "k"), "of a");
  mine.reset();
  std::unique_ptr<Engine> next = Connect("b", "shelf", true);
  EXPECT_EQ(ValueOf(next.get(), "k"), kAbsent);
  PutIn(next.get(), "k", "of b");
  ErrorOf(Error::kUsage, [&] { Connect("a", "shelf"); });  // the schema that a had was replaced
  EXPECT_EQ(ValueOf(next.get(), "k"), "of b");
  next.reset();
  // A directory that is gone may only be unmounted, so its database must stay.
  fs::remove_all(dir_ + "/b");
  ErrorOf(Error::kUsage, [&] { Connect("c", "shelf"); });
  ErrorOf(Error::kUsage, [&] { Connect("b", "shelf"); });
  // The database of a temporary run must stay only as long as its directory exists.
  const std::string temporary = "testbed-0123456789abcdef.tmp";
  next = Connect(temporary, "shelf", true);
  PutIn(next.get(), "k", "of a temporary run");
  next.reset();
  ErrorOf(Error::kUsage, [&] { Connect("c", "shelf"); });
  fs::remove_all(dir_ + "/" + temporary);
  next = Connect("c", "shelf");
  EXPECT_EQ(ValueOf(next.get(), "k"), kAbsent);
  next.reset();
  // A schema that testbed did not make must be refused even then.
  const std::string foreign = info().name == "postgres" ? "information_schema" : "foreign";
  if (info().name == "mysql") fs::create_directory(dir_ + "/cluster/foreign");
  for (const bool replace : {false, true}) {
    ErrorOf(Error::kUsage, [&] { Connect("d", foreign, replace); });
  }
}

// A server of MariaDB computes the statistics of a table anew when enough of its rows have changed,
// which these rows are too few for.
TEST_P(ServerTest, TheSizeOfADatabaseIsThatOfItsPresentRows) {
  if (GetParam().IsMyRocks()) GTEST_SKIP() << "a server that runs already must have InnoDB";
  Open();
  const std::unique_ptr<Engine> engine = Connect("a", "shelf");
  const std::string value(100'000, 'v');
  for (int row = 0; row < 10; ++row) PutIn(engine.get(), "k" + std::to_string(row), value);
  EXPECT_GT(engine->SizeOnDisk().data_bytes, 10 * value.size());
}

TEST_P(ServerTest, AServerThatEndsInTheMiddleIsOneSentence) {
  Open();
  Put("k", "v");
  ::kill(ServerPid(), SIGKILL);
  const std::string sentence = ErrorOf(Error::kIo, [&] {
    for (int i = 0; i < 1000; ++i) Put("k" + std::to_string(i), "v");
  });
  EXPECT_NE(sentence.find("lost"), std::string::npos) << sentence;
  // A server that is killed says nothing, so the words are the library's.
  EXPECT_EQ(sentence.find("it did not say why"), std::string::npos) << sentence;
  // A later phase begins with connections of its own; what it meets is no mistake of the user's.
  ErrorOf(Error::kIo, [&] { engine_->NewSession(); });
  Close();
  Open();
  EXPECT_EQ(Get("k"), "v");
}

// Returns whether all threads of a process are stopped. After SIGSTOP some go on for a moment.
bool IsStopped(pid_t process) {
  for (const auto& task : fs::directory_iterator(fmt::format("/proc/{}/task", process))) {
    std::ifstream stat(task.path() / "stat");
    std::string text(std::istreambuf_iterator<char>(stat), {});
    const size_t name_end = text.rfind(')');
    if (name_end == std::string::npos || text.substr(name_end + 2, 1) != "T") return false;
  }
  return true;
}

// Other clients that write may keep the checkpoint of a given server from its end.
TEST_P(ServerTest, ACheckpointOfAGivenServerIsGivenUpAtTheEndOfItsTime) {
  if (info().name == "postgres" || GetParam().IsOldMariadb()) {
    GTEST_SKIP() << "its checkpoint ends by itself, or it has none on demand";
  }
  if (GetParam().IsMyRocks()) GTEST_SKIP() << "a server that runs already must have InnoDB";
  Open();
  EngineOptions options = options_;
  options.extra = {{"schema", "shelf"}, {"connect", Url()}, {"checkpoint_wait_s", "1"}};
  const std::unique_ptr<Engine> engine = OpenEngine("mysql", dir_ + "/a", options);
  PutIn(engine.get(), "k", "v");
  engine->Checkpoint();
  ::kill(ServerPid(), SIGSTOP);
  while (!IsStopped(ServerPid())) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const std::string sentence = ErrorOf(Error::kRun, [&] { engine->Checkpoint(); });
  ::kill(ServerPid(), SIGCONT);
  EXPECT_NE(sentence.find("checkpoint within 1 s"), std::string::npos) << sentence;
  EXPECT_NE(sentence.find("--engine-option checkpoint_wait_s"), std::string::npos) << sentence;
  engine->Checkpoint();
  EXPECT_EQ(ValueOf(engine.get(), "k"), "v");
  // A server of the run's own has no other clients.
  options.extra = {{"checkpoint_wait_s", "1"}};
  ErrorOf(Error::kUsage, [&] { CheckEngineOptions(info(), options); });
}

// InnoDB's own statement for a checkpoint waits until no session has written meanwhile.
TEST_P(ServerTest, ACheckpointEndsWhileSessionsWrite) {
  options_.durability = Durability::kNone;
  Open();
  CheckpointWhileSessionsWrite(engine_.get(), table_);
}

// A server would make missing files anew, perhaps below a mount point whose file system is only not
// mounted.
TEST_P(ServerTest, AClusterThatIsMissingIsNotMadeAnew) {
  Open();
  Put("k", "v");
  Close();
  const fs::path cluster = dir_ + "/cluster", elsewhere = dir_ + "/elsewhere";
  fs::rename(cluster, elsewhere);
  ErrorOf(Error::kCorruption, [&] { Open(); });
  EXPECT_FALSE(fs::exists(cluster));
  fs::create_directory(cluster);
  ErrorOf(Error::kCorruption, [&] { Open(); });
  EXPECT_TRUE(fs::is_empty(cluster));
  fs::remove(cluster);
  fs::rename(elsewhere, cluster);
  Open();
  EXPECT_EQ(Get("k"), "v");
}

TEST_P(ServerTest, TakesNoPasswordInTheUrl) {
  for (const std::string url :
       {info().name == "postgres" ? "postgresql://me:secret@localhost/db"
                                  : "mysql://me:secret@host/",
        info().name == "postgres" ? "host=x password=secret" : "mysql://me:secret@host"}) {
    options_.extra = {{"connect", url}};
    const std::string sentence =
        ErrorOf(Error::kUsage, [&] { CheckEngineOptions(info(), options_); });
    EXPECT_EQ(sentence.find("secret"), std::string::npos) << sentence;
  }
  options_.extra = {{"connect", info().name == "postgres" ? "postgresql://nobody@127.0.0.1:1/none"
                                                          : "mysql://nobody@127.0.0.1:1/"}};
  ErrorOf(Error::kUsage, [&] { Open(); });
  EXPECT_FALSE(info().recognises(dir_));
}

#ifdef TESTBED_HAVE_MYSQL
// Compares the reads of the server's threads, by operation, with the server's own count.
class ServedThreadTest : public ClosureTest {
 protected:
  void SetUp() override {
    options_ = DefaultEngineOptions(FindEngine("mysql"));
    options_.io = IoMode::kDirect;
    options_.cache_bytes = 5 << 20;
    options_.extra["log_file_size"] = "16M";
    try {
      CheckEngineOptions(FindEngine("mysql"), options_);
    } catch (const Error& e) {
      GTEST_SKIP() << e.what();
    }
    ClosureTest::SetUp();
  }
  EngineOptions options_;
};

TEST_P(ServedThreadTest, ReadsAreChargedToTheOperationThatCausedThem) {
  constexpr uint64_t kRows = 30000;
  const OpKind read = DefineOp("served-read", Ground::kForeground);
  const OpKind scan = DefineOp("served-scan", Ground::kForeground);
  const std::unique_ptr<Engine> engine = OpenEngine("mysql", scratch_->path() + "/db", options_);
  const TableId table = engine->OpenTable("default");
  std::unique_ptr<Session> session = engine->NewSession();
  for (uint64_t row = 0; row < kRows;) {
    session->Begin();
    for (const uint64_t end = row + 100; row < end; ++row) {
      session->Put(table, RowKey(row), RowValue(row, 400));
    }
    session->Commit();
  }
  engine->Settle();
  const EngineCounters before = engine->Counters();
  for (const auto& [name, value] : before.now) {
    if (name == "history_list_length") {
      EXPECT_EQ(value, 0u) << "the purge would read meanwhile";
    }
  }
  const Balance cost = Cost([&] {
    std::mt19937_64 random(301);
    std::string_view value;
    for (int i = 0; i < 1000; ++i) {
      const IoScope scope(read);
      ASSERT_TRUE(session->Get(table, RowKey(random() % kRows), &value));
    }
    const IoScope scope(scan);
    std::unique_ptr<Cursor> cursor = session->NewCursor(table);
    int rows = 0;
    for (bool on = cursor->First(); on && rows < 10000; on = cursor->Next()) ++rows;
  });
  const EngineCounters after = engine->Counters();
  const BlockCounts of_read = OfOp(cost, read), of_scan = OfOp(cost, scan);
  EXPECT_GT(of_read.reads, 300u);
  EXPECT_GT(of_scan.reads, 300u);
  EXPECT_EQ(of_read.reads + of_scan.reads, *after.block_reads - *before.block_reads);
  EXPECT_EQ(of_read.read_bytes + of_scan.read_bytes,
            *after.block_read_bytes - *before.block_read_bytes);
  // All of them are of data files, and the histogram of reads per operation has them too.
  EXPECT_EQ(OfKind(cost, FileKind::kData).reads, of_read.reads + of_scan.reads);
  uint64_t in_histogram = 0;
  const BlockHistogram& histogram = cost.ledger.ops[read.id].kernel_reads;
  for (size_t reads = 0; reads < kBlockBuckets; ++reads) in_histogram += reads * histogram[reads];
  EXPECT_EQ(in_histogram, of_read.reads);
}

INSTANTIATE_TEST_SUITE_P(FileSystems, ServedThreadTest, testing::Values(FileSystem::kExt4));
#endif

// MariaDB takes a colon for the end of a directory's name in its list of temporary directories.
TEST_P(ServerTest, ADirectoryMayHaveAColonInItsName) {
  const std::unique_ptr<Engine> engine = OpenEngine(info().name, dir_ + "/at 12:30", options_);
  PutIn(engine.get(), "k", "v");
  EXPECT_EQ(ValueOf(engine.get(), "k"), "v");
}

// Nobody but the user of the run reaches a server of the run's own: it is at a Unix socket, in a
// directory that is closed to all others.
TEST_P(ServerTest, ListensAtNoPortOfTheNetwork) {
  Open();
  std::set<std::string> sockets;
  for (const auto& fd : fs::directory_iterator(fmt::format("/proc/{}/fd", ServerPid()))) {
    std::error_code closed;
    const std::string to = fs::read_symlink(fd.path(), closed);
    if (to.starts_with("socket:[")) sockets.insert(to.substr(8, to.size() - 9));
  }
  EXPECT_FALSE(sockets.empty()) << "the Unix socket";
  for (const char* family : {"tcp", "tcp6"}) {
    std::ifstream table(fmt::format("/proc/{}/net/{}", ServerPid(), family));
    for (std::string line; std::getline(table, line);) {
      // The fourth word is the state, and the tenth is the inode (proc_net_tcp).
      const std::vector<std::string> words = SplitWords(line);
      const bool listens = words.size() > 9 && words[3] == "0A";
      EXPECT_FALSE(listens && sockets.contains(words[9])) << line;
    }
  }
  EXPECT_EQ(
      fs::status(dir_ + "/cluster").permissions() & (fs::perms::group_all | fs::perms::others_all),
      fs::perms::none);
}

// Servers end idle sessions. Clients are idle between the phases of a run, and so is the session
// that syncs lazy commits when there are none.
TEST_P(ServerTest, ASessionMayRestLongerThanTheServerAllows) {
  const bool postgres = info().name == "postgres";
  const std::string& variant = GetParam().variant;
  if (variant.starts_with("server=postgres@9.") || variant.starts_with("server=postgres@10.") ||
      variant.starts_with("server=postgres@12.")) {
    GTEST_SKIP() << "PostgreSQL has idle_session_timeout since 14";
  }
  options_.durability = Durability::kLazy;
  options_.extra["server_option"] = postgres ? "idle_session_timeout=50" : "wait_timeout=1";
  Open();
  Put("a", "1");
  std::this_thread::sleep_for(std::chrono::milliseconds(postgres ? 300 : 1500));
  Put("b", "2");
  EXPECT_EQ(Get("a"), "1");
  engine_->Settle();
}

// What a server does with statements outside of a transaction is a setting of it, with which its
// sessions begin.
TEST_P(ServerTest, WritesAreCommittedWhateverTheServersSessionsBeginWith) {
  if (info().name == "postgres") GTEST_SKIP() << "PostgreSQL commits each statement by itself";
  options_.extra["server_option"] = "autocommit=0;completion_type=CHAIN";
  Open();
  Put("a", "1");
  session_->Begin();
  Put("b", "2");
  session_->Commit();
  Put("c", "3");
  Reopen();
  EXPECT_EQ(Get("a"), "1");
  EXPECT_EQ(Get("b"), "2");
  EXPECT_EQ(Get("c"), "3");
}

// Each thread of a run has a connection, and the sentence says what to do when there are too few.
TEST_P(ServerTest, WithoutAFreeConnectionOneSentenceSaysWhatToDo) {
  options_.extra["server_option"] = "max_connections=10";
  Open();
  std::vector<std::unique_ptr<Session>> sessions;
  const std::string sentence = ErrorOf(Error::kUsage, [&] {
    for (int i = 0; i < 30; ++i) sessions.push_back(engine_->NewSession());
  });
  EXPECT_NE(sentence.find("give fewer --threads"), std::string::npos) << sentence;
}

// A server that has no connection for a checkpoint is not one that does not allow it.
TEST_P(ServerTest, ACheckpointWithoutAFreeConnectionIsAnError) {
  if (info().name == "postgres" || GetParam().IsOldMariadb() || GetParam().IsMyRocks()) {
    GTEST_SKIP() << "a checkpoint takes no connection of its own";
  }
  options_.extra["server_option"] = "max_connections=10";
  Open();
  PutIn(Connect("a", "shelf").get(), "k", "v");
  const std::unique_ptr<Engine> engine = Connect("a", "shelf");
  std::vector<std::unique_ptr<Session>> sessions;
  ErrorOf(Error::kUsage, [&] {
    for (int i = 0; i < 30; ++i) sessions.push_back(engine->NewSession());
  });
  const std::string sentence = ErrorOf(Error::kUsage, [&] { engine->Checkpoint(); });
  EXPECT_NE(sentence.find("give fewer --threads"), std::string::npos) << sentence;
}

// A ledger tells its kernel account the threads of servers. This account remembers them, and counts
// nothing.
class ServedThreads : public KernelAccount {
 public:
  void Attach(ThreadLedger*, int) override {}
  void Detach(ThreadLedger*, int) override {}
  void Serve(const ThreadLedger&, int tid) override {
    LockGuard lock(mutex_);
    threads_.insert(tid);
  }
  void RegisterFile(uint64_t, uint64_t, FileKind) override {}
  bool RegisterJournal(uint64_t, uint64_t) override { return true; }
  void AddCounts(LedgerCounts*) const override {}
  size_t count() const {
    LockGuard lock(mutex_);
    return threads_.size();
  }

 private:
  mutable Mutex mutex_;
  std::set<int> threads_ GUARDED_BY(mutex_);
};

// What it writes of the log is charged to the syncs, and not to an unknown thread of the server.
TEST_P(ServerTest, TheThreadThatSyncsLazyCommitsIsFollowed) {
  Ledger& ledger = Ledger::Get();
  const AccountDepth depth = ledger.depth();
  ServedThreads served;
  ledger.Configure(AccountDepth::kKernel, &served);
  options_.durability = Durability::kLazy;
  options_.lazy_interval_ms = 20;
  Open();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (served.count() < 2 && std::chrono::steady_clock::now() < deadline) Put("k", "v");
  Close();
  ledger.Configure(depth, nullptr);
  EXPECT_EQ(served.count(), 2u) << "the session's and that of the syncs";
}

// A URL need not name the socket of a server on this machine: ~/.my.cnf may, and the library knows
// one itself.
TEST_P(ServerTest, TheThreadBehindASocketThatTheUrlDoesNotNameIsFollowed) {
  if (info().name == "postgres") GTEST_SKIP() << "PostgreSQL has no such file";
  if (GetParam().IsMyRocks()) GTEST_SKIP() << "a server that runs already must have InnoDB";
  Ledger& ledger = Ledger::Get();
  const AccountDepth depth = ledger.depth();
  ServedThreads served;
  Open();
  std::ofstream(dir_ + "/.my.cnf") << "[client]\nsocket=" << dir_ << "/cluster/mysqld.sock\n";
  const char* const home = std::getenv("HOME");
  const std::string before = home != nullptr ? home : "/";
  ::setenv("HOME", dir_.c_str(), 1);
  ledger.Configure(AccountDepth::kKernel, &served);
  const size_t others = served.count();
  {
    const std::unique_ptr<Engine> engine = ConnectTo("mysql://root@localhost/", "by_file", "shelf");
    PutIn(engine.get(), "k", "v");
  }
  ledger.Configure(depth, nullptr);
  ::setenv("HOME", before.c_str(), 1);
  EXPECT_GT(served.count(), others);
}

// Both addresses lead to the server of the test. Once the second leads nowhere, its clients fail.
TEST_P(ServerTest, ClientsOfSeveralAddressesAreConnectedToThemInTurn) {
  if (GetParam().IsMyRocks()) GTEST_SKIP() << "a server that runs already must have InnoDB";
  Open();
  const std::string cluster = dir_ + "/cluster", link = dir_ + "/link";
  fs::create_directory_symlink(cluster, link);
  const std::string url = info().name == "postgres"
                              ? "host=" + cluster + "," + link + " user=testbed dbname=postgres"
                              : UrlOf(cluster) + "&socket=" + link + "/mysqld.sock";
  const std::unique_ptr<Engine> engine = ConnectTo(url, "spread", "shelf");
  PutIn(engine.get(), "k", "v");
  engine->Settle();
  EngineOptions of_two = options_;
  of_two.extra = {{"schema", "of_two"}, {"connect", url}};
  const std::unique_ptr<Engine> databases = OpenDatabases(info().name, dir_ + "/two", of_two, 2);
  const std::string addresses = SettingInForce(*engine, "addresses");
  EXPECT_TRUE(addresses.starts_with(cluster)) << addresses;
  EXPECT_NE(addresses.find(", " + link), std::string::npos) << addresses;
  EXPECT_FALSE(engine->CountersByAddress().at(0)->repeated);
  EXPECT_TRUE(engine->CountersByAddress().at(1)->repeated) << "both lead to one server";
  EXPECT_TRUE(engine->OutlivesLostAddress());
  EXPECT_EQ(databases->ServerAddresses().size(), 2u);
  EXPECT_EQ(databases->CountersByAddress().size(), 2u);
  EXPECT_FALSE(databases->OutlivesLostAddress());
  fs::remove(link);
  for (const int client : {0, 2}) {
    std::string_view value;
    ASSERT_TRUE(engine->NewClientSession(client)->Get(engine->OpenTable("t"), "k", &value));
  }
  for (const int client : {1, 3}) {
    const std::string sentence = ErrorOf(Error::kUsage, [&] { engine->NewClientSession(client); });
    EXPECT_NE(sentence.find("cannot connect to the server at " + link), std::string::npos)
        << sentence;
  }
  ErrorOf(Error::kUsage, [&] { databases->NewClientSession(1); });
  (void)databases->NewClientSession(0);
  EXPECT_EQ(ValueOf(engine.get(), "k"), "v");
  EXPECT_TRUE(engine->Counters().block_requests.has_value());
}

// A given server counts what it does for all of its databases together.
TEST_P(ServerTest, SeveralDatabasesOfAGivenServerAreCountedOnce) {
  if (GetParam().IsMyRocks()) GTEST_SKIP() << "a server that runs already must have InnoDB";
  Open();
  EngineOptions options = options_;
  options.extra = {{"schema", "of_one"}, {"connect", Url()}};
  const std::unique_ptr<Engine> one = OpenEngine(info().name, dir_ + "/one", options);
  options.extra["schema"] = "of_two";
  const std::unique_ptr<Engine> two = OpenDatabases(info().name, dir_ + "/two", options, 2);
  const uint64_t of_one = one->Counters().cache_bytes.value_or(0);
  EXPECT_GT(of_one, 0u);
  EXPECT_LT(two->Counters().cache_bytes.value_or(0), of_one * 3 / 2);
}

// A cursor that is told the number of rows of its scan must get them with one statement, even when
// scans differ in length.
TEST_P(ServerTest, AScanOfAnExpectedLengthIsOneRoundTrip) {
  Open();
  Load(1000, 50);
  const auto transactions = [&] {
    const EngineCounters counters = engine_->Counters();
    for (const auto& [name, value] : counters.more) {
      if (name == "xact_commit") return static_cast<double>(value);
    }
    return -1.0;
  };
  const double before = transactions();
  if (before < 0) GTEST_SKIP() << info().name << " does not count its transactions";
  {
    const std::unique_ptr<Session> session = engine_->NewSession();
    for (uint64_t scan = 0; scan < 40; ++scan) {
      const std::unique_ptr<Cursor> cursor = session->NewCursor(table_);
      const uint64_t most = 1 + scan * 37 % 300;
      uint64_t rows = 0;
      cursor->Expect(most);
      for (bool on = cursor->Seek(RowKey(scan)); on; on = rows < most && cursor->Next()) {
        EXPECT_EQ(cursor->key(), RowKey(scan + rows));
        ++rows;
      }
      EXPECT_EQ(rows, most);
    }
  }
  EXPECT_LE(transactions() - before, 50);
}

}  // namespace
}  // namespace testbed
