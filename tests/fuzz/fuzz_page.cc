#include <algorithm>
#include <cstring>
#include <vector>

#include "engines/btree/page/node.h"
#include "engines/btree/page/page.h"
#include "engines/btree/page/page_codec.h"
#include "tests/fuzz/fuzz_target.h"

namespace testbed::btree {
namespace {

constexpr uint32_t kPageSize = 4096;

// Reads a page of any bytes as a reader without a latch does.
uint64_t ReadAnything(const Node& node, std::string_view key) {
  uint64_t sum = node.count() + node.LowFence().size() + node.HighFence().size();
  bool found;
  const auto add = [&sum](std::string_view bytes) {
    for (const char c : bytes) sum += static_cast<uint8_t>(c);
  };
  add(node.LowFence());
  add(node.HighFence());
  if (node.leaf()) {
    const uint32_t at = node.LowerBoundInside(key, &found);
    if (found) add(node.Value(at).bytes);
    sum += node.CoversAt(key, at, found);
    node.PrefetchRow(key);
  } else {
    sum += node.Child(node.ChildIndex(key)) + node.Child(node.ChildIndexBelow(key));
  }
  Node::PrefetchSearch(reinterpret_cast<const char*>(node.header()), kPageSize);
  return sum;
}

void UseLeaf(Node* node, FuzzInput* input) {
  std::vector<std::string> keys;
  for (uint32_t i = 0; i < node->count(); ++i) keys.push_back(node->Key(i));
  Require(std::is_sorted(keys.begin(), keys.end()), "keys out of order");
  for (uint32_t i = 0; i < keys.size(); ++i) {
    bool found;
    Require(node->LowerBound(keys[i], &found) == i && found, "a key is not found");
  }
  for (int step = 0; step < 20 && !input->empty(); ++step) {
    const std::string key =
        std::string(node->LowFence()) + std::string(input->Bytes(input->Below(12)));
    bool found;
    const uint32_t at = node->LowerBound(key, &found);
    // The tree never passes such keys to a node.
    if (key.size() > MaxKeySize(kPageSize)) continue;
    if (!node->unbounded() && key >= node->HighFence()) continue;
    const std::string value(input->Below(300), 'v');
    const size_t before = node->count();
    if (found && input->Below(2) == 0) {
      node->Remove(at);
      Require(node->count() == before - 1, "remove");
    } else if (found ? node->UpdateLeaf(at, {value, false})
                     : node->InsertLeaf(at, key, {value, false})) {
      Require(node->LowerBound(key, &found) == at && found && node->Value(at).bytes == value,
              "insert");
    }
    const std::string fault = node->Validate();
    Require(fault.empty(), "a change left an ill-formed node: " + fault);
  }
  Require(node->UsedBytes() <= node->Capacity(), "used more than there is");
}

// Decompresses the input as a page whose checksum is right, but whose contents may be anything.
// Also compresses the input as a page, and decompresses it again.
void UseCodec(std::string_view bytes) {
  constexpr uint32_t kSize = 2 * kPageSize;
  alignas(64) static char page[kSize], copy[kSize];
  std::memset(page, 0, kSize);
  std::memcpy(page, bytes.data(), std::min<size_t>(bytes.size(), kSize));
  Header(page)->type = PageType::kCompressed;
  StampPage(page, kSize);
  Require(StoredBytes(page, kSize) <= kSize, "a page of more than a page");
  (void)ExpandPage(page, kSize);
  for (const PageCodec codec : {PageCodec::kLz4, PageCodec::kZstd}) {
    std::memset(page, 0, kSize);
    std::memcpy(page, bytes.data(), std::min<size_t>(bytes.size(), kSize));
    Header(page)->type = PageType::kLeaf;
    std::memcpy(copy, page, kSize);
    if (CompressPage(codec, page, kSize) == kSize) continue;
    Require(ExpandPage(page, kSize), "a page does not expand");
    Require(std::memcmp(page + 8, copy + 8, kSize - 8) == 0, "a page expands to another");
  }
}

}  // namespace

// Takes the input for a page of the data file. A node that passes Validate must support all
// operations of nodes, and reads of any page must stay inside it.
TESTBED_FUZZ_TARGET(page) {
  UseCodec(bytes);
  FuzzInput input(bytes);
  const std::string key(input.Bytes(input.Below(32)));
  alignas(64) static char page[kPageSize];
  std::memset(page, 0, kPageSize);
  const std::string_view rest = input.Bytes(kPageSize);
  std::memcpy(page, rest.data(), rest.size());
  Node node(page, kPageSize);
  // The sum has no meaning. It is used so that the compiler keeps the reads.
  if (ReadAnything(node, key) == UINT64_MAX) std::fputs("", stderr);
  StampPage(page, kPageSize);
  (void)InspectPage(page, kPageSize, Header(page)->id);
  if (!node.Validate().empty()) return;
  if (node.leaf()) {
    FuzzInput steps(bytes);
    UseLeaf(&node, &steps);
  }
}

}  // namespace testbed::btree
