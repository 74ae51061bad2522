#include "engines/fractal/node/basement.h"

namespace testbed::fractal {

bool Basement::Validate(std::string_view bytes, std::string* why) {
  const auto fail = [why](const char* what) {
    *why = what;
    return false;
  };
  if (bytes.size() < sizeof(uint32_t)) return fail("it is shorter than its own count");
  const uint32_t count = Load<uint32_t>(bytes.data() + bytes.size() - sizeof(uint32_t));
  const uint64_t tail = sizeof(uint32_t) * (uint64_t{count} + 1);
  if (tail > bytes.size()) return fail("it has more rows than it has room for");
  const size_t end = bytes.size() - tail;
  size_t at = 0;
  std::string_view last;
  for (uint32_t i = 0; i < count; ++i) {
    if (Load<uint32_t>(bytes.data() + end + sizeof(uint32_t) * size_t{i}) != at) {
      return fail("a row is not where its offset says");
    }
    if (end - at < kRowHeaderBytes) return fail("a row is cut off");
    const uint64_t key_size = Load<uint16_t>(bytes.data() + at);
    const uint64_t value_size = Load<uint32_t>(bytes.data() + at + sizeof(uint16_t));
    if (end - at - kRowHeaderBytes < key_size + value_size) return fail("a row is cut off");
    const std::string_view key = bytes.substr(at + kRowHeaderBytes, key_size);
    if (i > 0 && key <= last) return fail("its rows are not in ascending order");
    last = key;
    at += kRowHeaderBytes + key_size + value_size;
  }
  return at == end || fail("it has bytes that are no row");
}

uint32_t Basement::LowerBound(std::string_view key, bool* equal) const {
  uint32_t low = 0, high = count_;
  *equal = false;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    const int order = this->key(middle).compare(key);
    if (order == 0) {
      *equal = true;
      return middle;
    }
    if (order < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

constexpr size_t kMostReserved = 1 << 20;

void BasementBuilder::Add(std::string_view key, std::string_view value) {
  if (bytes_.capacity() < page_size_ && page_size_ <= kMostReserved) bytes_.reserve(page_size_);
  offsets_.push_back(static_cast<uint32_t>(bytes_.size()));
  Append(static_cast<uint16_t>(key.size()), &bytes_);
  Append(static_cast<uint32_t>(value.size()), &bytes_);
  bytes_.append(key);
  bytes_.append(value);
}

BasementRef BasementBuilder::Finish() {
  std::string bytes;
  bytes.reserve(size());  // without spare capacity, since the bytes may be kept for long
  bytes.append(bytes_);
  bytes.append(reinterpret_cast<const char*>(offsets_.data()), sizeof(uint32_t) * offsets_.size());
  Append(static_cast<uint32_t>(offsets_.size()), &bytes);
  bytes_.clear();
  offsets_.clear();
  return std::make_shared<const Basement>(std::move(bytes));
}

}  // namespace testbed::fractal
