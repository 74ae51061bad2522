// KeptRows holds the rows that an operation found, for the check of the operation. An operation
// that is not checked keeps nothing, because a copy of its rows would be part of its latency.
//
// The runner checks a client's operations at equal distances, and the client learns of a check when
// its operation is done. The first check tells the distance. So the operation that is checked first
// has kept nothing, and its client repeats it for the check.
//
// Execute calls Begin and, where keeps() tells so, Add for each row that it finds. Verify calls
// NoteCheck, calls Keep and repeats the operation where that returned false, and then looks at the
// rows from 0 to size().
#ifndef TESTBED_WORKLOADS_ROWS_KEPT_ROWS_H_
#define TESTBED_WORKLOADS_ROWS_KEPT_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace testbed {

// Not thread-safe: each client has its own.
class KeptRows {
 public:
  // Begins an operation, whose rows are kept if it is to be checked.
  void Begin() {
    keeps_ = ++operations_ == next_check_;
    if (keeps_) Clear();
  }
  // Begins the repetition of an operation, whose rows are kept.
  void Keep() {
    keeps_ = true;
    Clear();
  }
  // Returns whether the rows of this operation are kept.
  bool keeps() const { return keeps_; }
  void Add(std::string_view key, std::string_view value) {
    rows_.push_back({bytes_.size(), key.size(), value.size()});
    bytes_.append(key);
    bytes_.append(value);
  }
  // Notes that the last operation is being checked. Returns whether its rows were kept.
  bool NoteCheck() {
    const uint64_t distance = operations_ - checked_;
    checked_ = operations_;
    next_check_ = operations_ + distance;
    return keeps_;
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
  void Clear() {
    rows_.clear();
    bytes_.clear();
  }

  bool keeps_ = false;
  uint64_t operations_ = 0;  // begun so far
  uint64_t checked_ = 0;     // number of the operation that was checked last
  uint64_t next_check_ = 0;  // number of the one that is checked next; 0 = not known
  std::string bytes_;
  std::vector<Row> rows_;
};

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_ROWS_KEPT_ROWS_H_
