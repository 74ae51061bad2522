// Computes how many links each node of LinkBench has.
//
// LinkBench takes the number of links of a node from the node's rank: rank r of n has the (1 - r/n)
// quantile of a distribution that was measured on Facebook's graph, and an invertible shuffle
// spreads the ranks over the ids. LinkBench's files of 23616 (2017) and 19951 (2011) points are not
// shipped here. DegreeCurve is a model of them: a piecewise power law through the quantiles that
// are published or derived from the files, with a few knots fitted to the published mean and to the
// numbers of links that LinkBench loads (degree.cc). The tests say how near the model comes.
//
//   LinkDegrees degrees({.nodes = 1000000});
//   for (uint32_t t = 0; t < 2; ++t) links += degrees.Links(id, t);   // id in [0, nodes)
//
// The scale rule. The number of links of the hottest node depends on its rank alone. So in
// LinkBench it has 4181357 links however few nodes there are: of 1000 nodes it has nearly all
// links. With `capped` no node has more links than there are nodes, which keeps small databases in
// shape. Without `capped` the totals are LinkBench's.
//
// Immutable, and so thread-safe.
#ifndef TESTBED_WORKLOADS_LINKBENCH_DEGREE_H_
#define TESTBED_WORKLOADS_LINKBENCH_DEGREE_H_

#include <cstdint>
#include <span>

#include "workloads/linkbench/random.h"

namespace testbed::linkbench {

class DegreeCurve {
 public:
  struct Knot {
    double tail;   // share of the nodes that have more links ...
    double links;  // ... than this; between two knots the curve is a power law
  };
  explicit DegreeCurve(std::span<const Knot> knots) : knots_(knots) {}
  static const DegreeCurve& Of2017();
  static const DegreeCurve& Of2011();

  // Returns the (1 - tail) quantile of the number of links.
  uint64_t Links(double tail) const;
  uint64_t Max() const { return static_cast<uint64_t>(knots_.back().links); }
  double Mean() const;
  // Returns the share of nodes that have at most `links` links.
  double ShareUpTo(uint64_t links) const;

 private:
  double Curve(double tail) const;
  std::span<const Knot> knots_;  // in descending order of tails; not owned
};

struct DegreeOptions {
  uint64_t nodes = 1;
  uint32_t types = 2;
  bool is_2017 = true;
  bool capped = true;
  // Keeps LinkBench's bug of 2011: the remainder after the links are shared out among the types is
  // taken as the total less one type's share, so a node with 2 or more links gets too many.
  bool leftover_bug = true;
  auto operator<=>(const DegreeOptions&) const = default;
};

class LinkDegrees {
 public:
  explicit LinkDegrees(const DegreeOptions& options);
  // Returns the number of links of type 0 .. types-1 that are loaded for node `id`, 0 .. nodes-1.
  uint64_t Links(uint64_t id, uint32_t type) const;
  // Returns the number of links, of all types, that the distribution gives the node of this rank.
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
