// The number of links of each LinkBench node.
//
// LinkBench derives a node's number of links from the node's rank: rank r of n has the (1 - r/n)
// quantile of a distribution measured on Facebook's graph, and an invertible shuffle spreads the
// ranks over the ids. LinkBench's files of 23616 (2017) and 19951 (2011) points are not shipped
// here. DegreeCurve models them by a piecewise power law through the quantiles that are published
// or can be derived, with a few knots fitted to the published mean and to the numbers of links that
// LinkBench has loaded (degree.cc). The tests state how close the model comes.
//
//   LinkDegrees degrees({.nodes = 1000000});
//   for (uint32_t t = 0; t < 2; ++t) links += degrees.Links(id, t);   // id in [0, nodes)
//
// The scale rule. The hottest node's number of links depends on its rank alone, so LinkBench gives
// it 4181357 links however few nodes the database has: with 1000 nodes it has nearly all the links.
// With `capped` no node has more links than the database has nodes, which keeps small databases in
// proportion; without it the totals are LinkBench's. Immutable and thread-safe.
#ifndef TESTBED_WORKLOADS_LINKBENCH_DEGREE_H_
#define TESTBED_WORKLOADS_LINKBENCH_DEGREE_H_

#include <cstdint>
#include <span>

#include "workloads/linkbench/random.h"

namespace testbed::linkbench {

// A distribution of links per node.
class DegreeCurve {
 public:
  // A point of the curve. Between two knots the curve is a power law.
  struct Knot {
    double tail;   // share of the nodes that have more links ...
    double links;  // ... than this
  };
  explicit DegreeCurve(std::span<const Knot> knots) : knots_(knots) {}
  // Return the model of that year's distribution.
  static const DegreeCurve& Of2017();
  static const DegreeCurve& Of2011();

  // Returns the (1 - tail) quantile.
  uint64_t Links(double tail) const;
  uint64_t Max() const { return static_cast<uint64_t>(knots_.back().links); }
  double Mean() const;
  // Returns the share of nodes that have at most `links` links.
  double ShareUpTo(uint64_t links) const;

 private:
  double Curve(double tail) const;
  std::span<const Knot> knots_;  // in order of falling tail
};

struct DegreeOptions {
  uint64_t nodes = 1;
  uint32_t types = 2;
  bool is_2017 = true;
  bool capped = true;
  // 2011 only. Keeps LinkBench's bug: when a node's links are distributed among the types, the
  // remainder is computed as the total less one type's share, so a node with 2 or more links gets
  // too many.
  bool leftover_bug = true;
  auto operator<=>(const DegreeOptions&) const = default;
};

// The degrees of the nodes of one database.
class LinkDegrees {
 public:
  explicit LinkDegrees(const DegreeOptions& options);
  // Returns how many links of one type, 0 .. types-1, are loaded for node `id`, 0 .. nodes-1.
  uint64_t Links(uint64_t id, uint32_t type) const {
    return LinksOfType(LinksOfRank(Rank(id)), type);
  }
  // Returns how many of the `total` links of a node, which LinksOfRank returns, are of the type.
  uint64_t LinksOfType(uint64_t total, uint32_t type) const;
  // Returns the number of links, of all types together, of the node of this rank.
  uint64_t LinksOfRank(uint64_t rank) const;
  uint64_t Rank(uint64_t id) const { return shuffler_.Invert(id); }
  const DegreeOptions& options() const { return options_; }
  const InvertibleShuffler& shuffler() const { return shuffler_; }

 private:
  const DegreeOptions options_;
  const DegreeCurve& curve_;
  const InvertibleShuffler shuffler_;
};

}  // namespace testbed::linkbench

#endif  // TESTBED_WORKLOADS_LINKBENCH_DEGREE_H_
