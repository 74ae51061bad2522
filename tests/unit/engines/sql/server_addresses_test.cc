// Tests the addresses of a server that runs already: which lists --connect accepts, where sessions
// go, when the addresses count as one cluster, and the words of the user in a refusal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/error.h"
#include "engines/elsewhere.h"
#include "engines/registry.h"
#include "engines/sql/addresses.h"
#include "engines/sql/server_options.h"
#include "engines/sql/session.h"
#include "engines/sql/store.h"
#ifdef TESTBED_HAVE_MYSQL
#include "engines/mysql/url.h"
#endif
#ifdef TESTBED_HAVE_POSTGRES
#include "engines/postgres/target.h"
#endif

namespace testbed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string RefusalOf(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::kUsage) << error.what();
    return error.what();
  }
  return "accepted";
}

#ifdef TESTBED_HAVE_MYSQL
std::vector<std::string> NamesInUrl(const std::string& url) {
  std::vector<std::string> names;
  for (const mysql::UrlAddress& address : mysql::ParseUrl(url)) names.push_back(address.name);
  return names;
}

TEST(MysqlUrlTest, NamesOneAddressOrSeveral) {
  EXPECT_THAT(NamesInUrl("mysql://me@db1/"), ElementsAre("db1:3306"));
  EXPECT_THAT(NamesInUrl("mysql://me@DB1:3307"), ElementsAre("db1:3307"));
  EXPECT_THAT(NamesInUrl("mariadb://h1:1,h2:2,h3/"), ElementsAre("h1:1", "h2:2", "h3:3306"));
  EXPECT_THAT(NamesInUrl("mysql://[::1]:7,[::2]/"), ElementsAre("[::1]:7", "[::2]:3306"));
  EXPECT_THAT(NamesInUrl("mysql://localhost,127.0.0.1:1/"),
              ElementsAre("localhost", "127.0.0.1:1"));
  EXPECT_THAT(NamesInUrl("mysql://localhost/?socket=/a/s"), ElementsAre("/a/s"));
  EXPECT_THAT(NamesInUrl("mysql://?socket=/a&socket=/b&tls=off"), ElementsAre("/a", "/b"));
  EXPECT_THAT(NamesInUrl("mysql://localhost:1/?socket=/a@s"), ElementsAre("/a@s"));
}

TEST(MysqlUrlTest, TheUserAndTlsHoldForAllAddresses) {
  const auto addresses = mysql::ParseUrl("mysql://me@h1:1,[fe80::2]:2/?tls=on");
  ASSERT_EQ(addresses.size(), 2u);
  for (const mysql::UrlAddress& address : addresses) {
    EXPECT_EQ(address.user, "me");
    EXPECT_TRUE(address.tls);
    EXPECT_EQ(address.socket, "");
  }
  EXPECT_EQ(addresses[0].host, "h1");
  EXPECT_EQ(addresses[1].host, "fe80::2");
  EXPECT_EQ(addresses[1].port, 2u);
}

TEST(MysqlUrlTest, RefusesWhatIsNoListAndPrintsNoPartOfIt) {
  const std::map<std::string, std::string> refusals = {
      {"mysql://h7,h7/", "there twice"},
      {"mysql://h7,H7:3306/", "there twice"},
      {"mysql://h7,,h8/", "is empty"},
      {"mysql://,h7/", "is empty"},
      {"mysql://h7,/", "is empty"},
      {"mysql://?socket=/h7&socket=/h7", "there twice"},
      {"mysql://?socket=/h7&socket=", "is empty"},
      {"mysql://h7,h8/?socket=/a", "not both"},
      {"mysql://h7/?socket=/a&socket=/b", "take the host localhost"},
      {"mysql://localhost:1,localhost:2/?tls=on", "localhost is a Unix socket"},
      {"mysql://h7,mariadb://h8/", "one scheme"},
      {"mysql://h7,mariadb://me@h8/", "one scheme"},
      {"mysql://h7:/", "from 1 to 65535"},
      {"mysql://h7:1,h8:x/", "from 1 to 65535"},
      {"mysql://[::7/", "bracket"},
      {"mysql://h7,h8/test", "no database"},
      {"mysql://me@h7:1,you@h8:1/", "one user, in front of all addresses"},
      {"postgresql://h7,h8/", "such as mysql://"},
      {"host=h7 hostaddr=::1 user=me@here", "such as mysql://"}};
  for (const auto& entry : refusals) {
    const std::string& url = entry.first;
    const std::string refusal = RefusalOf([&] { (void)mysql::ParseUrl(url); });
    EXPECT_THAT(refusal, HasSubstr(entry.second)) << url;
    EXPECT_THAT(refusal, HasSubstr("--engine-option connect")) << url;
    EXPECT_THAT(refusal, Not(HasSubstr("h7"))) << url;
  }
}

