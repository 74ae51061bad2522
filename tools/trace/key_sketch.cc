#include "tools/trace/key_sketch.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <ext/pb_ds/assoc_container.hpp>
#include <ext/pb_ds/tree_policy.hpp>
#include <functional>
#include <queue>
#include <unordered_map>

namespace testbed {
namespace {

constexpr unsigned kPartBits = 3;
constexpr size_t kReuseBuckets = 64 << kPartBits;

size_t BucketOf(uint64_t distance) {
  if (distance < (1u << kPartBits)) return distance;
  const unsigned shift = static_cast<unsigned>(std::bit_width(distance)) - 1 - kPartBits;
  return ((shift + 1) << kPartBits) + ((distance >> shift) & ((1u << kPartBits) - 1));
}

// Returns the least distance in a bucket.
double FirstOf(size_t bucket) {
  if (bucket < (1u << kPartBits)) return static_cast<double>(bucket);
  const auto shift = static_cast<int>(bucket >> kPartBits) - 1;
  const size_t part = (bucket & ((1u << kPartBits) - 1)) | 1u << kPartBits;
  return std::ldexp(static_cast<double>(part), shift);
}

}  // namespace

struct KeySketch::Sample {
  struct Key {
    uint64_t last;  // time of the last access
    uint64_t count;
  };
  // A set of times that can count its elements greater than a given time.
  using Times =
      __gnu_pbds::tree<uint64_t, __gnu_pbds::null_type, std::less<>, __gnu_pbds::rb_tree_tag,
                       __gnu_pbds::tree_order_statistics_node_update>;
  std::unordered_map<uint64_t, Key> keys;  // by hash
  Times last;                              // last accesses of the keys
  std::priority_queue<uint64_t> hashes;    // hashes of the keys, the greatest first
};

KeySketch::KeySketch()
    : sample_(std::make_unique<Sample>()), reuse_(kReuseBuckets), exact_reuse_(kMostKeys) {}
KeySketch::~KeySketch() = default;

bool KeySketch::exact() const { return threshold_ == UINT64_MAX; }

void KeySketch::Touch(uint64_t hash) {
  if (hash > threshold_) return;
  const double weight = std::ldexp(1.0, 64) / (static_cast<double>(threshold_) + 1);
  weight_ += weight;
  const auto [at, is_new] = sample_->keys.try_emplace(hash, Sample::Key{now_, 0});
  Sample::Key& key = at->second;
  if (is_new) {
    sample_->hashes.push(hash);
  } else {
    const uint64_t between = sample_->last.size() - sample_->last.order_of_key(key.last) - 1;
    const auto distance = static_cast<uint64_t>(static_cast<double>(between) * weight);
    reuse_[BucketOf(distance)] += weight;
    if (exact()) ++exact_reuse_[distance];
    sample_->last.erase(key.last);
  }
  key.last = now_++;
  ++key.count;
  sample_->last.insert(key.last);
  if (sample_->keys.size() > kMostKeys) Forget();
}

// Lowers the threshold so that the key with the greatest hash leaves the sample.
void KeySketch::Forget() {
  const uint64_t greatest = sample_->hashes.top();
  sample_->hashes.pop();
  const auto key = sample_->keys.find(greatest);
  sample_->last.erase(key->second.last);
  sample_->keys.erase(key);
  threshold_ = greatest - 1;
}

double KeySketch::keys() const {
  return static_cast<double>(sample_->keys.size()) * std::ldexp(1.0, 64) /
         (static_cast<double>(threshold_) + 1);
}

double KeySketch::first_accesses() const {
  double reused = 0;
  for (const double weight : reuse_) reused += weight;
  return weight_ - reused;
}

double KeySketch::HitShare(double keys) const {
  if (keys < 1 || weight_ == 0) return 0;
  double hits = 0;
  if (exact()) {
    constexpr double kRounding = 1e-6;  // a share of the keys may fall short of a whole number
    const auto end =
        static_cast<size_t>(std::min(keys + kRounding, static_cast<double>(kMostKeys)));
    for (size_t i = 0; i < end; ++i) hits += static_cast<double>(exact_reuse_[i]);
    return hits / weight_;
  }
  const size_t end = BucketOf(static_cast<uint64_t>(keys));
  for (size_t i = 0; i < end; ++i) hits += reuse_[i];
  // The distances of the last bucket are taken as spread evenly over it, up to the number of keys,
  // which no distance exceeds.
  const double first = FirstOf(end);
  const double behind = std::min(FirstOf(end + 1), std::max(this->keys(), first + 1));
  hits += reuse_[end] * std::min(1.0, (keys - first) / (behind - first));
  return hits / weight_;
}

double KeySketch::PopularShare(double share) const {
  std::vector<uint64_t> counts;
  double all = 0, popular = 0;
  for (const auto& [hash, key] : sample_->keys) {
    counts.push_back(key.count);
    all += static_cast<double>(key.count);
  }
  const auto n = static_cast<size_t>(std::ceil(share * static_cast<double>(counts.size())));
  std::nth_element(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(n), counts.end(),
                   std::greater<>());
  for (size_t i = 0; i < n; ++i) popular += static_cast<double>(counts[i]);
  return all == 0 ? 0 : popular / all;
}

}  // namespace testbed
