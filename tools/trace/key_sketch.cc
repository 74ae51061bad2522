#include "tools/trace/key_sketch.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <ext/pb_ds/assoc_container.hpp>
#include <ext/pb_ds/tree_policy.hpp>
#include <functional>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "tools/trace/heavy_keys.h"

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

double KeySketch::Weight() const {
  return std::ldexp(1.0, 64) / (static_cast<double>(threshold_) + 1);
}

void KeySketch::Touch(uint64_t hash) {
  ++accesses_;
  if (heavy_ != nullptr) heavy_->Add(hash, 1);
  if (hash > threshold_) return;
  const double weight = Weight();
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
  if (sample_->keys.size() <= kMostKeys) return;
  if (heavy_ == nullptr) CountHeavy();
  Forget();
}

// Begins to count the popular keys apart from the sample, which has all keys until now.
void KeySketch::CountHeavy() {
  heavy_ = std::make_unique<HeavyKeys>();
  for (const auto& [hash, key] : sample_->keys) heavy_->Add(hash, key.count);
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

double KeySketch::keys() const { return static_cast<double>(sample_->keys.size()) * Weight(); }

double KeySketch::first_accesses() const {
  double reused = 0;
  for (const double weight : reuse_) reused += weight;
  return weight_ - reused;
}

double KeySketch::HitShare(double keys) const {
  if (keys < 1 || accesses_ == 0) return 0;
  const auto accesses = static_cast<double>(accesses_);
  double hits = 0;
  if (exact()) {
    constexpr double kRounding = 1e-6;  // a share of the keys may fall short of a whole number
    const auto end =
        static_cast<size_t>(std::min(keys + kRounding, static_cast<double>(kMostKeys)));
    for (size_t i = 0; i < end; ++i) hits += static_cast<double>(exact_reuse_[i]);
    return hits / accesses;
  }
  const size_t end = BucketOf(static_cast<uint64_t>(keys));
  for (size_t i = 0; i < end; ++i) hits += reuse_[i];
  // The distances of the last bucket are taken as spread evenly over it, up to the number of keys,
  // which no distance exceeds.
  const double first = FirstOf(end);
  const double behind = std::min(FirstOf(end + 1), std::max(this->keys(), first + 1));
  hits += reuse_[end] * std::min(1.0, (keys - first) / (behind - first));
  // The accesses that the sample lacks, or has too many, are those to its most popular keys, whose
  // distances are small.
  hits += accesses - weight_;
  return std::clamp(hits / accesses, 0.0, 1.0);
}

double KeySketch::PopularShare(double share) const {
  if (accesses_ == 0) return 0;
  struct Keys {
    double accesses;  // to each
    double number;
  };
  std::vector<Keys> groups;
  std::unordered_set<uint64_t> heavy;
  double left = static_cast<double>(accesses_);  // accesses to keys that are not counted one by one
  if (heavy_ != nullptr) {
    for (const HeavyKeys::Counter& key : heavy_->Counted()) {
      const double accesses = static_cast<double>(key.count) + static_cast<double>(key.before) / 2;
      groups.push_back({accesses, 1});
      heavy.insert(key.hash);
      left -= accesses;
    }
  }
  // The other keys are as unevenly accessed as those of the sample.
  const size_t counted = groups.size();
  double sampled = 0;
  for (const auto& [hash, key] : sample_->keys) {
    if (heavy.contains(hash)) continue;
    groups.push_back({static_cast<double>(key.count), Weight()});
    sampled += groups.back().accesses * groups.back().number;
  }
  const double factor = sampled == 0 ? 0 : std::max(0.0, left) / sampled;
  for (size_t i = counted; i < groups.size(); ++i) groups[i].accesses *= factor;
  std::sort(groups.begin(), groups.end(),
            [](const Keys& a, const Keys& b) { return a.accesses > b.accesses; });
  double all = 0, popular = 0;
  for (const Keys& group : groups) all += group.number;
  double number = std::ceil(share * all);
  for (const Keys& group : groups) {
    const double taken = std::min(number, group.number);
    popular += taken * group.accesses;
    number -= taken;
  }
  return std::min(1.0, popular / static_cast<double>(accesses_));
}

}  // namespace testbed
