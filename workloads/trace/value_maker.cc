#include "workloads/trace/value_maker.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "device/os/mutex.h"
#include "workloads/random.h"

namespace testbed {
namespace {

constexpr size_t kPoolBytes = 1 << 20;

using Pool = std::shared_ptr<const std::vector<char>>;

// Runs of random bytes alternate with runs of one byte, so that a compressor can remove the same
// share as in the values of the data set.
Pool MakePool(uint64_t seed, double compressibility) {
  constexpr size_t kRun = 64;
  const auto same = static_cast<size_t>(compressibility * kRun);
  auto pool = std::make_shared<std::vector<char>>(2 * kPoolBytes);
  Random random(seed);
  for (size_t i = 0; i < pool->size(); ++i) {
    (*pool)[i] = i % kRun < same ? 'x' : static_cast<char>(random.Below(256));
  }
  return pool;
}

// The clients of a phase share their pool: a thousand of them would take 2 GB of the run's memory.
Pool PoolOf(const DatasetOptions& options) {
  static Mutex mutex;
  static std::pair<uint64_t, double> last_wanted;
  static std::weak_ptr<const std::vector<char>> last;
  const std::pair wanted(options.seed, options.compressibility);
  const LockGuard lock(mutex);
  Pool pool = last.lock();
  if (pool != nullptr && wanted == last_wanted) return pool;
  pool = MakePool(options.seed, options.compressibility);
  last = pool;
  last_wanted = wanted;
  return pool;
}

}  // namespace

ValueMaker::ValueMaker(const Dataset& dataset, uint64_t version)
    : dataset_(dataset), version_(version), pool_(PoolOf(dataset.options())) {}

void ValueMaker::Make(std::string_view key, size_t size, char* to) {
  MakeVersion(key, size, ++version_, to);
}

void ValueMaker::MakeFirst(std::string_view key, size_t size, char* to) {
  MakeVersion(key, size, 0, to);
}

void ValueMaker::MakeVersion(std::string_view key, size_t size, uint64_t version, char* to) {
  if (size == dataset_.options().value_size || size >= Dataset::kLeastSized) {
    if (const std::optional<uint64_t> row = dataset_.RowOf(key)) {
      return dataset_.SizedValue(*row, version, size, to);
    }
  }
  const uint64_t tag = Mix64(std::hash<std::string_view>()(key) ^ Mix64(version));
  for (size_t at = 0; at < size;) {
    const size_t n = std::min(size - at, kPoolBytes);
    std::memcpy(to + at, pool_->data() + Mix64(tag + at) % kPoolBytes, n);
    at += n;
  }
  std::memcpy(to, &tag, std::min(size, sizeof tag));
}

}  // namespace testbed
