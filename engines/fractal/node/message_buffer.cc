#include "engines/fractal/node/message_buffer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "device/error.h"
#include "engines/fractal/node/wire.h"

namespace testbed::fractal {
namespace {

constexpr size_t kMostRecent = 256;
constexpr size_t kMostGarbage = 16 << 10;  // garbage may be as large as the live messages and this
constexpr size_t kNumberAt = 0, kKindAt = 8, kKeySizeAt = 9, kValueSizeAt = 11;

size_t SizeOf(std::string_view key, std::string_view value) {
  return kMessageOverhead + key.size() + value.size();
}

// Throws Error (kRun) for an arena that is longer than 32 bits can address: two places would get
// the same number, and a row would get a wrong key.
void CheckArena(uint64_t bytes) {
  if (bytes <= UINT32_MAX) return;
  throw Error(Error::kRun, "a message buffer of fractal would have " + std::to_string(bytes) +
                               " bytes, and takes less than 4 GiB");
}

void AppendMessage(const Message& m, std::string* to) {
  Append(m.number, to);
  Append(static_cast<uint8_t>(m.erase ? 1 : 0), to);
  Append(static_cast<uint16_t>(m.key.size()), to);
  Append(static_cast<uint32_t>(m.value.size()), to);
  to->append(m.key);
  to->append(m.value);
}

}  // namespace

uint32_t MessageBuffer::HeadOf(std::string_view key) {
  uint32_t head = 0;
  for (size_t i = 0; i < sizeof head; ++i) {
    head = head << 8 | (i < key.size() ? static_cast<uint8_t>(key[i]) : 0);
  }
  return head;
}

std::string_view MessageBuffer::KeyAt(uint32_t at) const {
  const char* m = arena_.data() + at;
  return {m + kMessageOverhead, fractal::Load<uint16_t>(m + kKeySizeAt)};
}

Message MessageBuffer::At(uint32_t at) const {
  const char* m = arena_.data() + at;
  const size_t key_size = fractal::Load<uint16_t>(m + kKeySizeAt);
  return {fractal::Load<uint64_t>(m + kNumberAt),
          m[kKindAt] != 0,
          {m + kMessageOverhead, key_size},
          {m + kMessageOverhead + key_size, fractal::Load<uint32_t>(m + kValueSizeAt)}};
}

size_t MessageBuffer::LowerBound(const Index& index, std::string_view key) const {
  const uint32_t head = HeadOf(key);
  const auto at = std::partition_point(index.begin(), index.end(),
                                       [&](const Entry& e) { return Less(e, head, key); });
  return static_cast<size_t>(at - index.begin());
}

uint32_t MessageBuffer::Store(const Message& message) {
  const size_t need = arena_.size() + SizeOf(message.key, message.value);
  CheckArena(need);
  // The arena grows by a quarter and not by half, because reserved bytes count as cache.
  if (need > arena_.capacity()) arena_.reserve(std::max(need, arena_.size() / 4 * 5 + 256));
  const auto at = static_cast<uint32_t>(arena_.size());
  AppendMessage(message, &arena_);
  live_ += SizeOf(message.key, message.value);
  return at;
}

// Overwrites the old message when the new one has its size, so that a row may be written any number
// of times without garbage.
void MessageBuffer::Replace(uint32_t* at, const Message& message) {
  const Message old = At(*at);
  if (old.value.size() == message.value.size()) {
    char* to = arena_.data() + *at;
    std::memcpy(to + kNumberAt, &message.number, sizeof message.number);
    to[kKindAt] = message.erase ? 1 : 0;
    if (!message.value.empty()) {
      std::memcpy(to + kMessageOverhead + message.key.size(), message.value.data(),
                  message.value.size());
    }
    return;
  }
  const size_t old_size = SizeOf(old.key, old.value);
  *at = Store(message);
  live_ -= old_size;
  if (arena_.size() > 2 * live_ + kMostGarbage) Settle();
}

void MessageBuffer::Add(const Message& message) {
  const size_t i = LowerBound(recent_, message.key);
  if (EqualAt(recent_, i, message.key)) {
    Replace(&recent_[i].at, message);
    return;
  }
  // The index gets its memory first, because after that nothing throws.
  if (recent_.size() == recent_.capacity())
    recent_.reserve(std::max<size_t>(1, 2 * recent_.size()));
  const uint32_t at = Store(message);
  recent_.insert(recent_.begin() + static_cast<ptrdiff_t>(i), {HeadOf(message.key), at});
  if (recent_.size() >= kMostRecent) Settle();
}

void MessageBuffer::AddSorted(const std::vector<Message>& messages) {
  Settle();
  size_t bytes = arena_.size();
  for (const Message& m : messages) bytes += SizeOf(m.key, m.value);
  CheckArena(bytes);
  Index newer, room;
  newer.reserve(messages.size());
  room.reserve(main_.size() + messages.size());
  if (bytes > arena_.capacity()) arena_.reserve(bytes);
  for (const Message& m : messages) newer.push_back({HeadOf(m.key), Store(m)});
  MergeIntoMain(newer, std::move(room));
  DropGarbage();
}

void MessageBuffer::Settle() {
  if (recent_.empty()) return;
  Index room;
  room.reserve(main_.size() + recent_.size());
  MergeIntoMain(recent_, std::move(room));
  recent_.clear();
  DropGarbage();
}

// Merges `newer` into main_. A message of `newer` replaces the message of main_ with the same key.
// `room` is empty and has the memory for both, so nothing is thrown.
void MessageBuffer::MergeIntoMain(const Index& newer, Index room) {
  Index& merged = room;
  size_t i = 0;
  for (const Entry& entry : newer) {
    const std::string_view key = KeyAt(entry.at);
    for (; i < main_.size() && Less(main_[i], entry.head, key); ++i) merged.push_back(main_[i]);
    if (EqualAt(main_, i, key)) {
      const Message old = At(main_[i].at);
      live_ -= SizeOf(old.key, old.value);
      ++i;
    }
    merged.push_back(entry);
  }
  merged.insert(merged.end(), main_.begin() + static_cast<ptrdiff_t>(i), main_.end());
  main_.swap(merged);
}

// Makes the arena anew when most of it is garbage, that is, messages that were replaced. All
// messages are in main_.
void MessageBuffer::DropGarbage() {
  if (arena_.size() <= 2 * live_ + kMostGarbage) return;
  std::string arena;
  arena.reserve(live_ + live_ / 4);
  for (Entry& entry : main_) {
    const Message m = At(entry.at);
    entry.at = static_cast<uint32_t>(arena.size());
    AppendMessage(m, &arena);
  }
  arena_.swap(arena);
}

std::optional<Message> MessageBuffer::Find(std::string_view key) const {
  for (const Index* index : {&recent_, &main_}) {
    const size_t i = LowerBound(*index, key);
    if (EqualAt(*index, i, key)) return At((*index)[i].at);
  }
  return std::nullopt;
}

// Visits the newest message of each key in [newer_at, newer_end) and [main_at, main_end), in order.
template <typename Visit>
void MessageBuffer::Merge(const Index& newer, size_t newer_end, size_t newer_at, size_t main_at,
                          size_t main_end, Visit&& visit) const {
  while (newer_at < newer_end || main_at < main_end) {
    int order;
    if (newer_at == newer_end) {
      order = 1;
    } else if (main_at == main_end) {
      order = -1;
    } else {
      order = KeyAt(newer[newer_at].at).compare(KeyAt(main_[main_at].at));
    }
    if (order <= 0) {
      visit(At(newer[newer_at++].at));
      if (order == 0) ++main_at;
    } else {
      visit(At(main_[main_at++].at));
    }
  }
}

void MessageBuffer::Range(std::string_view low, std::optional<std::string_view> high,
                          std::vector<Message>* out) const {
  const size_t newer_end = high ? LowerBound(recent_, *high) : recent_.size();
  const size_t main_end = high ? LowerBound(main_, *high) : main_.size();
  Merge(recent_, newer_end, std::min(newer_end, LowerBound(recent_, low)),
        std::min(main_end, LowerBound(main_, low)), main_end,
        [out](const Message& m) { out->push_back(m); });
}

std::vector<Message> MessageBuffer::All() const {
  std::vector<Message> all;
  all.reserve(count());
  Range({}, std::nullopt, &all);
  return all;
}

std::optional<Message> MessageBuffer::After(std::string_view key, bool beyond) const {
  std::optional<Message> nearest;
  for (const Index* index : {&recent_, &main_}) {
    size_t i = LowerBound(*index, key);
    if (beyond && EqualAt(*index, i, key)) ++i;
    if (i == index->size()) continue;
    const Message m = At((*index)[i].at);
    if (!nearest || m.key < nearest->key) nearest = m;
  }
  return nearest;
}

std::optional<Message> MessageBuffer::Before(std::string_view key, bool beyond) const {
  std::optional<Message> nearest;
  for (const Index* index : {&recent_, &main_}) {
    size_t i = LowerBound(*index, key);
    if (!beyond && EqualAt(*index, i, key)) ++i;
    if (i == 0) continue;
    const Message m = At((*index)[i - 1].at);
    if (!nearest || m.key > nearest->key) nearest = m;
  }
  return nearest;
}

std::optional<Message> MessageBuffer::Last() const {
  std::optional<Message> last;
  for (const Index* index : {&recent_, &main_}) {
    if (index->empty()) continue;
    const Message m = At(index->back().at);
    if (!last || m.key > last->key) last = m;
  }
  return last;
}

void MessageBuffer::Clear() {
  constexpr size_t kKept = 1 << 20;
  if (arena_.capacity() > kKept) {
    std::string().swap(arena_);
    Index().swap(main_);
  }
  arena_.clear();
  main_.clear();
  recent_.clear();
  live_ = 0;
}

std::string MessageBuffer::Serialize() const {
  std::string bytes;
  bytes.reserve(live_ + sizeof(uint32_t));
  uint32_t n = 0;
  Merge(recent_, recent_.size(), 0, 0, main_.size(), [&](const Message& m) {
    AppendMessage(m, &bytes);
    ++n;
  });
  Append(n, &bytes);
  return bytes;
}

bool MessageBuffer::Parse(std::string_view bytes, std::string* why) {
  const auto fail = [why](const char* what) {
    *why = what;
    return false;
  };
  Clear();
  if (bytes.size() < sizeof(uint32_t)) return fail("it is shorter than its own count");
  const size_t end = bytes.size() - sizeof(uint32_t);
  const uint32_t n = fractal::Load<uint32_t>(bytes.data() + end);
  if (n > end / kMessageOverhead) return fail("it has more messages than it has room for");
  arena_.assign(bytes.substr(0, end));
  main_.reserve(n);
  size_t at = 0;
  for (uint32_t i = 0; i < n; ++i) {
    if (end - at < kMessageOverhead) return fail("a message is cut off");
    const uint64_t key_size = fractal::Load<uint16_t>(arena_.data() + at + kKeySizeAt);
    const uint64_t value_size = fractal::Load<uint32_t>(arena_.data() + at + kValueSizeAt);
    if (end - at - kMessageOverhead < key_size + value_size) return fail("a message is cut off");
    const std::string_view key = KeyAt(static_cast<uint32_t>(at));
    if (i > 0 && key <= KeyAt(main_.back().at)) {
      return fail("its messages are not in ascending order");
    }
    main_.push_back({HeadOf(key), static_cast<uint32_t>(at)});
    at += kMessageOverhead + key_size + value_size;
  }
  if (at != end) return fail("it has bytes that are no message");
  live_ = end;
  return true;
}

}  // namespace testbed::fractal
