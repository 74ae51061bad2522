// The models of mixgraph, which choose the key, the operation, the size of a value, the length of a
// scan, and the rate. They are the models that Meta fitted to its traces, drawn as db_bench's
// mixgraph draws them.
//
//   const KeyModel keys(options, rows);
//   const uint64_t row = keys.Key(word);   // word: uniform in [0, rows)
//
// Sources: Cao, Dong, Vemuri, Du, "Characterizing, modeling, and benchmarking RocksDB key-value
// workloads at Facebook", FAST 2020, sections 5 to 7; tools/db_bench_tool.cc of RocksDB 9, which
// has the corrections of its pull request 6794: a mode of uniform keys of its own, the power law
// inverted as (u / a)^(1 / b), offsets in a key range that are never negative. One more correction
// is made here: a key is never negative without key ranges either. In db_bench half of those keys
// are, and name no row.
//
// All but SineTimes is immutable and thread-safe.
#ifndef TESTBED_WORKLOADS_MIXGRAPH_MODELS_H_
#define TESTBED_WORKLOADS_MIXGRAPH_MODELS_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace testbed::mixgraph {

// The parameters, by the names of db_bench's flags, with its defaults.
struct Options {
  double get_ratio = 1, put_ratio = 0, seek_ratio = 0;
  uint64_t max_scan_len = 10000, max_value_size = 1024;
  // Hotness of a key range: f(x) = a exp(b x) + c exp(d x); all 0: there are no ranges.
  double keyrange_a = 0, keyrange_b = 0, keyrange_c = 0, keyrange_d = 0;
  uint64_t keyrange_num = 1;
  double key_a = 0, key_b = 0;  // share of the accesses to the x hottest keys: f(x) = a x^b
  // Generalized Pareto distributions of the bytes of a value and the rows of a scan.
  double value_theta = 0, value_k = 0.2615, value_sigma = 25.45;
  double iter_theta = 0, iter_k = 2.517, iter_sigma = 14.236;
  // The rate: f(t) = a sin(b t + c) + d operations per second of all clients, t in seconds.
  bool sine = false;
  double sine_a = 1, sine_b = 1, sine_c = 0, sine_d = 1, sine_noise = 0;
  uint64_t sine_interval_ms = 10000;
  bool independent = false;  // operation, size and length do not follow from the key

  // Reads --workload-option. Throws Error (kUsage) for refused values.
  static Options From(const std::map<std::string, std::string>& extra);
  // Returns the names and meanings of the options.
  static std::vector<std::pair<std::string, std::string>> Names();
};

// Returns the first number of a generator mt19937_64 with this seed, by which db_bench scatters the
// hot keys, without the 155 words of its state that this number does not depend on.
uint64_t FirstOfMersenneTwister(uint64_t seed);

// Return the inverse of a distribution at u, 0 <= u < 1, as a whole number: of the power law, (u /
// a)^(1 / b), and of the generalized Pareto distribution, for which u is the probability above the
// number. A number beyond 63 bits becomes INT64_MAX.
int64_t InversePower(double u, double a, double b);
int64_t InversePareto(double u, double theta, double k, double sigma);

class KeyModel {
 public:
  enum class Kind : uint8_t { kUniform, kPower, kRangesUniform, kRangesPower };
  KeyModel(const Options& options, uint64_t rows);
  Kind kind() const { return kind_; }
  const char* name() const;
  // Returns the row of a uniform word in [0, rows).
  uint64_t Key(uint64_t word) const;

  // A range of the key space. `begin` is the sum of the accesses of all ranges before it,
  // `accesses` are its own.
  struct Range {
    uint64_t begin = 0, accesses = 0;
  };
  const std::vector<Range>& ranges() const { return ranges_; }

 private:
  void MakeRanges(const Options& options);
  uint64_t OffsetInRange(uint64_t word) const;

  const uint64_t rows_;
  const double a_, b_;
  Kind kind_ = Kind::kUniform;
  std::vector<Range> ranges_;
  uint64_t rows_of_range_ = 0, all_accesses_ = 0;
};

// Maps a word to an operation, by db_bench's table of about 1000 places.
class QueryModel {
 public:
  enum Query : uint8_t { kGet, kPut, kSeek, kQueries };
  explicit QueryModel(const Options& options);
  Query Of(uint64_t word) const;
  double share(Query query) const { return shares_[query]; }  // by the options

 private:
  std::array<uint64_t, kQueries> ends_{};
  std::array<double, kQueries> shares_{};
};

// Return the bytes of a value, 10 at least, and the rows of a scan for a uniform u in [0, 1).
uint64_t ValueBytes(const Options& options, double u);
uint64_t ScanRows(const Options& options, double u);

// The intended starts of one client's operations under the sine: the n-th operation of all clients
// starts when the integral of the rate reaches n, and the clients take them in turns. `options`
// must outlive it. Not thread-safe.
class SineTimes {
 public:
  SineTimes(const Options& options, int thread, int threads, uint64_t seed);
  // Returns the next start, in nanoseconds since the phase began.
  uint64_t Next();
  // Passes over the next `n` starts.
  void Skip(uint64_t n);
  // Returns the rate of all clients in the n-th interval.
  double Rate(uint64_t interval) const;

 private:
  double After(double at, double n) const;

  const Options& options_;
  const double threads_;
  const uint64_t seed_;
  const double interval_ns_;
  double next_ns_;
};

}  // namespace testbed::mixgraph

#endif  // TESTBED_WORKLOADS_MIXGRAPH_MODELS_H_
