// Rows are the same by each way of access to a server (--engine-option access): what a session
// reads by SELECT, prepared or as text, and by HANDLER is what was written.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/engine/servers/server_test.h"
#include "tests/engine/setting_in_force.h"

namespace testbed {
namespace {

using RowMap = std::map<std::string, std::string>;

#ifdef TESTBED_HAVE_MYSQL
class ServerAccessTest : public ServerTest {
 protected:
  // Opens a database for each access on one server.
  void OpenEach(const std::vector<std::string>& accesses) {
    Open();
    for (const std::string& access : accesses) {
      EngineOptions options = options_;
      options.extra = {{"schema", "by_" + access}, {"connect", Url()}, {"access", access}};
      each_.push_back(OpenEngine("mysql", dir_ + "/" + access, options));
    }
  }
  void TearDown() override {
    each_.clear();
    ServerTest::TearDown();
  }
  // Keys and values have every byte, quotation marks and backslashes among them.
  static RowMap MakeRows() {
    RowMap rows;
    for (int i = 0; i < 256; ++i) {
      const char byte = static_cast<char>(i);
      rows[std::string(1, byte) + "'?`\\" + std::string(1, byte)] = std::string(i % 7, byte) + "'";
    }
    rows["long"] = RowValue(7, 100000);
    return rows;
  }
  static void Write(Session* session, TableId table, const RowMap& rows) {
    session->Begin();
    for (const auto& [key, value] : rows) session->Put(table, key, value);
    session->Commit();
  }
  static RowMap AllRows(Session* session, TableId table, bool forward) {
    RowMap rows;
    const std::unique_ptr<Cursor> cursor = session->NewCursor(table);
    for (bool on = forward ? cursor->First() : cursor->Last(); on;
         on = forward ? cursor->Next() : cursor->Prev()) {
      rows.emplace(cursor->key(), cursor->value());
    }
    return rows;
  }
  // Compares each way to read with the rows that are there.
  static void ExpectRows(Session* session, TableId table, const RowMap& rows) {
    EXPECT_EQ(AllRows(session, table, true), rows);
    EXPECT_EQ(AllRows(session, table, false), rows);
    const std::unique_ptr<Cursor> cursor = session->NewCursor(table);
    for (auto row = rows.begin(); row != rows.end(); ++row) {
      std::string_view value;
      ASSERT_TRUE(session->Get(table, row->first, &value)) << row->first;
      EXPECT_EQ(value, row->second);
      EXPECT_FALSE(session->Get(table, row->first + '\0', &value));
      ASSERT_TRUE(cursor->SeekForPrev(row->first + '\0'));
      EXPECT_EQ(cursor->key(), row->first);
      const auto next = std::next(row);
      ASSERT_EQ(cursor->Seek(row->first + '\0'), next != rows.end());
      if (next == rows.end()) continue;
      EXPECT_EQ(cursor->key(), next->first);
      EXPECT_EQ(cursor->value(), next->second);
      ASSERT_TRUE(cursor->Prev());
      EXPECT_EQ(cursor->key(), row->first);
    }
  }

