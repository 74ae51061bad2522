#include "engines/bf_tree/tables.h"

#include <algorithm>

#include "device/account/ledger.h"
#include "device/error.h"

namespace testbed::bf_tree {
namespace {

std::string Number(uint32_t number) {
  std::string bytes(kTablePrefix, '\0');
  for (size_t i = 0; i < kTablePrefix; ++i) bytes[i] = static_cast<char>(number >> (24 - 8 * i));
  return bytes;
}

uint32_t FromBytes(std::string_view bytes) {
  uint32_t number = 0;
  for (const char c : bytes) number = number << 8 | static_cast<uint8_t>(c);
  return number;
}

}  // namespace

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
  const std::string directory = Number(0);
  if (tree_->Get(directory + name, &buffer, &value)) {
    const uint32_t number = FromBytes(value);
    if (value.size() == kTablePrefix && number != 0) return number;
    throw Error(Error::kCorruption, "bf-tree's directory of tables has no number for " + name);
  }
  const uint32_t last = tree_->Get(directory, &buffer, &value) ? FromBytes(value) : 0;
  const std::string number = Number(last + 1);
  tree_->Put(directory, Encoded(number, &room));
  tree_->Put(directory + name, Encoded(number, &room));
  *made = true;
  return last + 1;
}

TableId Tables::Open(const std::string& name, bool* made) {
  LockGuard lock(mutex_);
  const auto open = std::find(names_.begin(), names_.end(), name);
  if (open != names_.end()) return static_cast<TableId>(open - names_.begin());
  const uint32_t number = FindOrMake(name, made);
  names_.push_back(name);
  opened_.push_back({Number(number), Number(number + 1)});
  return static_cast<TableId>(opened_.size() - 1);
}

std::vector<Table> Tables::opened() const {
  LockGuard lock(mutex_);
  return opened_;
}

}  // namespace testbed::bf_tree
