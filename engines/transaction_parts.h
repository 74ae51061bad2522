// TransactionParts joins the parts of transactions when a log is replayed from its redo point on.
// An engine cuts a long transaction into log records, its parts, which carry the same number.
//
//   TransactionParts parts;
//   if (const auto operations = parts.Add({number, later, more, record})) Run(*operations);
//
// A redo point may lie between two parts of a transaction. A checkpoint chooses such a point only
// when the pages hold the whole transaction, or will hold it when the checkpoint ends. So a later
// part whose first part was not read is ignored. Not thread-safe.
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
    bool later = false;        // parts of the transaction precede this one
    bool more = false;         // parts of the transaction follow this one
    std::string_view operations;
  };
  // Adds a part. Returns the operations of the whole transaction when the part is its last one, and
  // nothing otherwise. They stay valid until the next call, but at most as long as the part's own
  // bytes.
  std::optional<std::string_view> Add(const Part& part) {
    if (part.transaction == 0) return part.operations;
    auto at = unfinished_.find(part.transaction);
    if (at == unfinished_.end()) {
      // Logs of earlier releases do not mark later parts, but the last part of a transaction has no
      // `more`.
      if (part.later || !part.more) return std::nullopt;
      at = unfinished_.try_emplace(part.transaction).first;
    }
    at->second.append(part.operations);
    if (part.more) return std::nullopt;
    whole_ = std::move(at->second);
    unfinished_.erase(at);
    return whole_;
  }
  // Returns the number of transactions whose last part has not been added.
  size_t unfinished() const { return unfinished_.size(); }
  void Clear() {
    unfinished_.clear();
    std::string().swap(whole_);
  }

 private:
  std::unordered_map<uint64_t, std::string> unfinished_;  // operations, by transaction number
  std::string whole_;
};

}  // namespace testbed

#endif  // TESTBED_ENGINES_TRANSACTION_PARTS_H_
