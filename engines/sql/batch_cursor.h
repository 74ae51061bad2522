// A BatchCursor is a cursor that fetches rows by statements. The first batch asks for the rows that
// Expect announced, as a client does by LIMIT. It asks for fewer when these would take more than a
// megabyte, and for 16 at most while the size of the table's rows is not known. The batches of a
// walk of unknown length grow, so that a short scan asks for few rows, and a long one makes few
// statements. Engines implement Read, which fetches a batch.
//
// A row that another session writes into the range of a batch stays hidden until the cursor fetches
// another batch. A write of the cursor's own session does not, since it makes the cursor fetch one.
//
// Not thread-safe, as its session is not.
#ifndef TESTBED_ENGINES_SQL_BATCH_CURSOR_H_
#define TESTBED_ENGINES_SQL_BATCH_CURSOR_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engines/engine.h"
#include "engines/sql/dialect.h"

namespace testbed {

class BatchCursor : public Cursor {
 public:
  void Expect(uint64_t rows) override { expected_ = rows; }
  bool Seek(std::string_view key) override { return Position(Walk::kFrom, key); }
  bool SeekForPrev(std::string_view key) override { return Position(Walk::kUpTo, key); }
  bool First() override { return Position(Walk::kFirst, {}); }
  bool Last() override { return Position(Walk::kLast, {}); }
  bool Next() override { return Step(true); }
  bool Prev() override { return Step(false); }
  std::string_view key() const override { return View(rows_[at_].key); }
  std::string_view value() const override { return View(rows_[at_].value); }

 protected:
  // Reads at most `count` rows of the walk, in its direction, and calls Add for each. `key` stays
  // valid meanwhile.
  virtual void Read(Walk walk, std::string_view key, uint64_t count) = 0;
  void Add(std::string_view key, std::string_view value);
  // Drops the rows of the batch, so that Read can read them again.
  void StartOver();
  // Returns a number that grows with each write and rollback of the session.
  virtual uint64_t Changes() const = 0;
  // Returns where the session keeps the mean bytes of key and value in the last batch of the
  // cursor's table, which are 0 before the first batch. Returns null when the session does not know
  // the table yet.
  virtual uint64_t* RowBytes() = 0;

 private:
  struct Bytes {
    size_t offset, size;
  };
  struct Row {
    Bytes key, value;
  };
  std::string_view View(Bytes b) const { return {arena_.data() + b.offset, b.size}; }
  bool Position(Walk walk, std::string_view key);
  bool Step(bool forward);
  // Fetches a batch: the rows that are expected, or at most `count` rows when none are expected.
  // Returns whether the batch has a row.
  bool Fetch(Walk walk, std::string_view key, uint64_t count);

  std::string arena_;      // keys and values of the batch
  std::vector<Row> rows_;  // rows of the batch, in the direction of the walk
  size_t at_ = 0;          // index in rows_ of the cursor's row
  bool on_row_ = false, forward_ = true;
  // batch_ is the most rows of the batch, and changes_ is Changes() when the batch was fetched.
  uint64_t batch_ = 0, changes_ = 0;
  uint64_t expected_ = 0;  // number of rows that Expect announced for the next walk
  uint64_t left_ = 0;      // number of announced rows of this walk that are not fetched yet
};

}  // namespace testbed

#endif  // TESTBED_ENGINES_SQL_BATCH_CURSOR_H_