TEST(MysqlUrlTest, APasswordIsRefusedInAnyPlace) {
  for (const std::string url :
       {"mysql://me:s3cret@h/", "mysql://me:s3cret@h1:1,h2:2/", "mysql://h1:1,me:s3cret@h2:2/",
        "mysql://me@h1:1,me:s3cret@h2:2/", "mysql://me:s3,cret@h1/", "mysql://me:s3@cret@h1/",
        "mysql://me:s3/cret@h/", "mysql://me:s3?cret@h/", "mysql://me:/s3cret@h1,h2/",
        "mysql://me:12/s3cret@h/", "me:s3cret@h/", "mysql://h/?password=s3cret",
        "mysql://h/?user=me&Passwd=s3cret", "mysql://h/test?pwd=s3cret",
        "jdbc:mysql://h/test?user=me&password=s3cret"}) {
    const std::string refusal = RefusalOf([&] { (void)mysql::ParseUrl(url); });
    EXPECT_THAT(refusal, HasSubstr("takes no password")) << url;
    EXPECT_THAT(refusal, Not(HasSubstr("s3"))) << url;
  }
}
#endif

#ifdef TESTBED_HAVE_POSTGRES
class PostgresTargetTest : public testing::Test {
 protected:
  void SetUp() override {
    try {
      (void)postgres::ParseTargets("host=h");
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();  // libpq is not here
    }
  }
  static std::vector<std::string> Names(const std::string& connect) {
    std::vector<std::string> names;
    for (const postgres::Target& target : postgres::ParseTargets(connect)) {
      names.push_back(target.name);
    }
    return names;
  }
};

TEST_F(PostgresTargetTest, NamesOneAddressOrSeveral) {
  EXPECT_THAT(Names("postgresql://me@db1/test"), ElementsAre("db1:5432"));
  EXPECT_THAT(Names("postgresql://me@h1:1,H2/test"), ElementsAre("h1:1", "h2:5432"));
  EXPECT_THAT(Names("host=/a,/b port=7"), ElementsAre("/a:7", "/b:7"));
  EXPECT_THAT(Names("hostaddr=127.0.0.1,::1"), ElementsAre("127.0.0.1:5432", "[::1]:5432"));
}

// libpq has the keywords of keys and of OAuth since 18.
TEST_F(PostgresTargetTest, ASecretIsRefusedWhetherTheLibraryKnowsItOrNot) {
  for (const std::string connect :
       {"host=h oauth_client_secret=s3cret", "host=h scram_client_key = s3cret",
        "postgresql://h/?scram%5Fserver_key=s3cret", "host=h password='s3cret",
        "postgresql://h/?sslpassword=s3cret", "postgresql://me:s3cret@h/",
        "postgresql://me:s3cret/x@h/test", "postgresql://me:/s3cret@h/"}) {
    const std::string refusal = RefusalOf([&] { (void)postgres::ParseTargets(connect); });
    EXPECT_THAT(refusal, HasSubstr("takes no password")) << connect;
    EXPECT_THAT(refusal, HasSubstr("--engine-option connect")) << connect;
    EXPECT_THAT(refusal, Not(HasSubstr("s3cret"))) << connect;
  }
  EXPECT_THAT(Names("host=h passfile=/password"), ElementsAre("h:5432"));
  // An @ behind a port is not that of a user.
  EXPECT_THAT(Names("postgresql://h:1,[::1]:2/test?user=me@here"), ElementsAre("h:1", "[::1]:2"));
}

