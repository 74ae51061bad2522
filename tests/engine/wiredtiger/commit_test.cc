// Tests a commit that WiredTiger itself ends by a rollback, which no call of a session provokes at
// will: functions of the test stand before those of WiredTiger's session.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "device/os/mutex.h"
#include "engines/registry.h"
#include "tests/engine/engine_test.h"
#include "tests/engine/wiredtiger_database.h"

#ifdef TESTBED_HAVE_WIREDTIGER
#include <wiredtiger.h>

#include "engines/wiredtiger/session.h"
#include "engines/wiredtiger/settings.h"

namespace testbed {
namespace {

// The functions of WiredTiger that those of the test stand before, and what the test asks of them.
struct LostCommits {
  decltype(WT_CONNECTION::open_session) open_session = nullptr;
  decltype(WT_SESSION::begin_transaction) begin = nullptr;
  decltype(WT_SESSION::commit_transaction) commit = nullptr;
  int left = 0;  // number of commits that are still to be lost
  // The key of a cursor, as it lies in WiredTiger's memory. From a lost commit to the next begin
  // its bytes are others, as those of a page that was evicted may be.
  std::string_view key;
  std::string bytes;  // the key's own ones
};
LostCommits lost_commits;

int LoseCommit(WT_SESSION* session, const char* config) {
  LostCommits& lost = lost_commits;
  if (lost.left == 0) return lost.commit(session, config);
  --lost.left;
  session->rollback_transaction(session, nullptr);
  if (lost.bytes.empty()) {
    lost.bytes = lost.key;
    std::memset(const_cast<char*>(lost.key.data()), '~', lost.key.size());
  }
  return WT_ROLLBACK;
}

int BeginAfterLoss(WT_SESSION* session, const char* config) {
  LostCommits& lost = lost_commits;
  if (!lost.bytes.empty()) {
    std::memcpy(const_cast<char*>(lost.key.data()), lost.bytes.data(), lost.bytes.size());
    lost.bytes.clear();
  }
  return lost.begin(session, config);
}

int OpenLosingSession(WT_CONNECTION* connection, WT_EVENT_HANDLER* handler, const char* config,
                      WT_SESSION** session) {
  LostCommits& lost = lost_commits;
  const int code = lost.open_session(connection, handler, config, session);
  if (code != 0) return code;
  lost.begin = (*session)->begin_transaction;
  lost.commit = (*session)->commit_transaction;
  (*session)->begin_transaction = &BeginAfterLoss;
  (*session)->commit_transaction = &LoseCommit;
  return 0;
}

// WiredTiger has reset its cursors then, so that their keys are pinned no longer.
TEST_F(WiredtigerTest, ACursorKeepsItsPlaceOverACommitThatIsLost) {
  options_.durability = Durability::kNone;
  Open();  // makes the table
  Close();
  wiredtiger::Database database(wiredtiger::MakeSettings(options_));
  {
    wiredtiger::FileSystem::Install install(&database.files);
    ASSERT_EQ(::wiredtiger_open(dir_.c_str(), database.errors.handler(),
                                database.settings.connection.c_str(), &database.connection),
              0);
    LockGuard lock(database.mutex);
    database.tables.emplace_back("t");
  }
  lost_commits = {};
  lost_commits.open_session = database.connection->open_session;
  database.connection->open_session = &OpenLosingSession;
  {
    wiredtiger::WiredtigerSession session(&database);
    for (const char* key : {"b", "d", "f"}) session.Put(0, key, key);
    const std::unique_ptr<Cursor> cursor = session.NewCursor(0);
    session.Begin();
    session.Put(0, "c", "mine");
    ASSERT_TRUE(cursor->Seek("d"));
    lost_commits.key = cursor->key();
    lost_commits.left = 2;
    session.Commit();
    EXPECT_EQ(lost_commits.left, 0);
    EXPECT_TRUE(cursor->Next());
    EXPECT_EQ(cursor->key(), "f");
    EXPECT_TRUE(cursor->Seek("c")) << "the write of the transaction";
    EXPECT_EQ(cursor->value(), "mine");
  }
  database.connection->close(database.connection, nullptr);
}

}  // namespace
}  // namespace testbed

#endif  // TESTBED_HAVE_WIREDTIGER
