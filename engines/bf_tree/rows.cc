#include "engines/bf_tree/rows.h"

#include <algorithm>
#include <utility>

namespace testbed::bf_tree {
namespace {

constexpr size_t kMostBytes = 64 << 10;  // most bytes of a scan's rows, unless it has one row only

// Returns a key of at most n bytes in the middle between `low` and `high`; an empty string when
// there is none. It takes the first n bytes of both as the digits of fractions, and returns their
// mean. `low` must be less than `high`.
std::string Middle(std::string_view low, std::string_view high, size_t n) {
  std::string sum(n, '\0');
  unsigned carry = 0;  // carry of the addition, then remainder of the division by two
  for (size_t i = n; i-- > 0;) {
    const unsigned l = i < low.size() ? static_cast<uint8_t>(low[i]) : 0;
    const unsigned h = i < high.size() ? static_cast<uint8_t>(high[i]) : 0;
    const unsigned digit = l + h + carry;
    sum[i] = static_cast<char>(digit & 0xff);
    carry = digit >> 8;
  }
  bool differs = false;
  for (size_t i = 0; i < n; ++i) {
    const unsigned digit = carry << 8 | static_cast<uint8_t>(sum[i]);
    sum[i] = static_cast<char>(digit >> 1);
    carry = digit & 1;
    differs = differs || sum[i] != (i < low.size() ? low[i] : '\0');
  }
  return differs ? sum : std::string();
}

std::string LastKey(const Rows& rows) { return std::string(rows.key(rows.count() - 1)); }

}  // namespace

void Rows::Reserve(uint32_t most, size_t longest) {
  count_ = 0;
  ended_ = false;
  const size_t room = std::min(most * longest, kMostBytes + longest);
  if (room > room_) {
    bytes_ = std::make_unique_for_overwrite<char[]>(room);
    room_ = room;
  }
  if (sizes_.size() < 2 * size_t{most}) sizes_.resize(2 * size_t{most});
  if (at_.size() < most) at_.resize(most);
}

void Rows::Take(uint32_t count, bool ended) {
  uint32_t at = 0;
  for (uint32_t i = 0; i < count; ++i) {
    at_[i] = at;
    at += sizes_[2 * i] + sizes_[2 * i + 1];
  }
  count_ = count;
  ended_ = ended;
}

void Rows::swap(Rows& other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(room_, other.room_);
  std::swap(sizes_, other.sizes_);
  std::swap(at_, other.at_);
  std::swap(count_, other.count_);
  std::swap(ended_, other.ended_);
}

bool FindBefore(RowSource* source, const Before& wanted, Rows* rows, Rows* spare) {
  const std::string prefix(wanted.prefix), bound(wanted.bound);
  std::string high = bound;  // no row lies from here to the bound
  bool found = false;
  // This scans from keys that share all but their last bytes with the bound, since most rows just
  // before the bound do.
  for (size_t cut = 1;; cut *= 2) {
    const bool all = bound.size() <= prefix.size() + cut;
    const std::string start = all ? prefix : bound.substr(0, bound.size() - cut);
    source->Scan(start, high, wanted.most, spare);
    if (!spare->ended()) break;
    if (spare->count() > 0) {
      rows->swap(*spare);
      found = true;
      if (rows->count() >= wanted.most / 2) return true;
    } else {
      high = start;
    }
    if (all) return found;
  }
  if (found) return true;

  std::string low = LastKey(*spare);  // key of a row that exists
  for (;;) {
    const size_t digits = std::min(std::max(low.size(), high.size()) + 1, wanted.longest_key);
    const std::string middle = Middle(low, high, digits);
    if (middle.empty()) break;
    source->Scan(middle, high, wanted.most, spare);
    if (!spare->ended()) {
      low = LastKey(*spare);
    } else if (spare->count() > 0) {
      rows->swap(*spare);
      return true;
    } else {
      high = middle;
    }
  }
  // No key of at most longest_key bytes lies in the middle between `low` and `high`. So this scans
  // all rows from `low` on.
  for (std::string start = low;;) {
    source->Scan(start, high, wanted.most, spare);
    if (spare->count() > 0) {
      rows->swap(*spare);
      found = true;
      if (rows->ended()) return true;
      start = LastKey(*rows) + '\0';
      continue;
    }
    if (found) return true;
    // Another session has erased the row at `low` meanwhile.
    Before lower = wanted;
    lower.bound = low;
    return FindBefore(source, lower, rows, spare);
  }
}

std::string_view Encoded(std::string_view value, std::string* room) {
  if (!value.empty() && value.back() != '\0') return value;
  room->assign(value);
  room->push_back('\0');
  return *room;
}

std::string_view Decoded(std::string_view kept) {
  if (!kept.empty() && kept.back() == '\0') kept.remove_suffix(1);
  return kept;
}

}  // namespace testbed::bf_tree
