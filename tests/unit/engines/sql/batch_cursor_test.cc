// Tests how many rows the statements of a server's cursor ask for.
#include "engines/sql/batch_cursor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace testbed {
namespace {

using testing::ElementsAre;

// The table of a server, and the state of its session.
struct Server {
  explicit Server(size_t value_size) {
    for (int row = 0; row < 20000; ++row) {
      rows[std::to_string(100000 + row)] = std::string(value_size, 'v');
    }
  }
  std::map<std::string, std::string> rows;
  std::vector<uint64_t> asked;  // rows that each statement asked for
  uint64_t changes = 0, row_bytes = 0;
};

class ServerCursor : public BatchCursor {
 public:
  explicit ServerCursor(Server* server) : server_(*server) {}

 private:
  void Read(Walk walk, std::string_view key, uint64_t count) override {
    server_.asked.push_back(count);
    if (!IsForward(walk)) return ReadBack(walk, key, count);
    auto at = walk == Walk::kFirst   ? server_.rows.begin()
              : walk == Walk::kAfter ? server_.rows.upper_bound(std::string(key))
                                     : server_.rows.lower_bound(std::string(key));
    for (; count > 0 && at != server_.rows.end(); --count, ++at) Add(at->first, at->second);
  }
  void ReadBack(Walk walk, std::string_view key, uint64_t count) {
    auto at = walk == Walk::kLast   ? server_.rows.end()
              : walk == Walk::kUpTo ? server_.rows.upper_bound(std::string(key))
                                    : server_.rows.lower_bound(std::string(key));
    for (; count > 0 && at != server_.rows.begin(); --count) {
      --at;
      Add(at->first, at->second);
    }
  }
  uint64_t Changes() const override { return server_.changes; }
  uint64_t* RowBytes() override { return &server_.row_bytes; }

  Server& server_;
};

// Scans `rows` rows, after announcing `expected` rows (0: none). Returns the number of rows that
// each statement asked for.
std::vector<uint64_t> Scan(Server* server, uint64_t rows, uint64_t expected) {
  server->asked.clear();
  ServerCursor cursor(server);
  if (expected != 0) cursor.Expect(expected);
  uint64_t at = 0;
  for (bool on = cursor.Seek("100050"); on && at < rows; on = ++at < rows && cursor.Next()) {
    EXPECT_EQ(cursor.key(), std::to_string(100050 + at));
  }
  EXPECT_EQ(at, rows);
  return server->asked;
}

TEST(BatchCursorTest, AWalkOfUnknownLengthFetchesMoreAndMore) {
  Server server(100);
  EXPECT_THAT(Scan(&server, 1, 0), ElementsAre(4));
  EXPECT_THAT(Scan(&server, 85, 0), ElementsAre(4, 16, 64, 256));
  EXPECT_THAT(Scan(&server, 700, 0), ElementsAre(4, 16, 64, 256, 256, 256));
}

TEST(BatchCursorTest, AnExpectedWalkIsOneStatementOfItsLength) {
  Server server(100);
  // The first walk of a session does not know how wide the rows are.
  EXPECT_THAT(Scan(&server, 100, 100), ElementsAre(16, 84));
  for (const uint64_t rows : {1, 2, 83, 84, 100, 1000, 9000}) {
    EXPECT_THAT(Scan(&server, rows, rows), ElementsAre(rows));
  }
}

TEST(BatchCursorTest, ACursorGoesOnBeyondWhatWasExpected) {
  Server server(100);
  server.row_bytes = 100;
  EXPECT_THAT(Scan(&server, 30, 3), ElementsAre(3, 16, 64));
  EXPECT_THAT(Scan(&server, 1001, 1000), ElementsAre(1000, 256));
  // The hint must count for one walk only.
  ServerCursor cursor(&server);
  cursor.Expect(2);
  cursor.First();
  server.asked.clear();
  cursor.First();
  EXPECT_THAT(server.asked, ElementsAre(4));
}

TEST(BatchCursorTest, TheBytesOfABatchAreBounded) {
  Server server(10000);
  EXPECT_EQ(Scan(&server, 300, 300)[0], 16u);
  for (const uint64_t asked : Scan(&server, 300, 300)) EXPECT_LE(asked, 105u);
  Server wide(3 << 10);
  wide.row_bytes = 5 << 20;
  EXPECT_EQ(Scan(&wide, 2, 2)[0], 1u);
}

TEST(BatchCursorTest, ABatchIsFetchedAnewAfterAWriteOrATurn) {
  Server server(100);
  server.row_bytes = 100;
  ServerCursor cursor(&server);
  cursor.Expect(50);
  ASSERT_TRUE(cursor.Seek("100100"));
  ASSERT_TRUE(cursor.Next());
  ++server.changes;
  ASSERT_TRUE(cursor.Next());
  EXPECT_EQ(cursor.key(), "100102");
  ASSERT_TRUE(cursor.Prev());
  EXPECT_EQ(cursor.key(), "100101");
  EXPECT_THAT(server.asked, ElementsAre(50, 4, 4));
}

}  // namespace
}  // namespace testbed
