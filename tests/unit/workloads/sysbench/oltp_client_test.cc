// Tests a client of the OLTP workloads on sessions that fail, and on one that says what it was asked.
#include "workloads/sysbench/oltp_client.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "device/error.h"

namespace testbed::sysbench {
namespace {

class FailingSession : public Session {
 public:
  void Begin() override {}
  void Commit() override {}
  void Rollback() override {}
  bool Get(TableId, std::string_view, std::string_view*) override {
    throw Error(Error::kIo, "No space left on device");
  }
  void Put(TableId, std::string_view, std::string_view) override {}
  void Erase(TableId, std::string_view) override {}
  std::unique_ptr<Cursor> NewCursor(TableId) override { return nullptr; }
};

// The other clients of the phase wait for the rows, and the run would never end.
TEST(OltpClientTest, AnErrorOfTheEngineLeavesNoRowLocked) {
  const Settings settings{.table_size = 100, .tables = 1};
  for (const StatementKind kind :
       {StatementKind::kNonIndexUpdate, StatementKind::kDelete, StatementKind::kDeleteInsert}) {
    OltpPhase phase(settings);
    phase.tables.all = {{0, 1}};
    phase.statements = {kind, kind};
    phase.transaction = true;
    FailingSession session;
    const std::unique_ptr<Client> client = NewOltpClient(phase, session, 0);
    ASSERT_GE(client->Generate(1), 1u);
    EXPECT_THROW(client->Execute(0), Error);
    size_t locked = 0;
    std::thread other([&] {
      for (Mutex& lock : phase.locks) {
        if (lock.try_lock()) {
          lock.unlock();
        } else {
          ++locked;
        }
      }
    });
    other.join();
    EXPECT_EQ(locked, 0u);
  }
}

}  // namespace
}  // namespace testbed::sysbench