// libpq would go from a host that does not answer to the next one.
TEST_F(PostgresTargetTest, EachAddressHasAHostOfItsOwnAndTheSettingsOfAll) {
  const std::string url = "postgresql://me@h1:1/test?application_name=it's";
  EXPECT_EQ(postgres::ParseTargets(url)[0].conninfo, url);
  const auto targets = postgres::ParseTargets(
      "host=h1,h2 hostaddr=1.1.1.1,1.1.1.2 port=1,2 user=me application_name='it\\'s \\\\ one'");
  ASSERT_EQ(targets.size(), 2u);
  EXPECT_EQ(targets[0].conninfo,
            "application_name='it\\'s \\\\ one' host='h1' hostaddr='1.1.1.1' port='1' user='me'");
  EXPECT_EQ(targets[1].conninfo,
            "application_name='it\\'s \\\\ one' host='h2' hostaddr='1.1.1.2' port='2' user='me'");
  // Each of them is a text that libpq reads.
  EXPECT_EQ(postgres::ParseTargets(targets[1].conninfo)[0].name, "h2:2");
}

TEST_F(PostgresTargetTest, RefusesWhatIsNoListAndPrintsNoPartOfIt) {
  const std::map<std::string, std::string> refusals = {
      {"postgresql://h7,h7/", "there twice"},
      {"postgresql://h7:5432,H7/", "there twice"},
      {"postgresql://h7,,h8/", "is empty"},
      {"host=h7, user=me", "is empty"},
      {"postgresql://h7,postgresql://h8/", "one scheme"},
      {"host=h7,h8 hostaddr=1.1.1.1,1.1.1.2,1.1.1.3", "as many of host"},
      {"host=h7,h8,h9 port=1,2", "as many of host"},
      {"mysql://h7,h8/", "such as postgresql://"}};
  for (const auto& entry : refusals) {
    const std::string& connect = entry.first;
    const std::string refusal = RefusalOf([&] { (void)postgres::ParseTargets(connect); });
    EXPECT_THAT(refusal, HasSubstr(entry.second)) << connect;
    EXPECT_THAT(refusal, HasSubstr("--engine-option connect")) << connect;
    EXPECT_THAT(refusal, Not(HasSubstr("h7"))) << connect;
  }
  EXPECT_THAT(RefusalOf([] { (void)postgres::ParseTargets("postgresql://a,me:s3@b/"); }),
              Not(HasSubstr("s3")));
}
#endif

class PlainDialect : public SqlDialect {
 public:
  std::string Quote(const std::string& name) const override { return name; }
  std::vector<std::string> MakeTable(const SqlTable& table) const override {
    return {"CREATE TABLE " + table.name};
  }
  std::vector<std::string> MakeIndex(const SqlTable&,
                                     const std::vector<IndexPart>&) const override {
    return {};
  }
  bool HasIndex(const SqlTable&, const SqlAsk&) const override { return false; }
  std::string Get(const SqlTable&) const override { return ""; }
  std::string Put(const SqlTable&) const override { return ""; }
  std::string Erase(const SqlTable&) const override { return ""; }
  std::string Scan(const SqlTable&, Walk) const override { return ""; }
  size_t ColumnParameters() const override { return 1; }
  size_t max_name_size() const override { return 64; }
};

// Nodes that show what the first has written after they were asked for it some times.
struct PlainNodes {
  std::vector<int> lags;             // by address: questions after which writes show
  std::vector<bool> down;            // by address: it answers nothing
  std::vector<int> threads;          // by address: the thread that serves a connection
  std::vector<std::string> said;     // "ADDRESS: SQL", but for questions
  std::vector<size_t> connected_to;  // the address of each connection, in order
  int rows = 0;                      // number of rows that a read finds
  int until_conflict = -1;           // reads before the one that ends in a conflict; -1: none does
  bool no_memory = false;            // the next Await finds no memory
  size_t sent = 0;                   // statements of Send
};

