#include "workloads/dataset.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <numeric>
#include <tuple>

#include "device/error.h"
#include "device/os/mutex.h"
#include "workloads/keys/key_file.h"
#include "workloads/keys/key_set.h"
#include "workloads/keys/key_source.h"

namespace testbed {
namespace {

// A value is copied from a pool of this size, at an offset that the row's tag determines. The size
// is prime, so that offsets fall at every alignment.
constexpr size_t kPoolSize = 1048573;
// Within each cell of this size random bytes come first and constant bytes follow, so that every
// value has its share of both.
constexpr size_t kCell = 64;
constexpr size_t kHeader = 16;  // a value begins with its tag and its version

// Returns how many bytes of a value shorter than kHeader tell its version; the others must tell the
// row.
constexpr size_t VersionBytes(size_t size) { return size >= 4 ? 2 : size / 2; }
static_assert(VersionBytes(Dataset::kLeastVersioned) > 0);
static_assert(VersionBytes(Dataset::kLeastVersioned - 1) == 0);

void PutBigEndian(uint64_t n, char* to) {
  n = std::endian::native == std::endian::little ? __builtin_bswap64(n) : n;
  std::memcpy(to, &n, 8);
}

uint64_t GetBigEndian(const char* from) {
  uint64_t n;
  std::memcpy(&n, from, 8);
  return std::endian::native == std::endian::little ? __builtin_bswap64(n) : n;
}

// Every row is below this number, so an 8-byte key made of a number at or above it belongs to no
// row.
constexpr uint64_t kNoRow = 1ull << 63;

using Pool = std::shared_ptr<const char[]>;

Pool MakePool(size_t size, double compressibility, uint64_t seed) {
  std::shared_ptr<char[]> pool(new char[size]);
  std::fill_n(pool.get(), size, 'x');
  Random random(seed);
  const auto noise = static_cast<size_t>(std::lround(kCell * (1 - compressibility)));
  for (size_t i = 0; i < size; ++i) {
    if (i % kCell < noise) pool[i] = static_cast<char>(random.Next() >> 56);
  }
  return pool;
}

// Returns a pool of random and constant bytes, and keeps the last one that was made: the cells of
// an experiment mostly differ in other options.
Pool PoolOf(size_t size, double compressibility, uint64_t seed) {
  static Mutex mutex;
  static std::tuple<size_t, double, uint64_t> last;
  static Pool pool;
  LockGuard lock(mutex);
  const std::tuple wanted(size, compressibility, seed);
  if (pool == nullptr || wanted != last) {
    pool = MakePool(size, compressibility, seed);
    last = wanted;
  }
  return pool;
}

// Returns the bytes of a row's value when sizes are uniform.
size_t UniformSize(const DatasetOptions& options, uint64_t row) {
  return options.least_value +
         Reduce(Mix64(row ^ Mix64(~options.seed)), options.most_value - options.least_value + 1);
}

// Returns the bytes of all values. Rows beyond kSummed count with the mean, since a sum takes some
// nanoseconds a row, and the number of rows has no limit. The result is then wrong by less than a
// ten thousandth. Keeps the last sum, since a run makes its data set several times.
uint64_t UniformBytes(const DatasetOptions& options) {
  constexpr uint64_t kSummed = 1 << 27;
  static Mutex mutex;
  static std::tuple<uint64_t, size_t, size_t, uint64_t> last;
  static uint64_t sum = 0;
  LockGuard lock(mutex);
  const std::tuple wanted(options.rows, options.least_value, options.most_value, options.seed);
  if (wanted == last) return sum;
  const uint64_t summed = std::min(options.rows, kSummed);
  const unsigned __int128 rest = options.rows - summed;
  sum = static_cast<uint64_t>(rest * (options.least_value + options.most_value) / 2);
  for (uint64_t row = 0; row < summed; ++row) sum += UniformSize(options, row);
  last = wanted;
  return sum;
}

}  // namespace

const char* KeyOrderName(KeyOrder order) {
  static constexpr const char* kNames[] = {"sequential", "random", "permuted", "file"};
  return kNames[static_cast<size_t>(order)];
}

std::string ValueSizesText(const DatasetOptions& options) {
  if (options.value_sizes == ValueSizes::kColumn) return "column";
  if (options.value_sizes == ValueSizes::kUniform) {
    return std::to_string(options.least_value) + "-" + std::to_string(options.most_value);
  }
  if (options.fields == 1) return std::to_string(options.value_size);
  return std::to_string(options.fields) + "x" + std::to_string(options.value_size / options.fields);
}

void CheckValueSizes(const DatasetOptions& options) {
  if (options.value_sizes != ValueSizes::kColumn) return;
  if (options.order == KeyOrder::kFile && !IsKeySet(options.keys_file)) return;
  throw Error(Error::kUsage,
              "--value-size column takes the sizes from the lines of a file, each a key, a tab and "
              "a size; give that file by --keys FILE");
}

std::string IndexTable(uint32_t index) { return "index" + std::to_string(index + 1); }

Dataset::Dataset(const DatasetOptions& options)
    : options_(options), hash_seed_(Mix64(options.seed)), max_key_size_(options.key_size) {
  if (options_.key_size < 8) {
    throw Error(Error::kUsage, "--key-size " + std::to_string(options_.key_size) +
                                   " is too small; it accepts 8 bytes and more");
  }
  if (options_.fields > 1 &&
      (options_.value_size % options_.fields != 0 || field_size() < kHeader)) {
    throw Error(Error::kUsage, "a value of " + std::to_string(options_.value_size) +
                                   " bytes does not have " + std::to_string(options_.fields) +
                                   " equal fields of 16 bytes or more; try --value-size 10x100");
  }
  CheckValueSizes(options_);
  key_bytes_ = options_.rows * options_.key_size;
  if (options_.order == KeyOrder::kFile) LoadKeys();
  if (options_.rows == 0) throw Error(Error::kUsage, "--rows 0 makes no database; give 1 or more");
  if (options_.order == KeyOrder::kPermuted) permutation_.emplace(options_.rows, hash_seed_);
  SizeValues();
  // A pool longer than any value keeps a value from wrapping around and repeating itself, which a
  // compressor would find.
  pool_ = PoolOf(kPoolSize + max_value_size_, options_.compressibility, options_.seed);
}

void Dataset::LoadKeys() {
  keys_text_ = ReadKeys(options_.keys_file);
  keys_ = KeyLines(*keys_text_);
  if (options_.value_sizes == ValueSizes::kColumn) TakeColumn();
  max_key_size_ = 0;
  key_bytes_ = 0;
  for (const std::string_view key : keys_) {
    key_bytes_ += key.size();
    max_key_size_ = std::max(max_key_size_, key.size());
  }
  if (keys_.empty()) {
    throw Error(Error::kUsage, "--keys " + options_.keys_file + " holds no key; one a line");
  }
  sorted_.resize(keys_.size());
  std::iota(sorted_.begin(), sorted_.end(), 0);
  std::sort(sorted_.begin(), sorted_.end(),
            [this](uint64_t a, uint64_t b) { return keys_[a] < keys_[b]; });
  auto twin = std::adjacent_find(sorted_.begin(), sorted_.end(),
                                 [this](uint64_t a, uint64_t b) { return keys_[a] == keys_[b]; });
  if (twin != sorted_.end()) {
    throw Error(Error::kUsage, "--keys " + options_.keys_file + " holds the key '" +
                                   std::string(keys_[*twin]) + "' twice; each must be there once");
  }
  options_.rows = keys_.size();
  ++max_key_size_;  // room for AbsentKey
}

// Splits each line KEY<TAB>SIZE into keys_ and sizes_.
void Dataset::TakeColumn() {
  constexpr size_t kMostShown = 100;
  sizes_.reserve(keys_.size());
  for (std::string_view& line : keys_) {
    const size_t tab = line.rfind('\t');
    const char* const end = line.data() + line.size();
    const char* const begin = tab == std::string_view::npos ? end : line.data() + tab + 1;
    uint32_t size = 0;
    const auto [at, code] = std::from_chars(begin, end, size);
    if (code != std::errc() || at != end || tab == 0 || size > kMostValueSize) {
      throw Error(Error::kUsage, "--value-size column: the line '" +
                                     std::string(line.substr(0, kMostShown)) + "' of --keys " +
                                     options_.keys_file +
                                     " is no key, tab and size in bytes, a whole number up to " +
                                     std::to_string(kMostValueSize));
    }
    sizes_.push_back(size);
    line = line.substr(0, tab);
  }
}

void Dataset::SizeValues() {
  max_value_size_ = options_.value_size;
  value_bytes_ = options_.rows * options_.value_size;
  if (options_.value_sizes == ValueSizes::kUniform) {
    options_.value_size = (options_.least_value + options_.most_value) / 2;
    max_value_size_ = options_.most_value;
    value_bytes_ = UniformBytes(options_);
  }
  if (options_.value_sizes == ValueSizes::kColumn) {
    max_value_size_ = *std::max_element(sizes_.begin(), sizes_.end());
    value_bytes_ = std::accumulate(sizes_.begin(), sizes_.end(), uint64_t{0});
    options_.value_size = value_bytes_ / options_.rows;
  }
}

size_t Dataset::min_value_size() const {
  if (options_.value_sizes == ValueSizes::kUniform) return options_.least_value;
  if (options_.value_sizes == ValueSizes::kOne) return options_.value_size;
  return *std::min_element(sizes_.begin(), sizes_.end());
}

size_t Dataset::OwnSize(uint64_t row) const {
  if (options_.value_sizes == ValueSizes::kUniform) return UniformSize(options_, row);
  return row < sizes_.size() ? sizes_[row] : options_.value_size;
}

std::string_view Dataset::Key(uint64_t row, char* buffer) const {
  if (options_.order == KeyOrder::kFile) return keys_[row];
  PutBigEndian(KeyNumber(row), buffer);
  std::memset(buffer + 8, '0', options_.key_size - 8);
  return {buffer, options_.key_size};
}

std::string_view Dataset::AbsentKey(uint64_t row, char* buffer) const {
  if (options_.order == KeyOrder::kFile) {
    // A line contains no newline, so no row's key ends with one.
    const std::string_view key = keys_[row];
    std::memcpy(buffer, key.data(), key.size());
    buffer[key.size()] = '\n';
    return {buffer, key.size() + 1};
  }
  if (options_.key_size == 8) {
    PutBigEndian(KeyNumber(row | kNoRow), buffer);
    return {buffer, 8};
  }
  Key(row, buffer);
  buffer[options_.key_size - 1] = '1';
  return {buffer, options_.key_size};
}

// Returns the place of the key among the sorted ones.
std::optional<uint64_t> Dataset::RankInFile(std::string_view key) const {
  const auto at =
      std::lower_bound(sorted_.begin(), sorted_.end(), key,
                       [this](uint64_t row, std::string_view k) { return keys_[row] < k; });
  if (at == sorted_.end() || keys_[*at] != key) return std::nullopt;
  return static_cast<uint64_t>(at - sorted_.begin());
}

std::optional<uint64_t> Dataset::RankOf(std::string_view key) const {
  if (options_.order == KeyOrder::kFile) return RankInFile(key);
  const std::optional<uint64_t> row = RowOf(key);
  if (!row || *row >= options_.rows) return std::nullopt;
  return row;
}

std::optional<uint64_t> Dataset::RowOf(std::string_view key) const {
  if (options_.order == KeyOrder::kFile) {
    const std::optional<uint64_t> rank = RankInFile(key);
    if (!rank) return std::nullopt;
    return sorted_[*rank];
  }
  if (key.size() != options_.key_size) return std::nullopt;
  if (key.find_first_not_of('0', 8) != std::string_view::npos) return std::nullopt;
  uint64_t row = GetBigEndian(key.data());
  if (options_.order == KeyOrder::kRandom) row = UnMix64(row) ^ hash_seed_;
  if (row >= kNoRow) return std::nullopt;
  return row;
}

std::string_view Dataset::IndexKey(uint32_t index, uint64_t row, char* buffer) const {
  PutBigEndian(Mix64(row ^ Mix64(hash_seed_ + index + 1)), buffer);
  char* const place = buffer + kAttributeBytes;
  const std::string_view key = Key(row, place);
  if (key.data() != place) std::memcpy(place, key.data(), key.size());
  return {buffer, kAttributeBytes + key.size()};
}

template <typename Take>
void Dataset::PoolPieces(uint64_t tag, size_t size, Take take) const {
  const size_t pool = kPoolSize + max_value_size_;
  size_t from = tag % kPoolSize;
  while (size > 0) {
    const size_t piece = std::min(size, pool - from);
    take(pool_.get() + from, piece);
    size -= piece;
    from = 0;  // the value is longer than those of the data set, and goes on at the pool's begin
  }
}

void Dataset::SizedValue(uint64_t row, uint64_t version, size_t size, char* buffer) const {
  if (!HasFields(size)) return Piece(row, version, size, buffer);
  for (uint32_t f = 0; f < options_.fields; ++f) {
    Field(row, f, version, buffer + f * field_size());
  }
}

void Dataset::Field(uint64_t row, uint32_t field, uint64_t version, char* buffer) const {
  if (options_.fields == 1) return Value(row, version, buffer);
  Piece(FieldNumber(row, field), version, field_size(), buffer);
}

void Dataset::Piece(uint64_t number, uint64_t version, size_t size, char* buffer) const {
  if (size < kHeader) return ShortValue(number, version, size, buffer);
  const uint64_t tag = Tag(number, version, size);
  std::memcpy(buffer, &tag, 8);
  std::memcpy(buffer + 8, &version, 8);
  buffer += kHeader;
  PoolPieces(tag, size - kHeader, [&](const char* bytes, size_t n) {
    std::memcpy(buffer, bytes, n);
    buffer += n;
  });
}

void Dataset::ShortValue(uint64_t row, uint64_t version, size_t size, char* buffer) const {
  const size_t of_version = VersionBytes(size);
  version &= (uint64_t{1} << (8 * of_version)) - 1;
  const uint64_t begin = Tag(row, 0, size) ^ version, rest = Tag(row, version, size);
  for (size_t i = 0; i < size; ++i) {
    buffer[i] = static_cast<char>((i < of_version ? begin : rest) >> (i % 8 * 8));
  }
}

bool Dataset::Check(uint64_t row, std::string_view value) const {
  const size_t size = value.size();
  if (!TellsRow(row, size)) return false;
  if (!HasFields(size)) return CheckPiece(row, value);
  for (uint32_t f = 0; f < options_.fields; ++f) {
    const std::string_view field = value.substr(f * field_size(), field_size());
    if (!CheckPiece(FieldNumber(row, f), field)) return false;
  }
  return true;
}

bool Dataset::CheckPiece(uint64_t number, std::string_view piece) const {
  const size_t size = piece.size();
  if (size < kHeader) {
    const uint64_t none = Tag(number, 0, size);
    uint64_t version = 0;
    for (size_t i = 0; i < VersionBytes(size); ++i) {
      const auto shown = static_cast<uint8_t>(piece[i]);
      version |= uint64_t{static_cast<uint8_t>(shown ^ (none >> (8 * i)))} << (8 * i);
    }
    char expected[kHeader];
    ShortValue(number, version, size, expected);
    return std::memcmp(expected, piece.data(), size) == 0;
  }
  uint64_t tag, version;
  std::memcpy(&tag, piece.data(), 8);
  std::memcpy(&version, piece.data() + 8, 8);
  if (tag != Tag(number, version, size)) return false;
  const char* at = piece.data() + kHeader;
  bool same = true;
  PoolPieces(tag, size - kHeader, [&](const char* bytes, size_t n) {
    same = same && std::memcmp(at, bytes, n) == 0;
    at += n;
  });
  return same;
}

}  // namespace testbed
