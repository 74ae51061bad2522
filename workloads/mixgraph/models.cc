#include "workloads/mixgraph/models.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "device/error.h"
#include "engines/extra_options.h"
#include "workloads/measure/arrivals/rate_curve.h"
#include "workloads/random.h"

namespace testbed::mixgraph {
namespace {

// A parameter that is a number: its name, its place, the values it accepts and its meaning.
struct Parameter {
  const char* name;
  double Options::*place;
  double least, most;
  const char* meaning;
};

constexpr Parameter kParameters[] = {
    {"mix_get_ratio", &Options::get_ratio, 0, 1e9, "share of point reads (1)"},
    {"mix_put_ratio", &Options::put_ratio, 0, 1e9, "share of updates (0)"},
    {"mix_seek_ratio", &Options::seek_ratio, 0, 1e9, "share of scans (0)"},
    {"keyrange_dist_a", &Options::keyrange_a, -1e9, 1e9,
     "hotness of key ranges: a exp(b x) + c exp(d x); all 0: no key ranges (0)"},
    {"keyrange_dist_b", &Options::keyrange_b, -1e3, 1e3, "b of keyrange_dist_a (0)"},
    {"keyrange_dist_c", &Options::keyrange_c, -1e9, 1e9, "c of keyrange_dist_a (0)"},
    {"keyrange_dist_d", &Options::keyrange_d, -1e3, 1e3, "d of keyrange_dist_a (0)"},
    {"key_dist_a", &Options::key_a, 0, 1e9,
     "hotness of keys: the x hottest have the share a x^b of the accesses; 0: all are alike (0)"},
    {"key_dist_b", &Options::key_b, 0, 1e3, "b of key_dist_a (0)"},
    {"value_theta", &Options::value_theta, -1e9, 1e9,
     "bytes of a value: theta of a generalized Pareto distribution (0)"},
    {"value_k", &Options::value_k, -1e3, 1e3, "k of value_theta's distribution (0.2615)"},
    {"value_sigma", &Options::value_sigma, 0, 1e9, "sigma of value_theta's distribution (25.45)"},
    {"iter_theta", &Options::iter_theta, -1e9, 1e9,
     "rows of a scan: theta of a generalized Pareto distribution (0)"},
    {"iter_k", &Options::iter_k, -1e3, 1e3, "k of iter_theta's distribution (2.517)"},
    {"iter_sigma", &Options::iter_sigma, 0, 1e9, "sigma of iter_theta's distribution (14.236)"},
    {"sine_a", &Options::sine_a, 0, 1e9,
     "with sine_mix_rate: a sin(b t + c) + d operations a second after t seconds (1)"},
    {"sine_b", &Options::sine_b, 0, 1e6, "b of sine_a (1)"},
    {"sine_c", &Options::sine_c, -1e6, 1e6, "c of sine_a (0)"},
    {"sine_d", &Options::sine_d, 0, 1e9, "d of sine_a (1)"},
    {"sine_mix_rate_noise", &Options::sine_noise, 0, 1,
     "share of sine_a by which the rate of an interval varies at random (0)"},
};

// Sets the parameters with which the authors of the paper describe ZippyDB to db_bench.
void UseZippyDb(Options* o) {
  o->get_ratio = 0.83;
  o->put_ratio = 0.14;
  o->seek_ratio = 0.03;
  o->keyrange_a = 14.18;
  o->keyrange_b = -2.917;
  o->keyrange_c = 0.0164;
  o->keyrange_d = -0.08082;
  o->keyrange_num = 30;
  o->key_a = 0.002312;
  o->key_b = 0.3467;
  o->sine_a = 1000;
  o->sine_b = 0.000073;
  o->sine_d = 4500;
  o->sine_interval_ms = 5000;
}

// Returns an upper bound of the rate of the sine.
double HighestRate(const Options& o) {
  const double wave = o.sine_b == 0 ? std::sin(o.sine_c) : 1;
  return o.sine_d + o.sine_a * (wave + o.sine_noise / 2);
}

int64_t Whole(double x) {
  x = std::ceil(x);
  if (!(x < 0x1p63)) return INT64_MAX;
  return x < -0x1p63 ? INT64_MIN : static_cast<int64_t>(x);
}

}  // namespace

Options Options::From(const std::map<std::string, std::string>& extra) {
  const ExtraOptions given("mixgraph", extra, "--workload-option");
  Options o;
  if (given.Choice("model", "db_bench", {"db_bench", "zippydb"}) == "zippydb") UseZippyDb(&o);
  for (const Parameter& p : kParameters) {
    o.*p.place = given.Number(p.name, o.*p.place, p.least, p.most);
  }
  o.max_scan_len = given.Integer("mix_max_scan_len", o.max_scan_len, 1, 1000000000);
  o.max_value_size = given.Integer("mix_max_value_size", o.max_value_size, 10, 1 << 20);
  o.keyrange_num = given.Integer("keyrange_num", o.keyrange_num, 1, 1000000);
  o.sine = given.Flag("sine_mix_rate", o.sine);
  o.sine_interval_ms =
      given.Integer("sine_mix_rate_interval_milliseconds", o.sine_interval_ms, 1, 86400000);
  o.independent = given.Choice("draws", "db_bench", {"db_bench", "independent"}) == "independent";
  if (!(o.get_ratio + o.put_ratio + o.seek_ratio > 0)) {
    throw Error(Error::kUsage,
                "--workload-option mix_get_ratio, mix_put_ratio and mix_seek_ratio are all 0; give "
                "one of them a share above 0");
  }
  if (o.sine && !(HighestRate(o) > 0)) {
    throw Error(Error::kUsage,
                "--workload-option sine_a to sine_d give a rate that is never above 0; give a "
                "larger sine_d");
  }
  return o;
}

std::vector<std::pair<std::string, std::string>> Options::Names() {
  std::vector<std::pair<std::string, std::string>> names = {
      {"model",
       "defaults of the other options: db_bench, as that program has them, or zippydb, as the "
       "paper's authors give them for ZippyDB (db_bench)"}};
  for (const Parameter& p : kParameters) names.emplace_back(p.name, p.meaning);
  names.insert(
      names.end(),
      {{"keyrange_num", "key ranges (1)"},
       {"mix_max_scan_len",
        "a scan has fewer rows than this; a longer one gets the remainder (10000)"},
       {"mix_max_value_size", "most bytes of a value; a longer one gets the remainder (1024)"},
       {"sine_mix_rate", "on: the workload is an open loop at the rate of the sine (off)"},
       {"sine_mix_rate_interval_milliseconds",
        "milliseconds between two changes of the rate (10000)"},
       {"draws",
        "db_bench: one number decides the key, the operation and its size; independent: each has a "
        "number of its own (db_bench)"}});
  return names;
}

uint64_t FirstOfMersenneTwister(uint64_t seed) {
  constexpr uint64_t kInit = 6364136223846793005ull, kUpper = 0xffffffff80000000ull;
  constexpr uint64_t kTwist = 0xb5026f5aa96619e9ull;
  constexpr int kMiddle = 156;
  const uint64_t first = seed;
  uint64_t word = seed, second = 0;
  for (int i = 1; i <= kMiddle; ++i) {
    word = kInit * (word ^ (word >> 62)) + static_cast<uint64_t>(i);
    if (i == 1) second = word;
  }
  const uint64_t mixed = (first & kUpper) | (second & ~kUpper);
  uint64_t x = word ^ (mixed >> 1) ^ ((mixed & 1) != 0 ? kTwist : 0);
  x ^= (x >> 29) & 0x5555555555555555ull;
  x ^= (x << 17) & 0x71d67fffeda60000ull;
  x ^= (x << 37) & 0xfff7eee000000000ull;
  return x ^ (x >> 43);
}

int64_t InversePower(double u, double a, double b) { return Whole(std::pow(u / a, 1 / b)); }

int64_t InversePareto(double u, double theta, double k, double sigma) {
  if (k == 0) return Whole(theta - sigma * std::log(u));
  return Whole(theta + sigma * (std::pow(u, -k) - 1) / k);
}

KeyModel::KeyModel(const Options& o, uint64_t rows) : rows_(rows), a_(o.key_a), b_(o.key_b) {
  const bool power = a_ != 0 && b_ != 0;
  const bool ranges =
      o.keyrange_a != 0 || o.keyrange_b != 0 || o.keyrange_c != 0 || o.keyrange_d != 0;
  kind_ = ranges ? (power ? Kind::kRangesPower : Kind::kRangesUniform)
                 : (power ? Kind::kPower : Kind::kUniform);
  if (ranges) MakeRanges(o);
}

// Gives each range a number of accesses in proportion to its hotness, scaled so that the coldest
// range that gets accesses gets at least 1. Then it shuffles the ranges, so that the hot ones are
// not neighbours. Their order depends only on the sum of the accesses.
void KeyModel::MakeRanges(const Options& o) {
  constexpr double kNone = 1e-16;
  if (o.keyrange_num > rows_) {
    throw Error(Error::kUsage, "--workload-option keyrange_num " + std::to_string(o.keyrange_num) +
                                   " is more than the rows of the database, " +
                                   std::to_string(rows_) + "; give fewer ranges");
  }
  rows_of_range_ = rows_ / o.keyrange_num;
  double scale = 0;
  for (uint64_t x = o.keyrange_num; x >= 1; --x) {
    const double at = static_cast<double>(x);
    const double hot =
        o.keyrange_a * std::exp(o.keyrange_b * at) + o.keyrange_c * std::exp(o.keyrange_d * at);
    if (scale == 0 && hot >= kNone) scale = std::floor(1 / hot) + 1;
    const double accesses = hot >= kNone ? std::floor(scale * hot) : 0;
    ranges_.push_back({0, static_cast<uint64_t>(std::min(accesses, 0x1p62))});
    all_accesses_ += ranges_.back().accesses;
  }
  if (all_accesses_ == 0 || all_accesses_ >= 1ull << 62) {
    throw Error(
        Error::kUsage,
        "--workload-option keyrange_dist_a to keyrange_dist_d make no key range hotter than "
        "another by a number that can be counted; try model=zippydb for an example");
  }
  std::mt19937_64 random(all_accesses_);
  for (Range& range : ranges_) std::swap(range, ranges_[random() % ranges_.size()]);
  uint64_t begin = 0;
  for (Range& range : ranges_) {
    range.begin = begin;
    begin += range.accesses;
  }
}

uint64_t KeyModel::OffsetInRange(uint64_t word) const {
  const uint64_t at = word % rows_of_range_;
  if (kind_ == Kind::kRangesUniform) return at;
  const double u = static_cast<double>(at) / static_cast<double>(rows_of_range_);
  return FirstOfMersenneTwister(static_cast<uint64_t>(InversePower(u, a_, b_))) % rows_of_range_;
}

uint64_t KeyModel::Key(uint64_t word) const {
  if (kind_ == Kind::kUniform) return word;
  if (kind_ == Kind::kPower) {
    const double u = static_cast<double>(word) / static_cast<double>(rows_);
    return FirstOfMersenneTwister(static_cast<uint64_t>(InversePower(u, a_, b_))) % rows_;
  }
  const auto behind =
      std::upper_bound(ranges_.begin(), ranges_.end(), word % all_accesses_,
                       [](uint64_t n, const Range& range) { return n < range.begin; });
  const auto range = static_cast<uint64_t>(behind - ranges_.begin()) - 1;
  return rows_of_range_ * range + OffsetInRange(word);
}

const char* KeyModel::name() const {
  static constexpr const char* kNames[] = {"all_random", "all_dist", "prefix_random",
                                           "prefix_dist"};
  return kNames[static_cast<size_t>(kind_)];
}

QueryModel::QueryModel(const Options& o) : shares_{o.get_ratio, o.put_ratio, o.seek_ratio} {
  constexpr double kPlaces = 1000;
  const double sum = o.get_ratio + o.put_ratio + o.seek_ratio;
  uint64_t end = 0;
  for (size_t i = 0; i < kQueries; ++i) {
    shares_[i] /= sum;
    ends_[i] = end += static_cast<uint64_t>(std::ceil(kPlaces * shares_[i]));
  }
}

QueryModel::Query QueryModel::Of(uint64_t word) const {
  const uint64_t at = word % ends_.back();
  return static_cast<Query>(std::upper_bound(ends_.begin(), ends_.end(), at) - ends_.begin());
}

uint64_t ValueBytes(const Options& o, double u) {
  constexpr int64_t kLeast = 10;
  int64_t bytes = u > 0 ? InversePareto(u, o.value_theta, o.value_k, o.value_sigma) : 0;
  const auto most = static_cast<int64_t>(o.max_value_size);
  if (bytes > most) bytes %= most;
  return static_cast<uint64_t>(std::max(bytes, kLeast));
}

uint64_t ScanRows(const Options& o, double u) {
  const int64_t rows = u > 0 ? InversePareto(u, o.iter_theta, o.iter_k, o.iter_sigma) : 0;
  if (rows <= 0 || rows == INT64_MAX) return 0;
  return static_cast<uint64_t>(rows) % o.max_scan_len;
}

SineTimes::SineTimes(const Options& options, int thread, int threads, uint64_t seed)
    : options_(options),
      threads_(threads),
      seed_(seed),
      interval_ns_(static_cast<double>(options.sine_interval_ms) * 1e6),
      next_ns_(After(0, thread)) {}

double SineTimes::Rate(uint64_t interval) const {
  const Options& o = options_;
  const double t = static_cast<double>(interval) * static_cast<double>(o.sine_interval_ms) / 1000;
  const double rate = o.sine_a * std::sin(o.sine_b * t + o.sine_c) + o.sine_d;
  if (o.sine_noise == 0) return rate;
  Random random(seed_ ^ Mix64(interval));
  const double with = rate + (random.Unit() - 0.5) * o.sine_a * o.sine_noise;
  return with < 0 ? rate : with;
}

// Returns the time, at or after `at`, at which `n` more operations have become due: at which the
// integral of the rate has grown by n. With n = 0 it is the first time at which the rate is above
// 0. When a million intervals are not enough, returns RateCurve::kNeverNs.
double SineTimes::After(double at, double n) const {
  constexpr int kMostIntervals = 1000000;
  auto interval = static_cast<uint64_t>(at / interval_ns_);
  for (int i = 0; i < kMostIntervals && at < RateCurve::kNeverNs; ++i, ++interval) {
    const double end = static_cast<double>(interval + 1) * interval_ns_;
    const double rate = Rate(interval), here = rate * (end - at) / 1e9;
    if (rate > 0 && here >= n) return std::min(at + n * 1e9 / rate, RateCurve::kNeverNs);
    if (rate > 0) n -= here;
    at = end;
  }
  return RateCurve::kNeverNs;
}

uint64_t SineTimes::Next() {
  const double at = next_ns_;
  next_ns_ = After(at, threads_);
  return static_cast<uint64_t>(at);
}

void SineTimes::Skip(uint64_t n) {
  if (n > 0) next_ns_ = After(next_ns_, threads_ * static_cast<double>(n));
}

}  // namespace testbed::mixgraph
