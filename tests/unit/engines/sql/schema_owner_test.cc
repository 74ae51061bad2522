// Tests which schemas of a server a directory may take.
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

#include "device/error.h"
#include "device/machine/host.h"
#include "device/os/signal_guard.h"
#include "engines/sql/ownership.h"

namespace testbed {
namespace {

class SchemaOwnerTest : public testing::Test {
 protected:
  SchemaOwnerTest() {
    std::string pattern = std::filesystem::current_path() / "schema_owner_XXXXXX";
    owner_.dir = ::mkdtemp(pattern.data());
  }
  ~SchemaOwnerTest() override { std::filesystem::remove_all(owner_.dir); }
  bool Take(const FoundSchema& found) {
    return owner_.Take([&] { return found; }, [] { return true; });
  }

  SchemaOwner owner_{.engine = "mysql", .kind = "database", .schema = "testbed", .dir = ""};
};

// mysql makes a schema by several statements, and a run may be killed between any two of them.
TEST_F(SchemaOwnerTest, ASchemaWhoseMakingWasCutShortIsMadeAnew) {
  EXPECT_TRUE(Take({}));
  EXPECT_TRUE(Take({true, SchemaMarker{}}));
}

// A run with --repeat empties its temporary directory before each load. Any other directory may be
// empty because it is not mounted.
TEST_F(SchemaOwnerTest, TheNextLoadOfATemporaryRunReplacesTheOneBefore) {
  EXPECT_THROW(Take({true, SchemaMarker{"1", HostName(), owner_.dir}}), Error);
  const std::string of_test = owner_.dir;
  owner_.dir += "/testbed-0123456789abcdef.tmp/db";
  EXPECT_TRUE(Take({true, SchemaMarker{"1", HostName(), owner_.dir}}));
  EXPECT_THROW(Take({true, SchemaMarker{"1", "another", owner_.dir}}), Error);
  EXPECT_THROW(Take({true, SchemaMarker{"1", HostName(), of_test}}), Error);
  owner_.dir = of_test;
}

TEST_F(SchemaOwnerTest, AnInterruptEndsTheWaitForTheLock) {
  const SignalGuard signals;
  ::raise(SIGTERM);  // a shell may have it ignore SIGINT
  EXPECT_THROW(owner_.Take([] { return FoundSchema{}; }, [] { return false; }), Stopped);
}

TEST_F(SchemaOwnerTest, AGuestTakesTheSchemaOfItsIdAndNoLock) {
  owner_.guest_of = "1";
  const auto take = [&](const FoundSchema& found) {
    return owner_.Take([&] { return found; }, [] { return false; });
  };
  EXPECT_FALSE(take({true, SchemaMarker{"1", "another", "/another"}}));
  EXPECT_THROW(take({true, SchemaMarker{"2", HostName(), owner_.dir}}), Error);
  EXPECT_THROW(take({true, {}}), Error);
  EXPECT_THROW(take({}), Error);
}

TEST_F(SchemaOwnerTest, OnlyTheSchemaOfTheRecordIsTheDirectorys) {
  EXPECT_THROW(Take({true, SchemaMarker{"1", HostName(), "/another"}}), Error);
  owner_.WriteRecord("1");
  EXPECT_FALSE(Take({true, SchemaMarker{"1", HostName(), owner_.dir}}));
  EXPECT_THROW(Take({true, SchemaMarker{"2", HostName(), owner_.dir}}), Error);
  EXPECT_THROW(Take({true, SchemaMarker{}}), Error);
  EXPECT_THROW(Take({true, {}}), Error);
  EXPECT_THROW(Take({}), Error);
}

}  // namespace
}  // namespace testbed