class PlainConnection : public SqlConnection {
 public:
  PlainConnection(PlainNodes* nodes, size_t address) : nodes_(nodes), address_(address) {
    if (nodes->down[address]) throw Error(Error::kUsage, "no connection");
    nodes->connected_to.push_back(address);
  }
  std::vector<Row> Run(const std::string& sql) override {
    Answer();
    const bool asks = sql.starts_with("SELECT 1 FROM");
    if (!asks) nodes_->said.push_back(std::to_string(address_) + ": " + sql.substr(0, 12));
    if (asks && nodes_->lags[address_]-- <= 0) return {{"1"}};
    return {};
  }
  SqlStatement Prepare(const std::string&, size_t, size_t) override { return 0; }
  void Execute(SqlStatement, std::span<const SqlParameter>) override {
    Answer();
    rows_left_ = nodes_->rows;
  }
  bool NextRow() override {
    if (rows_left_-- > 0) return true;
    if (nodes_->until_conflict-- == 0) throw SqlConflict("a node has applied other writes");
    return false;
  }
  std::string_view Column(size_t) const override { return {}; }
  void Send(SqlStatement, std::span<const SqlParameter>) override {
    Answer();
    ++nodes_->sent;
  }
  void Await() override {
    if (std::exchange(nodes_->no_memory, false)) throw std::bad_alloc();
    Answer();
  }
  int server_thread() const override { return nodes_->threads[address_]; }

 private:
  void Answer() const {
    if (nodes_->down[address_]) throw LostConnection("node " + std::to_string(address_), EIO);
  }
  PlainNodes* const nodes_;
  const size_t address_;
  int rows_left_ = 0;
};

class AddressesTest : public testing::Test {
 protected:
  void MakeStore(const std::vector<int>& lags, bool goes_on = false) {
    nodes_.lags = lags;
    nodes_.down.assign(lags.size(), false);
    nodes_.threads.assign(lags.size(), 0);
    SqlLimits limits;
    limits.max_key_size = limits.max_value_size = 100;
    limits.goes_on = goes_on;
    store_ = std::make_unique<SqlStore>(
        "plain", std::make_unique<PlainDialect>(), "shelf", limits,
        [this](size_t address) { return std::make_unique<PlainConnection>(&nodes_, address); },
        std::function<void()>(), lags.size());
  }
  PlainNodes nodes_;
  std::unique_ptr<SqlStore> store_;
};

TEST_F(AddressesTest, ClientsTakeTheAddressesInTurn) {
  EXPECT_EQ(AddressOfClient(5, 1), 0u);
  MakeStore({0, 0, 0});
  for (int client = 0; client < 7; ++client) {
    SqlSession(store_.get(), "", AddressOfClient(client, store_->addresses()));
  }
  EXPECT_THAT(nodes_.connected_to, ElementsAre(0u, 1u, 2u, 0u, 1u, 2u, 0u));
  SqlSession(store_.get(), "");
  EXPECT_EQ(nodes_.connected_to.back(), 0u);
}

TEST_F(AddressesTest, AnIndexIsNotGivenTheNameOfATableOrOfAnothersIndex) {
  MakeStore({0});
  const TableId table = store_->OpenTable("t"), other = store_->OpenTable("u");
  const TableId index = store_->OpenIndex("i", table, {{0, 1}});
  EXPECT_EQ(store_->OpenIndex("i", table, {{0, 1}}), index);
  EXPECT_THAT(RefusalOf([&] { store_->OpenIndex("i", other, {{0, 1}}); }),
              HasSubstr("plain cannot name an index 'i': an index of another table"));
  EXPECT_THAT(RefusalOf([&] { store_->OpenIndex("t", other, {{0, 1}}); }),
              HasSubstr("plain cannot name an index 't': a table"));
}

