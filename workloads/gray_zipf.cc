#include "workloads/gray_zipf.h"

#include <algorithm>
#include <cmath>

namespace testbed {

double GeneralisedHarmonic(uint64_t n, double shape) {
  constexpr uint64_t kDirect = 1000;
  double sum = 0;
  const uint64_t direct = std::min(n, kDirect);
  for (uint64_t i = 1; i <= direct; ++i) sum += std::pow(static_cast<double>(i), -shape);
  if (n <= direct) return sum;
  const auto a = static_cast<double>(direct), b = static_cast<double>(n);
  const double integral = shape == 1
                              ? std::log(b / a)
                              : (std::pow(b, 1 - shape) - std::pow(a, 1 - shape)) / (1 - shape);
  const double ends = (std::pow(b, -shape) - std::pow(a, -shape)) / 2;
  const double slopes = -shape * (std::pow(b, -shape - 1) - std::pow(a, -shape - 1)) / 12;
  return sum + integral + ends + slopes;
}

GrayZipf::GrayZipf(uint64_t n, double shape)
    : ranks_(n),
      shape_(shape),
      zeta_n_(GeneralisedHarmonic(n, shape)),
      second_(1 + std::pow(0.5, shape)),
      alpha_(1 / (1 - shape)) {
  Fit();
}

void GrayZipf::Fit() {
  n_ = static_cast<double>(ranks_);
  eta_ = (1 - std::pow(2 / n_, 1 - shape_)) / (1 - second_ / zeta_n_);
}

void GrayZipf::Resize(uint64_t n) {
  constexpr uint64_t kFew = 64;
  if (n == ranks_) return;
  if (std::max(n, ranks_) - std::min(n, ranks_) > kFew) {
    zeta_n_ = GeneralisedHarmonic(n, shape_);
    ranks_ = n;
  }
  while (ranks_ < n) zeta_n_ += std::pow(static_cast<double>(++ranks_), -shape_);
  while (ranks_ > n) zeta_n_ -= std::pow(static_cast<double>(ranks_--), -shape_);
  Fit();
}

uint64_t GrayZipf::operator()(double p) const {
  const double at = p * zeta_n_;
  if (at < 1 || n_ < 2) return 0;
  if (at < second_ || n_ < 3) return 1;
  const double rank = n_ * std::pow(eta_ * p - eta_ + 1, alpha_);
  return static_cast<uint64_t>(std::clamp(rank, 0.0, n_ - 1));
}

}  // namespace testbed
