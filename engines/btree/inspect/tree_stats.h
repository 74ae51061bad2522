// These functions count what the pages of a tree are filled with. Walk (walk.h) calls them for the
// pages that it visits. ReadShape reads a tree's upper levels once more, for a drawing of its
// shape.
//
//   TreeStats stats = NewTreeStats("default");
//   CountNode(node, page_size, &stats);             // once for each node
//   CountOverflow(ref, page_size, &stats);          // once for each value in overflow pages
//   Print(stats.parts);                             // every byte of these pages, by its use
//
// The nodes must be without faults (Node::FindFault).
#ifndef TESTBED_ENGINES_BTREE_INSPECT_TREE_STATS_H_
#define TESTBED_ENGINES_BTREE_INSPECT_TREE_STATS_H_

#include <cstdint>
#include <string>

#include "engines/btree/page/node.h"
#include "engines/btree/page/page_reader.h"
#include "engines/inspect.h"

namespace testbed::btree {

TreeStats NewTreeStats(const std::string& table);
void CountNode(const Node& node, uint32_t page_size, TreeStats* stats);
void CountOverflow(const OverflowRef& ref, uint32_t page_size, TreeStats* stats);

// Returns the upper options.shape_levels levels of the tree of `root`. Of the children of each page
// it has the first ones and the last one, options.shape_children at most. A page that cannot be
// read has its `fault` set.
TreePage ReadShape(PageReader* reader, uint32_t page_size, PageId root,
                   const InspectOptions& options);

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_INSPECT_TREE_STATS_H_
