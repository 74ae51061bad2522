// What the pages of a tree are filled with. The walk over the pages is check.h's; this counts what
// it finds, and reads a tree's upper levels once more for a drawing of its shape.
//
//   TreeStats stats = NewTreeStats("default");
//   CountNode(node, page_size, &stats);             // each node once
//   CountOverflow(ref, page_size, &stats);          // each long value once
//   stats.parts                                     // every byte of these pages, by its use
//
// Nodes must be sound (Node::FindFault).
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

// The upper levels of the tree below `root`, of each page the first children and the last one.
TreePage ReadShape(PageReader* reader, uint32_t page_size, PageId root,
                   const InspectOptions& options);

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_INSPECT_TREE_STATS_H_