TEST_F(AddressesTest, TheOthersAreWaitedFor) {
  MakeStore({0, 3, 5});
  AwaitAddresses(store_.get(), {"n1", "n2", "n3"}, Error::kRun, 60'000);
  EXPECT_THAT(nodes_.said, ElementsAre("0: CREATE TABLE", "0: INSERT INTO "));
  EXPECT_LT(nodes_.lags[1], 0);
  EXPECT_LT(nodes_.lags[2], 0);
}

TEST_F(AddressesTest, OneAddressIsNotAskedAtAll) {
  MakeStore({0});
  AwaitAddresses(store_.get(), {}, Error::kRun, 0);
  EXPECT_TRUE(nodes_.connected_to.empty());
}

TEST_F(AddressesTest, AnAddressOfAnotherClusterIsOneSentence) {
  MakeStore({0, 0, 1000});
  const std::string refusal =
      RefusalOf([&] { AwaitAddresses(store_.get(), {"n1", "n2", "n3"}, Error::kUsage, 50); });
  EXPECT_THAT(refusal, HasSubstr("plain: the server at n3 has not got from n1"));
}

TEST_F(AddressesTest, ASessionWhoseAddressIsLostGoesOnAtTheNext) {
  MakeStore({0, 0, 0}, true);
  const TableId table = store_->OpenTable("t");
  SqlSession session(store_.get(), "", 1);
  session.Begin();
  session.Put(table, "k", "v");
  nodes_.down[1] = true;
  EXPECT_THROW(session.Commit(), LostAnswer);
  EXPECT_EQ(nodes_.connected_to.back(), 2u);
  EXPECT_EQ(store_->commits(), 0u) << "it was not repeated";
  session.Begin();
  session.Put(table, "k", "v");
  session.Commit();
  EXPECT_EQ(store_->commits(), 1u);
  nodes_.down[2] = true;
  std::string_view value;
  EXPECT_THROW(session.Get(table, "k", &value), LostAnswer);
  EXPECT_EQ(nodes_.connected_to.back(), 0u);
  EXPECT_FALSE(session.Get(table, "k", &value));
}

// The address of the session is lost, and the first one, which is never left out, is down as well.
TEST_F(AddressesTest, ASessionThatNoAddressAcceptsConnectsAtALaterCall) {
  MakeStore({0, 0}, true);
  const TableId table = store_->OpenTable("t");
  SqlSession session(store_.get(), "", 1);
  const std::unique_ptr<Cursor> cursor = session.NewCursor(table);
  nodes_.down.assign(2, true);
  std::string_view value;
  for (int calls = 0; calls < 2; ++calls) {
    EXPECT_THAT(RefusalOf([&] { session.Get(table, "k", &value); }), HasSubstr("no connection"));
  }
  EXPECT_THAT(RefusalOf([&] { cursor->First(); }), HasSubstr("no connection"));
  session.Begin();
  EXPECT_THAT(RefusalOf([&] { session.Put(table, "k", "v"); }), HasSubstr("no connection"));
  EXPECT_THROW(session.Commit(), Error) << "its write has failed";
  nodes_.down[0] = false;
  session.Begin();
  session.Put(table, "k", "v");
  session.Commit();
  EXPECT_EQ(nodes_.connected_to.back(), 0u);
  EXPECT_EQ(store_->commits(), 1u);
}

TEST_F(AddressesTest, ALostWriteEndsItsTransaction) {
  MakeStore({0, 0}, true);
  const TableId table = store_->OpenTable("t");
  SqlSession session(store_.get(), "", 1);
  session.Begin();
  nodes_.down[1] = true;
  EXPECT_THROW(session.Put(table, "k", "v"), LostAnswer);
  session.Begin();
  session.Put(table, "k", "v");
  session.Commit();
  EXPECT_EQ(store_->commits(), 1u);
}

TEST_F(AddressesTest, ACommitWithoutMemoryEndsItsTransaction) {
  MakeStore({0});
  const TableId table = store_->OpenTable("t");
  SqlSession session(store_.get());
  session.Begin();
  session.Put(table, "k", "v");
  nodes_.no_memory = true;
  EXPECT_THROW(session.Commit(), std::bad_alloc);
  EXPECT_EQ(nodes_.said.back(), "0: ROLLBACK");
  session.Begin();
  session.Put(table, "k", "v");
  session.Commit();
  EXPECT_EQ(store_->commits(), 1u);
}

// A connection for checkpoints is made at the first checkpoint, when its node may have gone.
TEST_F(AddressesTest, AnAddressThatCannotBeReachedAnyMoreIsLeftOut) {
  const auto reached = [this] {
    std::vector<size_t> addresses;
    store_->AtEach([&](size_t address) {
      store_->Reach(address, [&] { return store_->Connect(address); });
      addresses.push_back(address);
    });
    return addresses;
  };
  MakeStore({0, 0, 0}, true);
  nodes_.down[1] = true;
  // An engine asks each address when it is opened. One that does not answer then is a wrong option.
  EXPECT_THAT(RefusalOf([&] { (void)store_->Ask("SELECT 2", 1); }), HasSubstr("no connection"));
  EXPECT_THAT(reached(), ElementsAre(0u, 2u));
  EXPECT_EQ(store_->WhyLost(1), "no connection");
  MakeStore({0, 0, 0});
  nodes_.down[1] = true;
  EXPECT_THAT(RefusalOf([&] { (void)reached(); }), HasSubstr("no connection"));
}

// A node of Galera tells of a conflict in the answer to any statement, and a replica of PostgreSQL
// cancels reads.
TEST_F(AddressesTest, AReadThatMeetsAConflictIsRepeatedBehindTheWritesOfItsTransaction) {
  MakeStore({0});
  const TableId table = store_->OpenTable("t");
  SqlSession session(store_.get());
  std::string_view value;
  nodes_.until_conflict = 0;
  EXPECT_FALSE(session.Get(table, "k", &value));
  EXPECT_EQ(nodes_.sent, 0u);
  session.Begin();
  session.Put(table, "k", "v");
  EXPECT_EQ(nodes_.sent, 2u) << "BEGIN and the write";
  nodes_.until_conflict = 0;
  EXPECT_FALSE(session.Get(table, "k", &value));
  EXPECT_EQ(nodes_.said.back(), "0: ROLLBACK");
  EXPECT_EQ(nodes_.sent, 4u) << "BEGIN and the write once more";
  session.Commit();
  EXPECT_EQ(store_->commits(), 1u);
}

TEST_F(AddressesTest, RowsThatWereReadBeforeAConflictAreGivenOnce) {
  MakeStore({0});
  const TableId table = store_->OpenTable("t");
  SqlSession session(store_.get());
  const std::vector<std::string_view> keys = {"a", "b", "c"};
  std::vector<size_t> taken;
  nodes_.until_conflict = 1;  // at the second key
  session.TakeEach(table, keys, [&taken](size_t i, const FoundRow&) { taken.push_back(i); });
  EXPECT_THAT(taken, ElementsAre(0u, 1u, 2u));
  nodes_.rows = 2;
  nodes_.until_conflict = 0;  // behind the two rows of the scan
  const std::unique_ptr<Cursor> cursor = session.NewCursor(table);
  ASSERT_TRUE(cursor->First());
  EXPECT_LT(nodes_.until_conflict, 0);
  nodes_.rows = 0;
  EXPECT_TRUE(cursor->Next());
  EXPECT_FALSE(cursor->Next());
}

TEST_F(AddressesTest, AnAddressThatIsLostStaysLeftOut) {
  MakeStore({0, 0, 0}, true);
  nodes_.down[1] = true;
  SqlSession(store_.get(), "", 1);
  EXPECT_EQ(nodes_.connected_to.back(), 2u) << "it does not let the session connect";
  nodes_.down[1] = false;
  SqlSession(store_.get(), "", 1);
  EXPECT_EQ(nodes_.connected_to.back(), 2u);
  AwaitAddresses(store_.get(), {"n1", "n2", "n3"}, Error::kRun, 60'000);
  nodes_.down[2] = true;
  AwaitAddresses(store_.get(), {"n1", "n2", "n3"}, Error::kRun, 60'000);
  std::vector<size_t> left;
  store_->AtEach([&](size_t address) { left.push_back(address); });
  EXPECT_THAT(left, ElementsAre(0u));
  const std::vector<ServerAddress> told = ServerAddressesOf(*store_, {"n1", "n2", "n3"});
  ASSERT_EQ(told.size(), 3u);
  EXPECT_EQ(told[0].lost, "");
  EXPECT_EQ(told[1].lost, "no connection");
  EXPECT_EQ(told[2].lost, "node 2");
  EXPECT_EQ(told[2].name, "n3");
}

TEST_F(AddressesTest, TheFirstAddressIsNeverLeftOut) {
  MakeStore({0, 0}, true);
  const TableId table = store_->OpenTable("t");
  SqlSession session(store_.get(), "", 0);
  nodes_.down[0] = true;
  std::string_view value;
  EXPECT_THROW(session.Get(table, "k", &value), LostConnection);
  EXPECT_THROW(store_->AtEach([&](size_t) { store_->Ask("SELECT 1"); }), LostConnection);
  EXPECT_EQ(store_->WhyLost(0), "");
}

TEST_F(AddressesTest, WithoutTheOptionALostAddressEndsItsSessions) {
  MakeStore({0, 0});
  const TableId table = store_->OpenTable("t");
  SqlSession session(store_.get(), "", 1);
  nodes_.down[1] = true;
  std::string_view value;
  EXPECT_THROW(session.Get(table, "k", &value), LostConnection);
  EXPECT_EQ(store_->WhyLost(1), "");
}

TEST_F(AddressesTest, WhereNoThreadCanBeFollowedNothingIsChargedToOperations) {
  MakeStore({0, 0});
  nodes_.threads = {71, 72};
  EXPECT_EQ(HowCharged(store_.get(), {"n1", "n2"}), kChargedToOperations);
  nodes_.threads[1] = 0;
  EXPECT_THAT(HowCharged(store_.get(), {"n1", "n2"}), HasSubstr("to no operation at n2: "));
  MakeStore({0});
  EXPECT_THAT(HowCharged(store_.get(), {""}), HasSubstr("to no operation at the server: "));
}

TEST(LostAddressOptionTest, TakesEndOrNextWhereThereAreSeveralAddresses) {
  EngineOptions options;
  EXPECT_FALSE(LostAddressOption("mysql", options, 0));
  options.extra = {{"lost_address", "end"}};
  EXPECT_FALSE(LostAddressOption("mysql", options, 2));
  options.extra = {{"lost_address", "next"}};
  EXPECT_TRUE(LostAddressOption("mysql", options, 2));
  EXPECT_THAT(RefusalOf([&] { (void)LostAddressOption("mysql", options, 1); }),
              HasSubstr("mysql cannot honour --engine-option lost_address=next: it needs several "
                        "addresses of a server that runs already"));
  options.extra = {{"lost_address", "soon"}};
  const std::string refusal = RefusalOf([&] { (void)LostAddressOption("mysql", options, 2); });
  for (const char* word : {"lost_address", "soon", "end", "next"}) {
    EXPECT_THAT(refusal, HasSubstr(word));
  }
}

TEST_F(AddressesTest, AServerThatTwoAddressesLeadToIsRepeatedAtTheSecond) {
  MakeStore({0, 0, 0});
  const std::vector<int> servers = {7, 8, 7};
  std::set<std::pair<std::string, int>> held;
  const auto try_lock = [&](const std::string& name, size_t address) {
    return held.insert({name, servers[address]}).second;
  };
  EXPECT_EQ(FindRepeatedServers(store_.get(), try_lock), (std::vector<bool>{false, false, true}));
  EXPECT_EQ(FindRepeatedServers(store_.get(), try_lock), (std::vector<bool>{false, false, true}));
}

TEST(OptionWordsTest, ARefusalNamesTheOptionAsTheUserGaveIt) {
  EngineInfo info = FindEngine("null");
  info.check_options = [](const EngineOptions&) {
    throw Error(Error::kUsage,
                "it cannot honour --engine-option server=x; --engine-option server, "
                "--engine-option server_option=y, --engine-option connect=URL");
  };
  EngineOptions options = DefaultEngineOptions(info);
  const std::string as_given = RefusalOf([&] { CheckEngineOptions(info, options); });
  EXPECT_THAT(as_given, HasSubstr("honour --engine-option server=x;"));
  options.given_as = {{"server", "--server "}};
  EXPECT_EQ(RefusalOf([&] { CheckEngineOptions(info, options); }),
            "it cannot honour --server x; --server, --engine-option server_option=y, "
            "--engine-option connect=URL");
  options.given_as = {{"server", "--engine null:"}, {"connect", "--connect "}};
  EXPECT_EQ(RefusalOf([&] { CheckEngineOptions(info, options); }),
            "it cannot honour --engine null:x; --engine null, --engine-option server_option=y, "
            "--connect URL");
}

// A program that is missing here is no wrong option: another machine may have it.
TEST(OptionWordsTest, AMissingProgramIsNamedAndRefusedOnThisMachineAlone) {
  EngineInfo info = FindEngine("null");
  info.check_programs = [](const EngineOptions&) {
    throw Error(Error::kUsage, "it is not here: give --engine-option connect=URL");
  };
  EngineOptions options = DefaultEngineOptions(info);
  options.given_as = {{"connect", "--connect "}};
  EXPECT_EQ(RefusalOf([&] { CheckEngineOptions(info, options); }),
            "it is not here: give --connect URL");
  EXPECT_NO_THROW(CheckOptionsOfAnyMachine(info, options));
}

}  // namespace
}  // namespace testbed
