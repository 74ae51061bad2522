#include "workloads/row_chooser.h"

#include <algorithm>
#include <cmath>

#include "device/error.h"
#include "workloads/population.h"

namespace testbed {

namespace {

// The number of ranks from which YCSB draws, whatever the number of rows. A rank is hashed onto the
// rows.
constexpr uint64_t kScrambledRanks = 10'000'000'000;

constexpr uint64_t kOfPopularRows = 0x68657431;  // makes a seed that nothing else has

uint64_t Ranks(const Dataset& dataset, Distribution distribution) {
  return distribution == Distribution::kScrambled ? kScrambledRanks : dataset.rows();
}

// Returns whether ranks are drawn with the errors of YCSB's generator, which knows no theta of 1 or
// more.
bool AsYcsb(const WorkloadOptions& options) {
  return (options.distribution == Distribution::kScrambled ||
          options.distribution == Distribution::kLatest) &&
         options.zipf_theta < 1;
}

// Returns the mean of the exponential distribution by which YCSB draws how many rows are newer than
// the chosen one, before the ages beyond all rows are left out: 95 % are below 0.857 of the rows
// that were loaded (exponential.percentile and exponential.frac).
double MeanAge(uint64_t rows) {
  constexpr double kShareBeyond = 0.05, kOfRows = 0.8571428571;
  return kOfRows * static_cast<double>(rows) / -std::log(kShareBeyond);
}

// Returns the seed that says which rows are popular.
uint64_t PopularSeed(const Dataset& dataset, uint32_t popular_rows) {
  const uint64_t seed = dataset.options().seed;
  return popular_rows == 1 ? seed : Mix64(seed ^ Mix64(popular_rows));
}

}  // namespace

RowChooser::RowChooser(const Dataset& dataset, const WorkloadOptions& options, uint64_t seed)
    : dataset_(dataset),
      population_(options.population.get()),
      distribution_(options.distribution),
      zipf_theta_(options.zipf_theta),
      hot_probability_(options.hot_probability),
      hit_ratio_(options.hit_ratio),
      hot_rows_(std::max<uint64_t>(
          1, static_cast<uint64_t>(options.hot_fraction * static_cast<double>(dataset.rows())))),
      first_hot_((options.popular_rows - 1) * hot_rows_ % dataset.rows()),
      popular_seed_(PopularSeed(dataset, options.popular_rows)),
      random_(seed),
      mean_age_(MeanAge(dataset.rows())),
      ranks_(Ranks(dataset, distribution_)),
      position_(Reduce(Mix64(seed), dataset.rows())),
      as_ycsb_(AsYcsb(options)),
      zipfian_(Ranks(dataset, distribution_), zipf_theta_),
      ycsb_ranks_(Ranks(dataset, distribution_), as_ycsb_ ? zipf_theta_ : 0),
      // Permuted rows are inserted in the order of a permutation by the data set's seed, and places
      // in the population have another one. Popular rows must follow neither.
      scatter_(dataset.rows(), Mix64(popular_seed_ + kOfPopularRows)) {}

uint64_t RowChooser::DrawRank() {
  if (distribution_ == Distribution::kExponential) return DrawAge();
  return as_ycsb_ ? ycsb_ranks_(random_.Unit()) : zipfian_(random_);
}

// Draws an age below ranks_. YCSB draws again while the age is beyond all rows, which gives the
// same distribution.
uint64_t RowChooser::DrawAge() {
  const double below = -std::expm1(-static_cast<double>(ranks_) / mean_age_);
  const double age = -mean_age_ * std::log1p(-random_.Unit() * below);
  return std::min(static_cast<uint64_t>(age), ranks_ - 1);
}

// Changes the number of ranks that DrawRank draws from.
void RowChooser::SetRanks(uint64_t n) {
  ranks_ = n;
  if (distribution_ == Distribution::kExponential) return;
  if (as_ycsb_) {
    ycsb_ranks_.Resize(n);
  } else if (zipfian_.size() != n) {
    zipfian_ = Zipfian(n, zipf_theta_);
  }
}

void RowChooser::DrawPopular() {
  for (uint64_t& row : popular_) row = DrawRank();
  if (distribution_ == Distribution::kScrambled) {
    const uint64_t seed = Mix64(popular_seed_);
    for (uint64_t& row : popular_) row = Reduce(Mix64(row ^ seed), dataset_.rows());
  } else {
    for (uint64_t& row : popular_) row = scatter_(row);
  }
  used_ = 0;
}

// Draws a row of the data set, whether or not the row still exists.
uint64_t RowChooser::Draw() {
  switch (distribution_) {
    case Distribution::kUniform:
      return random_.Below(dataset_.rows());
    case Distribution::kZipfian:
    case Distribution::kScrambled:
      if (used_ == popular_.size()) DrawPopular();
      return popular_[used_++];
    case Distribution::kLatest:
    case Distribution::kExponential:
      return dataset_.RowAt(dataset_.rows() - 1 - DrawRank());
    case Distribution::kSequential:
      position_ = position_ + 1 == dataset_.rows() ? 0 : position_ + 1;
      return dataset_.RowAt(position_);
    case Distribution::kHot:
      break;
  }
  const bool hot = hot_probability_ >= 1 || random_.Unit() < hot_probability_;
  if (!hot) return random_.Below(dataset_.rows());
  const uint64_t row = first_hot_ + random_.Below(hot_rows_);
  return row < dataset_.rows() ? row : row - dataset_.rows();
}

bool RowChooser::empty() const { return population_ != nullptr && population_->there().empty(); }

uint64_t RowChooser::Next() {
  if (population_ == nullptr || population_->as_loaded()) return Draw();
  return population_->RowOf(NextPlace());
}

uint64_t RowChooser::NextPlace() {
  if (population_->as_loaded()) return population_->PlaceOf(Draw());
  // Some popular rows may be erased, so a draw may fail and is repeated. After kTries failures a
  // row is drawn uniformly.
  constexpr int kTries = 32;
  for (int i = 0; i < kTries; ++i) {
    if (const std::optional<uint64_t> place = DrawPlace()) return *place;
  }
  const RangeSet& there = population_->there();
  return there.At(random_.Below(there.count()));
}

// Draws a place. Returns nothing when its row no longer exists.
std::optional<uint64_t> RowChooser::DrawPlace() {
  const RangeSet& there = population_->there();
  const uint64_t rows = dataset_.rows();
  uint64_t place;
  if (distribution_ == Distribution::kUniform) {
    return there.At(random_.Below(there.count()));
  } else if (distribution_ == Distribution::kLatest ||
             distribution_ == Distribution::kExponential) {
    // The latest rows are the inserted ones, from the newest; loaded rows follow. While any of
    // these is left, each keeps its age, because the erased ones lie scattered among them.
    const uint64_t inserted = there.CountFrom(rows);
    SetRanks(inserted == there.count() ? inserted : inserted + rows);
    const uint64_t age = DrawRank();
    if (age < inserted) return there.At(there.count() - 1 - age);
    place = population_->PlaceOf(dataset_.RowAt(rows - 1 - (age - inserted)));
  } else if (distribution_ == Distribution::kSequential) {
    place = population_->PlaceOf(Draw());
  } else {
    // Draws a loaded row or one of its successors.
    const uint64_t first = there.first() / rows;
    const uint64_t last = there.last() / rows;
    place = population_->PlaceOf(Draw()) + (first + random_.Below(last - first + 1)) * rows;
  }
  if (!there.Contains(place)) return std::nullopt;
  return place;
}

bool HasPopularRows(const WorkloadOptions& options) {
  return options.distribution == Distribution::kZipfian ||
         options.distribution == Distribution::kScrambled ||
         options.distribution == Distribution::kHot;
}

void CheckHitRatio(const Dataset& dataset, const WorkloadOptions& options) {
  if (options.hit_ratio >= 1 || dataset.HasRoomBetweenKeys()) return;
  throw Error(Error::kUsage,
              "--hit-ratio below 1 asks for keys that do not exist, and keys of 8 bytes leave no "
              "room between those of the rows; give --key-size 9 or more, or --key-order random");
}

std::string WhyNothingToRead(const WorkloadOptions& options) {
  const bool none = options.population != nullptr && options.population->there().empty();
  return none ? "no row is left to read" : "";
}

}  // namespace testbed
