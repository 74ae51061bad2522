#include "workloads/insert_benchmark/schema.h"

#include <cstring>

#include "workloads/random.h"

namespace testbed {
namespace {

// The text is 4 MiB of entropy in base 64, as in the original.
constexpr size_t kEntropy = 4 << 20;
constexpr size_t kTextSize = (kEntropy + 2) / 3 * 4;
constexpr char kLetters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// Offsets of the columns in a value.
constexpr uint32_t kTime = 0, kRegister = 5, kCustomer = 9, kProduct = 13, kPrice = 17;
constexpr uint64_t kFirstTick = 1262304000;  // seconds: 2010-01-01

// Maps the low 32 random bits to a number in [0, n).
uint64_t Scale(uint64_t bits, uint64_t n) { return ((bits & 0xffffffff) * n) >> 32; }

char* Append(const char* from, size_t size, char* to) {
  std::memcpy(to, from, size);
  return to + size;
}

}  // namespace

void IbPut(uint64_t number, size_t bytes, char* to) {
  while (bytes > 0) {
    to[--bytes] = static_cast<char>(number);
    number >>= 8;
  }
}

uint64_t IbGet(const char* from, size_t bytes) {
  uint64_t number = 0;
  for (size_t i = 0; i < bytes; ++i) number = number << 8 | static_cast<unsigned char>(from[i]);
  return number;
}

void IbSchema::PrepareData() {
  if (!text_.empty()) return;
  Random random(options_.seed);
  text_.resize(kTextSize);
  for (size_t i = 0; i < text_.size();) {
    uint64_t bits = random.Next();
    for (int k = 0; k < 10 && i < text_.size(); ++k, bits >>= 6) text_[i++] = kLetters[bits & 63];
  }
}

size_t IbSchema::Value(uint32_t client, uint64_t n, char* to) const {
  const uint64_t a = Mix64(n ^ Mix64(client ^ Mix64(options_.seed)));
  const uint64_t b = Mix64(a), c = Mix64(b);
  IbPut(kFirstTick + n / kRowsPerTick, 5, to + kTime);
  IbPut(Scale(a, kCashRegisters), 4, to + kRegister);
  IbPut(Scale(a >> 32, kCustomers), 4, to + kCustomer);
  IbPut(Scale(b, kProducts), 4, to + kProduct);
  IbPut(Scale(b >> 32, kPrices), 4, to + kPrice);
  // Column data is a run of one letter followed by random letters from the text.
  const size_t size = options_.data_min + Scale(c, options_.data_max - options_.data_min + 1);
  const size_t random = size * 3 * options_.random_pct / 400;
  std::memset(to + kFixedSize, 'a', size - random);
  std::memcpy(to + kFixedSize + size - random,
              text_.data() + Scale(c >> 32, kTextSize - random + 1), random);
  return kFixedSize + size;
}

bool IbSchema::Check(uint32_t client, uint64_t n, std::string_view value, char* room) const {
  return value == std::string_view(room, Value(client, n, room));
}

const std::vector<IndexPart>& IbSchema::IndexParts(uint32_t index) {
  static const std::vector<IndexPart> kParts[kMaxIndexes] = {
      {{kProduct, 4}, {kCustomer, 4}, {kPrice, 4}},
      {{kRegister, 4}, {kCustomer, 4}, {kPrice, 4}},
      {{kPrice, 4}, {kTime, 5}, {kCustomer, 4}},
  };
  return kParts[index];
}

size_t IbSchema::IndexKey(uint32_t index, uint64_t id, std::string_view value, char* to) {
  char* at = to;
  for (const IndexPart& part : IndexParts(index)) {
    at = Append(value.data() + part.offset, part.length, at);
  }
  IbPut(id, kKeySize, at);
  return static_cast<size_t>(at - to) + kKeySize;
}

}  // namespace testbed
