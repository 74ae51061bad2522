#include "engines/pebble/tables.h"

#include "device/account/ledger.h"
#include "device/error.h"
#include "engines/pebble/library.h"
#include "engines/pebble/session.h"

namespace testbed::pebble {

// The new number is one more than the number of the last table, which the row with an empty name
// holds.
uint32_t Tables::FindOrMake(const std::string& name) const {
  if (name.empty()) throw Error(Error::kUsage, "pebble cannot name a table '': give it a name");
  IoScope scope(kOpen);
  SessionHandle session(db_);
  const std::string directory = TablePrefix(0);
  std::string_view value;
  if (session.Get(directory + name, &value)) {
    const uint32_t number = TableNumber(value);
    if (value.size() == kTablePrefix && number != 0) return number;
    throw Error(Error::kCorruption, "pebble's directory of tables has no number for " + name);
  }
  const uint32_t number = session.Get(directory, &value) ? TableNumber(value) + 1 : 1;
  session.Put(directory + name, TablePrefix(number));
  session.Put(directory, TablePrefix(number));
  session.Commit();
  return number;
}

TableId Tables::Open(const std::string& name) {
  return tables_.Find(name, [&] { return PrefixedTableOf(FindOrMake(name)); });
}

}  // namespace testbed::pebble
