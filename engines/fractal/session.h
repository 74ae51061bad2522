// This header has the sessions of the fractal engine. A transaction's writes stay in message
// buffers of its session until Commit, and cursors lay them over the rows of the trees.
//
// A Put or an Erase throws Error (kUsage), and changes nothing, when the transaction might then
// have more than StoreOptions::transaction_bytes of messages. It counts a row that replaces an
// earlier write of the transaction like a new one.
#ifndef TESTBED_ENGINES_FRACTAL_SESSION_H_
#define TESTBED_ENGINES_FRACTAL_SESSION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engines/engine.h"
#include "engines/fractal/cursor.h"
#include "engines/fractal/store.h"

namespace testbed::fractal {

class FractalSession : public Session {
 public:
  explicit FractalSession(Store* store) : store_(store), client_(store) {}

  void Begin() override;
  void Commit() override;
  void Rollback() override;
  bool Get(TableId table, std::string_view key, std::string_view* value) override;
  void Put(TableId table, std::string_view key, std::string_view value) override;
  void Erase(TableId table, std::string_view key) override;
  std::unique_ptr<Cursor> NewCursor(TableId table) override {
    return std::make_unique<FractalCursor>(Table(table), &client_, &state_);
  }
  bool BlockCounts(uint64_t* requests, uint64_t* misses) override {
    *requests = client_.reads().requests.Get();
    *misses = client_.reads().missed.Get();
    return true;
  }

 private:
  Tree* Table(TableId table) const;
  void Write(const RowWrite& row);
  void DropWrites();

  Store* const store_;
  StoreClient client_;
  SessionState state_;
  uint64_t written_ = 0;  // bytes of the buffers in state_.writes
  bool in_transaction_ = false;
  bool failed_ = false;  // a write of the transaction has failed
  std::string value_;
  std::vector<RowWrite> operations_;
};

}  // namespace testbed::fractal

#endif  // TESTBED_ENGINES_FRACTAL_SESSION_H_
