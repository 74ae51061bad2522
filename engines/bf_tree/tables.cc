#include "engines/bf_tree/tables.h"

#include "device/account/ledger.h"
#include "device/error.h"

namespace testbed::bf_tree {

uint32_t Tables::FindOrMake(const std::string& name, bool* made) const {
  if (name.empty() || name.size() > kLongestKey) {
    throw Error(Error::kUsage, "bf-tree takes names of tables of 1 to " +
                                   std::to_string(kLongestKey) + " bytes, not '" + name + "'");
  }
  IoScope scope(kOpen);
  Gate::Member member(gate_);
  const Gate::Turn turn(&member);
  std::string buffer, room;
  std::string_view value;
  const std::string directory = TablePrefix(0);
  if (tree_->Get(directory + name, &buffer, &value)) {
    const uint32_t number = TableNumber(value);
    if (value.size() == kTablePrefix && number != 0) return number;
    throw Error(Error::kCorruption, "bf-tree's directory of tables has no number for " + name);
  }
  const uint32_t last = tree_->Get(directory, &buffer, &value) ? TableNumber(value) : 0;
  const std::string number = TablePrefix(last + 1);
  tree_->Put(directory, Encoded(number, &room));
  tree_->Put(directory + name, Encoded(number, &room));
  *made = true;
  return last + 1;
}

TableId Tables::Open(const std::string& name, bool* made) {
  return tables_.Find(name, [&] { return PrefixedTableOf(FindOrMake(name, made)); });
}

}  // namespace testbed::bf_tree
