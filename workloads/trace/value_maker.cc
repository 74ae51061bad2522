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
  return !TellsItsKey(value.size()) || dataset_.Check(NumberOf(key), value);
}

bool ValueMaker::TellsItsKey(size_t size) const {
  return size == dataset_.options().value_size || size >= Dataset::kLeastSized;
}

uint64_t ValueMaker::NumberOf(std::string_view key) const {
  return dataset_.RowOf(key).value_or(XXH3_64bits(key.data(), key.size()));
}

void ValueMaker::MakeVersion(std::string_view key, size_t size, uint64_t version, char* to) const {
  if (TellsItsKey(size)) return dataset_.SizedValue(NumberOf(key), version, size, to);
  const uint64_t tag = Mix64(NumberOf(key) ^ Mix64(version));
  std::memcpy(to, &tag, std::min(size, sizeof tag));
}

}  // namespace testbed
