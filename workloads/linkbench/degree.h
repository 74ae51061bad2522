// How many links each node of LinkBench has.
//
// LinkBench takes the number of links of a node from the node's rank: rank r of n has the (1 - r/n)
// quantile of a distribution measured on Facebook's graph, and an invertible shuffle spreads the
// ranks over the ids. Its files of 23616 (2017) and 19951 (2011) points are not shipped here:
// DegreeCurve is a model of them, a piecewise power law through the quantiles that are published
// or derived of them, with a few knots fitted to the published mean and to the numbers of links
// that LinkBench has loaded (linkbench_degree.cc). The tests say how near it comes.
//
//   LinkDegrees degrees({.nodes = 1000000});
//   for (uint32_t t = 0; t < 2; ++t) links += degrees.Links(id, t);   // id in [0, nodes)
//
// The scale rule. The hottest node's share depends on its rank alone, so in LinkBench it has
// 4181357 links however few nodes there are: at 1000 nodes nearly all links are its. With `capped`
// no node has more links than there are nodes, which keeps small databases in shape; without, the
// totals are LinkBench's. Immutable; thread-safe.
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
    double links;  // ... than this; between two knots both follow a power law
  };
  explicit DegreeCurve(std::span<const Knot> knots) : knots_(knots) {}
  static const DegreeCurve& Of2017();
  static const DegreeCurve& Of2011();

  // The (1 - tail) quantile.
  uint64_t Links(double tail) const;
  uint64_t Max() const { return static_cast<uint64_t>(knots_.back().links); }
  double Mean() const;
  // Share of nodes that have at most so many links.
  double ShareUpTo(uint64_t links) const;

 private:
  double Curve(double tail) const;
  std::span<const Knot> knots_;  // by falling tail
};

struct DegreeOptions {
  uint64_t nodes = 1;
  uint32_t types = 2;
  bool is_2017 = true;
  bool capped = true;
  // 2011 only: what is left when the links are shared out among the types is counted as the total
  // less one type's share, so that a node with 2 links and more gets one or more too many.
  bool leftover_bug = true;
  auto operator<=>(const DegreeOptions&) const = default;
};

class LinkDegrees {
 public:
  explicit LinkDegrees(const DegreeOptions& options);
  // Links of one type, 0 .. types-1, that are loaded for node `id`, 0 .. nodes-1.
  uint64_t Links(uint64_t id, uint32_t type) const;
  // What the distribution says for the node of this rank, all types together.
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
