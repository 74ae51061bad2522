// KeptRows holds the rows that an operation found, for the check of the operation. An operation
// that is not checked keeps nothing, because a copy of its rows would be part of its latency.
//
// Execute calls Begin and, where keeps() tells so, Add for each row that it finds. Verify looks at
// the rows from 0 to size(). An operation that may find any number of rows calls AddFew, because
// the copies are memory of the run.
#ifndef TESTBED_WORKLOADS_ROWS_KEPT_ROWS_H_
#define TESTBED_WORKLOADS_ROWS_KEPT_ROWS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace testbed {

// Not thread-safe: each client has its own.
class KeptRows {
 public:
  // Begins an operation, whose rows are kept if it is to be checked (Client::to_verify_).
  void Begin(bool to_verify) {
    keeps_ = to_verify;
    if (!keeps_) return;
    rows_.clear();
    bytes_.clear();
    left_out_ = 0;
  }
  // Returns whether the rows of this operation are kept.
  bool keeps() const { return keeps_; }
  // Returns whether the operation kept at least one row (Client::Kept).
  bool kept() const { return keeps_ && !rows_.empty(); }
  void Add(std::string_view key, std::string_view value) {
    rows_.push_back({bytes_.size(), key.size(), value.size()});
    bytes_.append(key);
    bytes_.append(value);
  }

  // Adds the row, unless the rows before it have kFewBytes already. For the rows that are left out,
  // it keeps their number and the key of the last one.
  void AddFew(std::string_view key, std::string_view value) {
    if (bytes_.size() < kFewBytes) return Add(key, value);
    ++left_out_;
    last_key_.assign(key);
  }

  size_t size() const { return rows_.size(); }
  size_t left_out() const { return left_out_; }
  // Returns the key of the last row, kept or left out. Requires size() > 0.
  std::string_view last_key() const {
    return left_out_ == 0 ? key(size() - 1) : std::string_view(last_key_);
  }
  std::string_view key(size_t i) const {
    return std::string_view(bytes_).substr(rows_[i].at, rows_[i].key);
  }
  std::string_view value(size_t i) const {
    return std::string_view(bytes_).substr(rows_[i].at + rows_[i].key, rows_[i].value);
  }

 private:
  static constexpr size_t kFewBytes = 1 << 20;
  struct Row {
    size_t at, key, value;  // begin of the row in bytes_; sizes of its key and its value
  };

  bool keeps_ = false;
  std::string bytes_;
  std::vector<Row> rows_;
  size_t left_out_ = 0;
  std::string last_key_;  // key of the last row that was left out
};

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_ROWS_KEPT_ROWS_H_
