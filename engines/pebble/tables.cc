#include "engines/pebble/tables.h"

#include <algorithm>

#include "device/account/ledger.h"
#include "device/error.h"
#include "engines/pebble/library.h"
#include "engines/pebble/session.h"

namespace testbed::pebble {
namespace {

std::string Number(uint32_t number) {
  std::string bytes(4, '\0');
  for (size_t i = 0; i < 4; ++i) bytes[i] = static_cast<char>(number >> (24 - 8 * i));
  return bytes;
}

uint32_t FromBytes(std::string_view bytes) {
  uint32_t number = 0;
  for (const char c : bytes) number = number << 8 | static_cast<uint8_t>(c);
  return number;
}

}  // namespace

// A number is one more than that of the last table, which the row with an empty name holds.
uint32_t Tables::FindOrMake(const std::string& name) const {
  if (name.empty()) throw Error(Error::kUsage, "pebble cannot name a table '': give it a name");
  IoScope scope(kOpen);
  SessionHandle session(db_);
  const std::string directory = Number(0);
  std::string_view value;
  if (session.Get(directory + name, &value)) {
    const uint32_t number = FromBytes(value);
    if (value.size() == 4 && number != 0) return number;
    throw Error(Error::kCorruption, "pebble's directory of tables has no number for " + name);
  }
  const uint32_t number = session.Get(directory, &value) ? FromBytes(value) + 1 : 1;
  session.Put(directory + name, Number(number));
  session.Put(directory, Number(number));
  session.Commit();
  return number;
}

TableId Tables::Open(const std::string& name) {
  LockGuard lock(mutex_);
  const auto open = std::find(names_.begin(), names_.end(), name);
  if (open != names_.end()) return static_cast<TableId>(open - names_.begin());
  const uint32_t number = FindOrMake(name);
  names_.push_back(name);
  opened_.push_back({Number(number), Number(number + 1)});
  return static_cast<TableId>(opened_.size() - 1);
}

std::vector<Table> Tables::opened() const {
  LockGuard lock(mutex_);
  return opened_;
}

}  // namespace testbed::pebble
