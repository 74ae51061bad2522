// The rows that a test which commits to a failing disk expects in its database.
//
//   known.Begin(number, rows);
//   database.Commit(rows);        // may throw: the commit is then there as a whole, or not at all
//   known.End(number);            // the commit was acknowledged
//
//   auto [lost, halves] = known.Lost(&database);
//
// The value of each row begins with the number of its commit, and later commits have greater
// numbers.
#ifndef TESTBED_TESTS_UNIT_ENGINES_FAILING_DISK_ACKNOWLEDGED_H_
#define TESTBED_TESTS_UNIT_ENGINES_FAILING_DISK_ACKNOWLEDGED_H_

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "tests/unit/engines/failing_disk/disk_fault_database.h"

namespace testbed {

class Acknowledged {
 public:
  void Clear() { *this = {}; }
  void Begin(int number, const std::map<std::string, FaultRow>& rows) {
    for (const auto& [key, value] : rows) {
      rows_[key].doubtful.insert(value);
      if (!value) rows_[key].erased_by = number;
    }
    doubtful_[number] = rows;
  }
  void End(int number) {
    for (const auto& [key, value] : doubtful_[number]) {
      rows_[key].value = value;
      rows_[key].doubtful.clear();
    }
    doubtful_.erase(number);
  }
  size_t rows() const { return rows_.size(); }
  bool any() const {
    return std::any_of(rows_.begin(), rows_.end(),
                       [](const auto& row) { return row.second.value.has_value(); });
  }
  // Returns the number of rows that `database` has lost, and of commits that it holds half of.
  std::pair<int, int> Lost(FaultDatabase* database) const {
    int lost = 0, halves = 0;
    std::map<std::string, FaultRow> found;
    for (const auto& [key, row] : rows_) {
      found[key] = database->Get(key);
      lost += found[key] != row.value && !row.doubtful.contains(found[key]);
    }
    for (const auto& [number, rows] : doubtful_) halves += IsHalf(number, rows, found);
    return {lost, halves};
  }

 private:
  struct Row {
    FaultRow value;
    std::set<FaultRow> doubtful;
    int erased_by = 0;  // the last commit that erased the row, acknowledged or not
  };
  // Returns whether some rows of the commit were written, while others are older than it: they have
  // an older value, or do not exist though nobody has erased them since.
  bool IsHalf(int number, const std::map<std::string, FaultRow>& rows,
              const std::map<std::string, FaultRow>& found) const {
    bool some = false, older = false;
    for (const auto& [key, value] : rows) {
      const FaultRow& now = found.at(key);
      some = some || (value && now == value);
      older = older || (now ? std::stoi(*now) < number : value && rows_.at(key).erased_by < number);
    }
    return some && older;
  }
  std::map<std::string, Row> rows_;
  std::map<int, std::map<std::string, FaultRow>> doubtful_;
};

}  // namespace testbed

#endif  // TESTBED_TESTS_UNIT_ENGINES_FAILING_DISK_ACKNOWLEDGED_H_
