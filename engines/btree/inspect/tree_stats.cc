#include "engines/btree/inspect/tree_stats.h"

#include <algorithm>
#include <utility>

#include "device/file/file.h"

namespace testbed::btree {
namespace {

// These are the uses of a tree's bytes, as indexes of TreeStats::parts.
enum Part : size_t { kKeys, kValues, kSlots, kHeaders, kFree, kInner, kLong, kLongRest, kParts };

TreePage ReadPage(PageReader* reader, uint32_t page_size, PageId id, uint32_t levels,
                  const InspectOptions& options) {
  TreePage drawn;
  drawn.page = id;
  AlignedBuffer page(page_size);
  const PageState state = reader->Read(id, page.data(), &drawn.fault);
  const Node node(page.data(), page_size);
  if (state != PageState::kValid) {
    drawn.fault = state == PageState::kBlank ? "never written" : "not whole";
  } else {
    drawn.fault = node.Validate();
  }
  if (!drawn.fault.empty()) return drawn;
  drawn.level = node.header()->level;
  drawn.entries = node.count();
  drawn.fill = static_cast<double>(node.UsedBytes()) / static_cast<double>(node.Capacity());
  drawn.low = KeyText(node.LowFence());
  drawn.high = node.unbounded() ? "" : KeyText(node.HighFence());
  if (node.leaf() || levels <= 1) return drawn;
  const uint32_t most = std::max<uint32_t>(options.shape_children, 2);
  if (node.count() > most) drawn.hidden = node.count() - most;
  for (uint32_t i = 0; i < node.count(); ++i) {
    if (drawn.hidden > 0 && i + 1 >= most && i + 1 < node.count()) continue;
    drawn.children.push_back(ReadPage(reader, page_size, node.Child(i), levels - 1, options));
  }
  return drawn;
}

}  // namespace

TreeStats NewTreeStats(const std::string& table) {
  TreeStats stats;
  stats.table = table;
  stats.parts.resize(kParts);
  stats.parts[kKeys].first = "keys";
  stats.parts[kValues].first = "values";
  stats.parts[kSlots].first = "slots";
  stats.parts[kHeaders].first = "headers and fences";
  stats.parts[kFree].first = "free in leaves";
  stats.parts[kInner].first = "inner pages";
  stats.parts[kLong].first = "long values";
  stats.parts[kLongRest].first = "rest of overflow pages";
  return stats;
}

void CountNode(const Node& node, uint32_t page_size, TreeStats* stats) {
  const size_t level = node.header()->level;
  if (stats->levels.size() <= level) stats->levels.resize(level + 1);
  LevelStats& counts = stats->levels[level];
  ++counts.pages;
  counts.bytes += page_size;
  counts.entries += node.count();
  counts.used_bytes += node.UsedBytes();
  counts.capacity_bytes += node.Capacity();
  ++counts.fill[std::min<size_t>(counts.fill.size() - 1,
                                 node.UsedBytes() * counts.fill.size() / node.Capacity())];
  NamedBytes& parts = stats->parts;
  if (!node.leaf()) {
    parts[kInner].second += page_size;
    return;
  }
  uint64_t keys = 0, values = 0, slots = 0;
  for (uint32_t i = 0; i < node.count(); ++i) {
    const LeafValue value = node.Value(i);
    const size_t suffix = node.Suffix(i).size();
    keys += suffix;
    slots += Node::kSlotSize + sizeof(uint16_t);  // the slot and the value's length
    (value.overflow ? slots : values) += value.bytes.size();
    stats->key_bytes += node.Prefix().size() + suffix;
    if (!value.overflow) stats->value_bytes += value.bytes.size();
  }
  stats->rows += node.count();
  const uint64_t headers = sizeof(NodeHeader) + node.LowFence().size() + node.HighFence().size();
  parts[kKeys].second += keys;
  parts[kValues].second += values;
  parts[kSlots].second += slots;
  parts[kHeaders].second += headers;
  parts[kFree].second += page_size - keys - values - slots - headers;
}

void CountOverflow(const OverflowRef& ref, uint32_t page_size, TreeStats* stats) {
  ++stats->overflow_values;
  stats->overflow_pages += ref.pages;
  stats->value_bytes += ref.size;
  stats->parts[kLong].second += ref.size;
  stats->parts[kLongRest].second += static_cast<uint64_t>(ref.pages) * page_size - ref.size;
}

TreePage ReadShape(PageReader* reader, uint32_t page_size, PageId root,
                   const InspectOptions& options) {
  return ReadPage(reader, page_size, root, options.shape_levels, options);
}

}  // namespace testbed::btree
