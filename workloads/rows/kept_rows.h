// KeptRows holds the rows that an operation found, for the check of the operation. An operation
// that is not checked keeps nothing, because a copy of its rows would be part of its latency.
//
// Execute calls Begin and, where keeps() tells so, Add for each row that it finds. Verify looks at
// the rows from 0 to size().
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
  }
  // Returns whether the rows of this operation are kept.
  bool keeps() const { return keeps_; }
  void Add(std::string_view key, std::string_view value) {
    rows_.push_back({bytes_.size(), key.size(), value.size()});
    bytes_.append(key);
    bytes_.append(value);
  }

  size_t size() const { return rows_.size(); }
  std::string_view key(size_t i) const {
    return std::string_view(bytes_).substr(rows_[i].at, rows_[i].key);
  }
  std::string_view value(size_t i) const {
    return std::string_view(bytes_).substr(rows_[i].at + rows_[i].key, rows_[i].value);
  }

 private:
  struct Row {
    size_t at, key, value;  // where it begins in bytes_; sizes of its key and value
  };

  bool keeps_ = false;
  std::string bytes_;
  std::vector<Row> rows_;
};

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_ROWS_KEPT_ROWS_H_
