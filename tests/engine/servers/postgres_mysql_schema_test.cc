// Tests which run owns a schema of a server, and for how long: while an engine has it open, no
// other run may take it.
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "device/error.h"
#include "device/machine/host.h"
#include "engines/elsewhere.h"
#include "engines/registry.h"
#include "engines/sql/ownership.h"
#include "tests/engine/engine_test.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

constexpr char kTemporary[] = "testbed-0123456789abcdef.tmp";

// These tests need no server: the fixture plays the server, and grants the lock or refuses it.
class SchemaOwnerTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::current_path() / "schema_owner_test_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    owner_.dir = pattern;
  }
  void TearDown() override { fs::remove_all(owner_.dir); }

  // Takes the schema of a server that grants the lock at try number `tries`; with 0 it never does.
  bool Take(int tries) {
    return owner_.Take([this] { return found_; },
                       [this, tries] {
                         ++tried_;
                         if (tried_ != tries) return false;
                         if (left_) found_ = *left_;
                         return true;
                       });
  }
  FoundSchema Of(const std::string& id, const std::string& directory) const {
    return {true, SchemaMarker{id, HostName(), directory}};
  }

  SchemaOwner owner_{.engine = "mysql", .kind = "database", .schema = "shelf", .dir = {}};
  FoundSchema found_;
  std::optional<FoundSchema> left_;  // the schema that the last owner of the lock leaves
  int tried_ = 0;
};

TEST_F(SchemaOwnerTest, AwaitsTheLockOfARunThatWasKilled) {
  owner_.WriteRecord("a1");
  found_ = Of("a1", owner_.dir);
  EXPECT_FALSE(Take(4));
  EXPECT_EQ(tried_, 4);
}

TEST_F(SchemaOwnerTest, WhatIsAnothersIsRefusedAtOnce) {
  found_ = Of("b1", owner_.dir + "/of_another");
  ErrorOf(Error::kUsage, [&] { Take(0); });
  found_.marker.reset();
  ErrorOf(Error::kUsage, [&] { Take(0); });
  EXPECT_EQ(tried_, 0);
}

TEST_F(SchemaOwnerTest, ALeftoverIsWhatNobodyHasTheLockOf) {
  found_ = Of("b1", owner_.dir + "/" + kTemporary + "/db");
  const std::string sentence = ErrorOf(Error::kUsage, [&] { Take(0); });
  EXPECT_NE(sentence.find("in use by another run"), std::string::npos) << sentence;
  EXPECT_NE(sentence.find(kTemporary), std::string::npos) << sentence;
  tried_ = 0;
  EXPECT_TRUE(Take(1));
}

TEST_F(SchemaOwnerTest, LooksAgainAtWhatWhoeverHadTheLockHasLeft) {
  left_ = Of("b1", owner_.dir + "/of_another");
  ErrorOf(Error::kUsage, [&] { Take(2); });
  EXPECT_EQ(tried_, 2);
  tried_ = 0;
  found_ = Of("b1", owner_.dir + "/" + kTemporary);
  left_ = FoundSchema{};
  EXPECT_TRUE(Take(1));
}

class SchemaOfALivingRunTest : public EngineTest {
 public:
  static bool IsFor(const EngineCase& c) {
    return FindEngine(c.engine).capabilities.server && !c.IsMyRocks();
  }

 protected:
  void SetUp() override {
    EngineTest::SetUp();
    options_.durability = Durability::kSync;  // each server has this level
  }
  // Opens a database in the directory `name` on the server of the test's own database.
  std::unique_ptr<Engine> Connect(const std::string& name) {
    const std::string cluster = dir_ + "/cluster";
    EngineOptions options = options_;
    options.extra = {
        {"schema", "shelf"},
        {"connect", info().name == "postgres"
                        ? "host=" + cluster + " user=testbed dbname=postgres"
                        : "mysql://root@localhost/?socket=" + cluster + "/mysqld.sock"}};
    return OpenEngine(info().name, dir_ + "/" + name, options);
  }
};
TESTBED_FOR_EVERY_ENGINE(SchemaOfALivingRunTest);

// A run in another mount namespace sees neither the directory nor its lock.
TEST_P(SchemaOfALivingRunTest, IsNoLeftoverThoughItsDirectoryCannotBeSeen) {
  Open();
  std::unique_ptr<Engine> lives = Connect(kTemporary);
  const TableId table = lives->OpenTable("t");
  lives->NewSession()->Put(table, "k", "v");
  fs::rename(dir_ + "/" + kTemporary, dir_ + "/elsewhere");
  const std::string sentence = ErrorOf(Error::kUsage, [&] { Connect("other"); });
  EXPECT_NE(sentence.find("in use by another run"), std::string::npos) << sentence;
  std::string_view value;
  const std::unique_ptr<Session> session = lives->NewSession();
  ASSERT_TRUE(session->Get(table, "k", &value));
  EXPECT_EQ(value, "v");
}

// Several processes of a run work on one schema, which one of them has made.
TEST_P(SchemaOfALivingRunTest, IsOpenToTheGuestsOfTheRun) {
  Open();
  const std::unique_ptr<Engine> host = Connect(kTemporary);
  const TableId table = host->OpenTable("t");
  host->NewSession()->Put(table, "k", "v");
  const std::string id = SchemaIdIn(info().name, dir_ + "/" + kTemporary);
  ASSERT_FALSE(id.empty());
  {
    options_.guest_of = id;
    const std::unique_ptr<Engine> guest = Connect("guest");
    std::string_view value;
    const std::unique_ptr<Session> session = guest->NewSession();
    ASSERT_TRUE(session->Get(guest->OpenTable("t"), "k", &value));
    EXPECT_EQ(value, "v");
    session->Put(guest->OpenTable("t"), "of_guest", "w");
  }
  std::string_view value;
  EXPECT_TRUE(host->NewSession()->Get(table, "of_guest", &value));
  options_.guest_of = "another";
  const std::string sentence = ErrorOf(Error::kUsage, [&] { Connect("stranger"); });
  EXPECT_NE(sentence.find("--connect must lead each task to the same server"), std::string::npos)
      << sentence;
  options_.guest_of.clear();
}

TEST_P(SchemaOfALivingRunTest, IsALeftoverOnceTheRunHasEnded) {
  Open();
  Connect(kTemporary)->OpenTable("t");
  fs::rename(dir_ + "/" + kTemporary, dir_ + "/elsewhere");
  const std::unique_ptr<Engine> next = Connect("other");
  std::string_view value;
  EXPECT_FALSE(next->NewSession()->Get(next->OpenTable("t"), "k", &value));
}

}  // namespace
}  // namespace testbed
