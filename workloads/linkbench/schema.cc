#include "workloads/linkbench/schema.h"

#include <algorithm>

#include "device/error.h"
#include "engines/extra_options.h"

namespace testbed::linkbench {
namespace {

constexpr size_t kMotif = 512;  // bytes; LinkBench ignores its option motif_length
constexpr size_t kFillBytes = 128;
constexpr size_t kLongNode = 64 << 10;

// Fills `to` with uniform bytes from first to last, both included.
void FillUniform(Random& random, uint8_t first, uint8_t last, size_t size, char* to) {
  const uint64_t range = static_cast<uint64_t>(last) - first + 1;
  for (size_t i = 0; i < size;) {
    uint64_t bits = random.Next();
    for (int k = 0; k < 4 && i < size; ++k, bits >>= 16) {
      to[i++] = static_cast<char>(first + (((bits & 0xffff) * range) >> 16));
    }
  }
}

std::string MakeMotif(uint64_t seed, uint8_t first, uint8_t last) {
  std::string motif(kMotif, '\0');
  Random random(seed);
  FillUniform(random, first, last, kMotif, motif.data());
  return motif;
}

}  // namespace

Tables OpenTables(Engine& engine) {
  return {engine.OpenTable("node"), engine.OpenTable("link"), engine.OpenTable("link_index"),
          engine.OpenTable("count"), engine.OpenTable("linkbench")};
}

constexpr char kIndexMissing[] = "index missing";

bool IndexIsMissing(Session& session, const Tables& tables) {
  std::string_view value;
  return session.Get(tables.state, kIndexMissing, &value);
}

void SetIndexMissing(Session& session, const Tables& tables, bool missing) {
  missing ? session.Put(tables.state, kIndexMissing, "1")
          : session.Erase(tables.state, kIndexMissing);
}

void NeedIndex(Session& session, const Tables& tables, const std::string& workload) {
  if (!IndexIsMissing(session, tables)) return;
  throw Error(Error::kUsage, workload +
                                 " needs the covering index, which this database was loaded "
                                 "without; run --workload linkbench-index first");
}

Settings::Settings(const Dataset& dataset, const WorkloadOptions& options)
    : nodes(dataset.rows()), seed(dataset.options().seed) {
  ExtraOptions extra("linkbench", options.extra, "--workload-option");
  is_2017 = extra.Choice("distribution", "2017", {"2017", "2011"}) == "2017";
  capped = extra.Choice("degree_cap", "nodes", {"nodes", "none"}) == "nodes";
  bugs_kept = extra.Choice("bugs", "kept", {"kept", "mended"}) == "kept";
  id1_first = extra.Choice("link_key", "type-first", {"type-first", "id1-first"}) == "id1-first";
  link_types = static_cast<uint32_t>(extra.Integer("link_type_count", 2, 1, 1000));
  link_data_size = extra.Integer("link_datasize", is_2017 ? 23 : 8, 1, kMaxLinkData);
  node_data_size = extra.Integer("node_datasize", is_2017 ? 168 : 128, 1, kLongNode);
  if (nodes > INT32_MAX) {
    throw Error(Error::kUsage,
                "--rows of linkbench, the number of its nodes, is at most 2147483647");
  }
}

std::vector<std::pair<std::string, std::string>> SettingsOptions() {
  return {
      {"distribution", "links of a node and sizes of data as measured in 2017 or 2011 [2017]"},
      {"degree_cap",
       "nodes: no node has more links than there are nodes; none: as LinkBench, where "
       "the hottest has 4 million however small the database [nodes]"},
      {"bugs", "kept, mended: whether the workload repeats LinkBench's mistakes [kept]"},
      {"link_key", "order of the link table's key: type-first or id1-first [type-first]"},
      {"link_type_count", "types of links [2]"},
      {"link_datasize", "median bytes of a link's data [23; 8 with distribution 2011]"},
      {"node_datasize", "median bytes of a node's data [168; 128 with distribution 2011]"},
  };
}

std::string_view NodeKey(uint64_t id, char* to) {
  PutNumber(to, id, 8);
  return {to, kNodeKeySize};
}

std::string_view CountKey(uint64_t id, uint64_t type, char* to) {
  PutNumber(PutNumber(to, id, 8), type, 8);
  return {to, kCountKeySize};
}

std::string_view LinkKey(const LinkId& id, bool id1_first, char* to) {
  char* at = PutNumber(to, id1_first ? id.id1 : id.type, 8);
  at = PutNumber(at, id1_first ? id.type : id.id1, 8);
  PutNumber(at, id.id2, 8);
  return {to, kLinkKeySize};
}

std::string_view IndexKey(const LinkId& id, uint8_t visibility, uint64_t time, char* to) {
  char* at = PutNumber(PutNumber(to, id.id1, 8), id.type, 8);
  at = PutNumber(at, visibility, 1);
  PutNumber(PutNumber(at, ~time, 8), id.id2, 8);
  return {to, kIndexKeySize};
}

std::string_view CountValue(const CountRow& row, char* to) {
  PutNumber(PutNumber(PutNumber(to, row.count, 4), row.time, 8), row.version, 8);
  return {to, kCountSize};
}

std::string_view IndexValue(uint32_t version, std::string_view data, char* to) {
  std::memcpy(PutNumber(to, version, 4), data.data(), data.size());
  return {to, kIndexHead + data.size()};
}

std::string_view NodeValue(uint32_t type, uint64_t version, uint32_t time, size_t data, char* to) {
  PutNumber(PutNumber(PutNumber(to, type, 4), version, 8), time, 4);
  return {to, kNodeHead + data};
}

std::string_view LinkValue(uint8_t visibility, uint64_t time, uint32_t version, size_t data,
                           char* to) {
  PutNumber(PutNumber(PutNumber(to, visibility, 1), time, 8), version, 4);
  return {to, kLinkHead + data};
}

bool ReadNode(std::string_view value, NodeRow* row) {
  if (value.size() < kNodeHead) return false;
  row->type = static_cast<uint32_t>(GetNumber(value, 0, 4));
  row->version = GetNumber(value, 4, 8);
  row->time = static_cast<uint32_t>(GetNumber(value, 12, 4));
  row->data = value.substr(kNodeHead);
  return true;
}

bool ReadLink(std::string_view value, LinkRow* row) {
  if (value.size() < kLinkHead) return false;
  row->visibility = static_cast<uint8_t>(GetNumber(value, 0, 1));
  row->time = GetNumber(value, 1, 8);
  row->version = static_cast<uint32_t>(GetNumber(value, 9, 4));
  row->data = value.substr(kLinkHead);
  return true;
}

bool ReadCount(std::string_view value, CountRow* row) {
  if (value.size() != kCountSize) return false;
  row->count = static_cast<uint32_t>(GetNumber(value, 0, 4));
  row->time = GetNumber(value, 4, 8);
  row->version = GetNumber(value, 12, 8);
  return true;
}

LinkId ReadLinkKey(std::string_view key, bool id1_first) {
  const uint64_t first = GetNumber(key, 0, 8), second = GetNumber(key, 8, 8);
  return {id1_first ? first : second, id1_first ? second : first, GetNumber(key, 16, 8)};
}

LinkId ReadIndexKey(std::string_view key, uint8_t* visibility, uint64_t* time) {
  *visibility = static_cast<uint8_t>(GetNumber(key, 16, 1));
  *time = ~GetNumber(key, 17, 8);
  return {GetNumber(key, 0, 8), GetNumber(key, 8, 8), GetNumber(key, 25, 8)};
}

Content::Content(const Settings& settings)
    : seed_(settings.seed),
      link_{.225, 32, 100, LogNormalSize(settings.link_data_size, kMaxLinkData),
            MakeMotif(Mix64(settings.seed + 1), 32, 100)},
      node_{.63, 50, 220, LogNormalSize(settings.node_data_size, kMaxNodeData),
            MakeMotif(Mix64(settings.seed + 2), 50, 220)} {}

uint64_t Content::LinkSeed(const LinkId& id, uint64_t time) const {
  return Mix64(id.id1 ^ Mix64(id.id2 ^ Mix64(id.type ^ Mix64(time ^ seed_))));
}

uint64_t Content::NodeSeed(uint64_t id, uint64_t version, uint32_t time) const {
  return Mix64(id ^ Mix64(version ^ Mix64(time ^ ~seed_)));
}

uint64_t Content::LoadTime(const LinkId& id) const {
  return kLoadTime - 1 - (LinkSeed(id, 0) >> 32);
}

void Content::Fill(const Kind& kind, Random& random, size_t size, char* to) {
  for (size_t done = 0; done < size; done += kFillBytes) {
    const size_t n = std::min(kFillBytes, size - done);
    if (random.Unit() < kind.uniqueness) {
      FillUniform(random, kind.first, kind.last, n, to + done);
      continue;
    }
    const size_t from = random.Below(kMotif), until_end = std::min(n, kMotif - from);
    std::memcpy(to + done, kind.motif.data() + from, until_end);
    std::memcpy(to + done + until_end, kind.motif.data(), n - until_end);
  }
}

size_t Content::LinkData(const LinkId& id, uint64_t time, char* to) const {
  Random random(LinkSeed(id, time));
  const size_t size = link_.size(random);
  Fill(link_, random, size, to);
  return size;
}

size_t Content::NodeDataSize(uint64_t id, uint64_t version, uint32_t time) const {
  Random random(NodeSeed(id, version, time));
  return node_.size(random);
}

size_t Content::NodeData(uint64_t id, uint64_t version, uint32_t time, char* to) const {
  Random random(NodeSeed(id, version, time));
  const size_t size = node_.size(random);
  Fill(node_, random, size, to);
  return size;
}

bool Content::CheckLink(const LinkId& id, uint64_t time, std::string_view data) const {
  char expected[kMaxLinkData];
  return std::string_view(expected, LinkData(id, time, expected)) == data;
}

bool Content::CheckNode(uint64_t id, const NodeRow& row) const {
  if (row.type != kNodeType || NodeDataSize(id, row.version, row.time) != row.data.size()) {
    return false;
  }
  std::string expected(row.data.size(), '\0');
  NodeData(id, row.version, row.time, expected.data());
  return expected == row.data;
}

}  // namespace testbed::linkbench
