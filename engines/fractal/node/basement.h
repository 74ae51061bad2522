// A Basement holds the rows of a part of a leaf, in key order, in one block of bytes that never
// changes once it is made. It is the unit of reading, of compression and of the cache, and its
// bytes are the same in memory and, expanded, in the file:
//
//   rows      n x {u16 key size, u32 value size, key, value}
//   offsets   n x u32, where each row begins
//   u32 n
//
// Because a basement never changes, a reader can keep one without a latch, a checkpoint keeps a
// leaf as it was by keeping its basements, and a flush merges two sorted runs.
//
//   BasementBuilder builder(page_size);
//   for (const auto& [key, value] : rows) {
//     if (!builder.Fits(key, value)) Close(builder.Finish());
//     builder.Add(key, value);
//   }
#ifndef TESTBED_ENGINES_FRACTAL_NODE_BASEMENT_H_
#define TESTBED_ENGINES_FRACTAL_NODE_BASEMENT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engines/fractal/node/wire.h"

namespace testbed::fractal {

inline constexpr size_t kRowHeaderBytes = sizeof(uint16_t) + sizeof(uint32_t);
// This is how many bytes a row takes in a basement in addition to its key and value.
inline constexpr size_t kRowOverhead = kRowHeaderBytes + sizeof(uint32_t);

class Basement {
 public:
  // `bytes` must have passed their checksum and Validate().
  explicit Basement(std::string bytes) : bytes_(std::move(bytes)) {
    count_ = Load<uint32_t>(bytes_.data() + bytes_.size() - sizeof(uint32_t));
    offsets_ = bytes_.data() + bytes_.size() - sizeof(uint32_t) * (size_t{count_} + 1);
  }
  Basement(const Basement&) = delete;
  Basement& operator=(const Basement&) = delete;

  // Returns whether the bytes are a basement, with all rows inside and in ascending order. If not,
  // sets *why.
  static bool Validate(std::string_view bytes, std::string* why);

  uint32_t count() const { return count_; }
  const std::string& bytes() const { return bytes_; }
  // Returns how many bytes of the cache the basement takes.
  size_t memory() const { return bytes_.capacity() + sizeof *this + 32; }

  std::string_view key(uint32_t i) const {
    const char* row = Row(i);
    return {row + kRowHeaderBytes, Load<uint16_t>(row)};
  }
  std::string_view value(uint32_t i) const {
    const char* row = Row(i);
    return {row + kRowHeaderBytes + Load<uint16_t>(row), Load<uint32_t>(row + sizeof(uint16_t))};
  }
  // Returns the index of the first row with a key >= `key`, or count() when there is none.
  uint32_t LowerBound(std::string_view key, bool* equal) const;

 private:
  const char* Row(uint32_t i) const {
    return bytes_.data() + Load<uint32_t>(offsets_ + sizeof(uint32_t) * size_t{i});
  }

  const std::string bytes_;
  uint32_t count_;
  const char* offsets_;
};

using BasementRef = std::shared_ptr<const Basement>;

class BasementBuilder {
 public:
  explicit BasementBuilder(size_t page_size) : page_size_(page_size) {}
  bool empty() const { return offsets_.empty(); }
  // Returns whether adding the row would leave the basement no longer than a page. The first row of
  // a basement always fits.
  bool Fits(std::string_view key, std::string_view value) const {
    return empty() || size() + kRowOverhead + key.size() + value.size() <= page_size_;
  }
  void Add(std::string_view key, std::string_view value);
  // Returns the size of the basement that Finish would return.
  size_t size() const { return bytes_.size() + sizeof(uint32_t) * (offsets_.size() + 1); }
  // Returns the basement of the rows that were added, and empties the builder for the next one.
  BasementRef Finish();

 private:
  const size_t page_size_;
  std::string bytes_;
  std::vector<uint32_t> offsets_;
};

}  // namespace testbed::fractal

#endif  // TESTBED_ENGINES_FRACTAL_NODE_BASEMENT_H_
