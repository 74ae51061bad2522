// TransactionParts puts the parts of transactions together when a log is read from its redo point on.
// An engine cuts a long transaction into log records, its parts, which carry one number. A redo point
// never lies between two parts.
//
//   TransactionParts parts;
//   if (const auto operations = parts.Add({number, more, record})) Run(*operations);
//
// Not thread-safe.
#ifndef TESTBED_ENGINES_TRANSACTION_PARTS_H_
#define TESTBED_ENGINES_TRANSACTION_PARTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace testbed {

class TransactionParts {
 public:
  struct Part {
    uint64_t transaction = 0;  // 0: the record is the whole transaction
    bool more = false;         // parts of the transaction follow this one
    std::string_view operations;
  };
  // Returns the operations of the transaction that the part ends, or nothing. They are valid until
  // the next call, and as long as those of the part.
  std::optional<std::string_view> Add(const Part& part) {
    if (part.transaction == 0) return part.operations;
    const auto at = unfinished_.try_emplace(part.transaction).first;
    at->second.append(part.operations);
    if (part.more) return std::nullopt;
    whole_ = std::move(at->second);
    unfinished_.erase(at);
    return whole_;
  }
  // Returns the number of transactions whose last part has not come.
  size_t unfinished() const { return unfinished_.size(); }
  void Clear() {
    unfinished_.clear();
    std::string().swap(whole_);
  }

 private:
  std::unordered_map<uint64_t, std::string> unfinished_;  // operations, by number
  std::string whole_;
};

}  // namespace testbed

#endif  // TESTBED_ENGINES_TRANSACTION_PARTS_H_
