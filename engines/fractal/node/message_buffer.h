// A MessageBuffer holds the writes that wait in an inner node for one of its children. Messages are
// blind (a put has the whole value, an erase none), so a buffer keeps only the newest message of
// each key.
//
// The bytes of messages lie in an arena in the order of arrival. There are two sorted indexes over
// them: the main index, and a short one of the messages that came one by one since. The short one
// is merged into the main index when it is full, so an insertion moves few bytes however long the
// buffer is.
//
//   message   u64 number, u8 kind, u16 key size, u32 value size, key, value
//
// In the file a buffer is its messages in key order, followed by their count as u32.
//
// A message's number (msn) is the log sequence number of its commit: what lies higher in the tree
// is newer. Not thread-safe: the node's latch guards it.
//
// When Add or AddSorted throw std::bad_alloc, the buffer is unchanged or has the messages. When its
// arena would be longer than 32 bits can address, they throw Error (kRun) and leave it unchanged.
// No buffer comes near that length: kMostTransactionBytes (store.h) bounds all of them.
#ifndef TESTBED_ENGINES_FRACTAL_NODE_MESSAGE_BUFFER_H_
#define TESTBED_ENGINES_FRACTAL_NODE_MESSAGE_BUFFER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace testbed::fractal {

struct Message {
  uint64_t number = 0;
  bool erase = false;
  std::string_view key, value;
};

inline constexpr size_t kMessageOverhead =
    sizeof(uint64_t) + sizeof(uint8_t) + sizeof(uint16_t) + sizeof(uint32_t);

class MessageBuffer {
  struct Entry {
    uint32_t head;  // first four bytes of the key, as a number; decide most comparisons
    uint32_t at;    // offset of the message in the arena
  };

 public:
  // Copies the message. It replaces an older message with the same key.
  void Add(const Message& message);
  // Copies many messages, as Add does. `messages` are in ascending order of their keys.
  void AddSorted(const std::vector<Message>& messages);

  bool empty() const { return count() == 0; }
  // Returns the number of messages. The number may include replaced messages.
  size_t count() const { return main_.size() + recent_.size(); }
  // Returns the bytes of all messages and of their index. The number may include replaced messages.
  size_t bytes() const { return live_ + count() * sizeof(Entry); }
  size_t memory() const {
    return arena_.capacity() + (main_.capacity() + recent_.capacity()) * sizeof(Entry) +
           sizeof *this;
  }

  // Returns the newest message of the key. The message is valid until the buffer changes.
  std::optional<Message> Find(std::string_view key) const;
  // Appends the messages with low <= key < high, in key order, to a list. Without `high` it appends
  // all from `low` on.
  void Range(std::string_view low, std::optional<std::string_view> high,
             std::vector<Message>* out) const;
  std::vector<Message> All() const;
  // After returns the message with the least key >= `key`, or > `key` if `beyond`. Before returns
  // the one with the greatest key <= `key`, or < `key`.
  std::optional<Message> After(std::string_view key, bool beyond) const;
  std::optional<Message> Before(std::string_view key, bool beyond) const;
  std::optional<Message> Last() const;

  void Clear();  // keeps some memory for the next messages
  std::string Serialize() const;
  // Fills the buffer from bytes that have passed their checksum. Returns false, and sets *why, when
  // they are no buffer.
  bool Parse(std::string_view bytes, std::string* why);

 private:
  using Index = std::vector<Entry>;

  static uint32_t HeadOf(std::string_view key);
  Message At(uint32_t at) const;
  std::string_view KeyAt(uint32_t at) const;
  bool Less(const Entry& entry, uint32_t head, std::string_view key) const {
    return entry.head != head ? entry.head < head : KeyAt(entry.at) < key;
  }
  size_t LowerBound(const Index& index, std::string_view key) const;
  bool EqualAt(const Index& index, size_t i, std::string_view key) const {
    return i < index.size() && KeyAt(index[i].at) == key;
  }
  uint32_t Store(const Message& message);
  void Replace(uint32_t* at, const Message& message);
  void Settle();  // merges recent_ into main_
  void MergeIntoMain(const Index& newer, Index room);
  void DropGarbage();
  template <typename Visit>
  void Merge(const Index& newer, size_t newer_end, size_t newer_at, size_t main_at, size_t main_end,
             Visit&& visit) const;

  std::string arena_;
  Index main_, recent_;
  size_t live_ = 0;  // bytes of the messages in both indexes
};

}  // namespace testbed::fractal

#endif  // TESTBED_ENGINES_FRACTAL_NODE_MESSAGE_BUFFER_H_
