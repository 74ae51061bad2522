#include "workloads/trace/value_maker.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "workloads/random.h"

namespace testbed {

void ValueMaker::Make(std::string_view key, size_t size, char* to) {
  MakeVersion(key, size, ++version_, to);
}

void ValueMaker::MakeFirst(std::string_view key, size_t size, char* to) const {
  MakeVersion(key, size, 0, to);
}

bool ValueMaker::MayHaveMade(std::string_view key, std::string_view value) const {
  const uint64_t row = NumberOf(key);
  return !dataset_.TellsRow(row, value.size()) || dataset_.Check(row, value);
}

uint64_t ValueMaker::NumberOf(std::string_view key) const {
  return dataset_.RowOf(key).value_or(XXH3_64bits(key.data(), key.size()));
}

void ValueMaker::MakeVersion(std::string_view key, size_t size, uint64_t version, char* to) const {
  const uint64_t row = NumberOf(key);
  if (dataset_.TellsRow(row, size)) return dataset_.SizedValue(row, version, size, to);
  const uint64_t tag = Mix64(row ^ Mix64(version));
  std::memcpy(to, &tag, std::min(size, sizeof tag));
}

}  // namespace testbed