  std::vector<std::unique_ptr<Engine>> each_;
};
INSTANTIATE_TEST_SUITE_P(Engines, ServerAccessTest,
                         testing::Values(EngineCase{.engine = "mysql", .io = IoMode::kBuffered}),
                         EngineCaseName);

TEST_P(ServerAccessTest, FindsTheSameRowsByEach) {
  OpenEach({"prepared", "select", "handler", "batched"});
  const RowMap rows = MakeRows();
  for (const std::unique_ptr<Engine>& engine : each_) {
    const TableId table = engine->OpenTable("what?");
    const std::unique_ptr<Session> session = engine->NewSession();
    Write(session.get(), table, rows);
    ExpectRows(session.get(), table, rows);
  }
}

TEST_P(ServerAccessTest, SeesCommitsOfOthersAndItsOwnWrites) {
  OpenEach({"prepared", "select", "handler", "batched"});
  for (const std::unique_ptr<Engine>& engine : each_) {
    const TableId table = engine->OpenTable("t");
    const std::unique_ptr<Session> mine = engine->NewSession(), other = engine->NewSession();
    std::string_view value;
    EXPECT_FALSE(mine->Get(table, "k", &value));
    other->Begin();
    other->Put(table, "k", "theirs");
    EXPECT_FALSE(mine->Get(table, "k", &value)) << "it is not committed";
    other->Commit();
    ASSERT_TRUE(mine->Get(table, "k", &value));
    EXPECT_EQ(value, "theirs");
    mine->Begin();
    mine->Put(table, "k", "mine");
    ASSERT_TRUE(mine->Get(table, "k", &value));
    EXPECT_EQ(value, "mine");
    EXPECT_EQ(AllRows(mine.get(), table, true), (RowMap{{"k", "mine"}}));
    EXPECT_EQ(AllRows(other.get(), table, true), (RowMap{{"k", "theirs"}}));
    mine->Rollback();
    EXPECT_EQ(AllRows(mine.get(), table, true), (RowMap{{"k", "theirs"}}));
  }
}

// A HANDLER ignores those bytes of a key that the column has no room for.
TEST_P(ServerAccessTest, AKeyThatIsTooLongIsNotTakenForItsFirstBytes) {
  OpenEach({"prepared", "select", "handler", "batched"});
  const std::string longest(info().capabilities.max_key_size, 'k'), too_long = longest + "k";
  for (const std::unique_ptr<Engine>& engine : each_) {
    const TableId table = engine->OpenTable("t");
    const std::unique_ptr<Session> session = engine->NewSession();
    Write(session.get(), table, {{longest, "v"}, {"l", "v"}});
    std::string_view value;
    EXPECT_TRUE(session->Get(table, longest, &value));
    EXPECT_FALSE(session->Get(table, too_long, &value));
    const std::unique_ptr<Cursor> cursor = session->NewCursor(table);
    ASSERT_TRUE(cursor->Seek(too_long));
    EXPECT_EQ(cursor->key(), "l");
    ASSERT_TRUE(cursor->SeekForPrev(too_long));
    EXPECT_EQ(cursor->key(), longest);
  }
}

// A HANDLER that is open would keep the table as it is.
TEST_P(ServerAccessTest, ATableThatIsReadGetsAnIndex) {
  OpenEach({"prepared", "select", "handler", "batched"});
  const RowMap rows = {{"a", "22"}, {"b", "11"}, {"c", "33"}};
  const RowMap entries = {{"11b", ""}, {"22a", ""}, {"33c", ""}};
  for (const std::unique_ptr<Engine>& engine : each_) {
    const TableId table = engine->OpenTable("t");
    const std::unique_ptr<Session> session = engine->NewSession();
    Write(session.get(), table, rows);
    ExpectRows(session.get(), table, rows);
    const TableId index = engine->OpenIndex("t_index", table, {{0, 2}});
    ExpectRows(session.get(), table, rows);
    EXPECT_EQ(AllRows(session.get(), index, true), entries);
    std::string_view value;
    EXPECT_TRUE(session->Get(index, "33c", &value));
    EXPECT_FALSE(session->Get(index, "33d", &value));
    // A session that begins after that reads the table's columns and no more, too.
    ExpectRows(engine->NewSession().get(), table, rows);
  }
}

TEST_P(ServerAccessTest, IsWhatItSaysInEffective) {
  OpenEach({"select", "handler", "batched"});
  const auto access = [](const Engine& engine) { return SettingInForce(engine, "access"); };
  EXPECT_EQ(access(*engine_), "prepared");
  EXPECT_EQ(access(*each_[0]), "select");
  EXPECT_EQ(access(*each_[1]), "handler");
  EXPECT_EQ(access(*each_[2]), "batched");
  options_.extra["access"] = "sql";
  const std::string sentence =
      ErrorOf(Error::kUsage, [&] { CheckEngineOptions(info(), options_); });
  EXPECT_NE(sentence.find("prepared, select, handler, batched"), std::string::npos) << sentence;
}

// A batch has the reads of a multi-get, and the writes of a transaction until it reads. Many and
// long ones are several batches.
TEST_P(ServerAccessTest, ABatchIsAnsweredStatementByStatement) {
  OpenEach({"batched"});
  const TableId table = each_[0]->OpenTable("t");
  const std::unique_ptr<Session> session = each_[0]->NewSession();
  RowMap rows;
  for (uint64_t row = 0; row < 300; ++row) {
    rows[RowKey(row)] = RowValue(row, row % 100 == 7 ? 200000 : 50);
  }
  Write(session.get(), table, rows);
  std::vector<std::string> keys = {RowKey(7), "absent", RowKey(107), RowKey(8)};
  const auto expect_all = [&] {
    const std::vector<std::string_view> views(keys.begin(), keys.end());
    std::vector<FoundRow> found;
    session->MultiGet(table, views, &found);
    ASSERT_EQ(found.size(), keys.size());
    for (size_t i = 0; i < keys.size(); ++i) {
      ASSERT_EQ(found[i].found, rows.contains(keys[i])) << keys[i];
      if (found[i].found) {
        EXPECT_EQ(found[i].value, rows[keys[i]]);
      }
    }
  };
  expect_all();
  // What is left of a batch does not disturb the next statement.
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  EXPECT_THROW(session->TakeEach(table, views,
                                 [](size_t, const FoundRow&) { throw Error(Error::kRun, "stop"); }),
               Error);
  expect_all();
  keys.assign(200, std::string(2000, 'x'));  // longer than a batch
  keys.push_back(RowKey(9));
  expect_all();
  // A transaction sees its writes before the server has answered them, and they end with it.
  session->Begin();
  session->Put(table, "mine", "1");
  session->Put(table, "mine", "2");
  std::string_view value;
  ASSERT_TRUE(session->Get(table, "mine", &value));
  EXPECT_EQ(value, "2");
  session->Put(table, "other", "3");
  session->Rollback();
  ExpectRows(session.get(), table, rows);
}

// What each way costs the server: a counter of its own, for each statement.
TEST_P(ServerAccessTest, ReadsByTheStatementThatItNames) {
  OpenEach({"prepared", "select", "handler", "batched"});
  for (const std::unique_ptr<Engine>& engine : each_) {
    const TableId table = engine->OpenTable("t");
    const std::unique_ptr<Session> session = engine->NewSession();
    session->Put(table, "k", "v");
    std::string_view value;
    session->Get(table, "k", &value);  // prepares
    const auto before = engine->Counters();
    for (int i = 0; i < 50; ++i) session->Get(table, "k", &value);
    const auto after = engine->Counters();
    const auto grown = [&](const std::string& name) {
      uint64_t growth = UINT64_MAX;
      for (size_t i = 0; i < after.more.size(); ++i) {
        if (after.more[i].first == name) growth = after.more[i].second - before.more[i].second;
      }
      return growth;
    };
    const size_t access = static_cast<size_t>(&engine - each_.data());
    EXPECT_EQ(grown("com_ha_read"), access == 2 ? 50u : 0u);
    EXPECT_EQ(grown("com_select"), access == 2 ? 0u : 50u);
    EXPECT_EQ(grown("com_stmt_execute"), access == 1 || access == 3 ? 0u : 50u);
  }
}
#endif

}  // namespace
}  // namespace testbed
