// The tables of LinkBench as ordered key spaces, the settings that a database and its runs share,
// and the contents of its rows.
//
//   table        key                                        value
//   node         id                                         type, version, time, data
//   link         link type, id1, id2 (or id1, type, id2)    visibility, time, version, data
//   link_index   id1, link type, visibility, ~time, id2     version, data
//   count        id, link type                              count, time, version
//   linkbench    a name                                     a number, or a flag
//
// The index covers: a list of links is read from the index alone, newest first. All numbers are
// big-endian and as wide as the SQL types of the original, so keys sort by number.
//
// Row data is generated as in LinkBench: its size is log-normal, and it consists of chunks of up to
// 128 bytes, which are copied from a motif or, with probability `uniqueness`, random. The data is
// derived from the row's key and time, and from the version of a node, so every row that is read
// can be checked.
#ifndef TESTBED_WORKLOADS_LINKBENCH_SCHEMA_H_
#define TESTBED_WORKLOADS_LINKBENCH_SCHEMA_H_

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engines/engine.h"
#include "workloads/linkbench/degree.h"
#include "workloads/linkbench/random.h"
#include "workloads/workload.h"

namespace testbed::linkbench {

inline constexpr uint64_t kFirstId = 1;  // startid1
inline constexpr uint64_t kFirstLinkType = 123456789;
inline constexpr uint32_t kNodeType = 2048;
inline constexpr uint8_t kHidden = 0, kVisible = 1;  // visibility
inline constexpr size_t kMaxLinkData = 254, kMaxNodeData = (1u << 20) - 1;
inline constexpr uint64_t kRangeLimit = 10000;  // maximum number of links in one list
// Times of links and counts are in milliseconds. Loaded links have times from the 2^32 ms (50 days)
// before this moment. Each phase of a run has its own 2^32 ms after it, with a different time for
// each operation. So the same operations write the same rows, whenever they run. The time of a node
// has 32 bits: the seconds of kLoadTime when it was loaded, else the low bits of the operation's
// time.
inline constexpr uint64_t kLoadTime = 1436227200000;

struct Tables {
  TableId node, link, index, count, state;
};
// Opens the tables, creating those that are missing.
Tables OpenTables(Engine& engine);

// Returns whether the covering index must still be built; linkbench-load can leave it out.
bool IndexIsMissing(Session& session, const Tables& tables);
// Records in the database whether the index is missing.
void SetIndexMissing(Session& session, const Tables& tables, bool missing);
// Throws Error (kUsage), which names `workload`, when the covering index is missing.
void NeedIndex(Session& session, const Tables& tables, const std::string& workload);

// The settings on which the loader and the workload must agree.
struct Settings {
  // Throws Error (kUsage) for an option out of range and for too many nodes.
  Settings(const Dataset& dataset, const WorkloadOptions& options);

  uint64_t nodes;                                       // ids are kFirstId .. nodes
  uint64_t max_id() const { return kFirstId + nodes; }  // maxid1; exclusive
  bool is_2017, capped, bugs_kept, id1_first;
  uint32_t link_types;
  uint64_t link_data_size, node_data_size;  // medians, in bytes
  uint64_t seed;
  DegreeOptions Degrees() const { return {nodes, link_types, is_2017, capped, bugs_kept}; }
};
// Returns the names and meanings of the options that Settings reads, for WorkloadInfo.
std::vector<std::pair<std::string, std::string>> SettingsOptions();

// Writes the low `bytes` bytes of n to `to`, big-endian, and returns the end.
inline char* PutNumber(char* to, uint64_t n, int bytes) {
  n = std::endian::native == std::endian::little ? __builtin_bswap64(n) : n;
  std::memcpy(to, reinterpret_cast<const char*>(&n) + (8 - bytes), static_cast<size_t>(bytes));
  return to + bytes;
}
// Reads a big-endian number of `bytes` bytes at offset `at`.
inline uint64_t GetNumber(std::string_view from, size_t at, int bytes) {
  uint64_t n = 0;
  std::memcpy(reinterpret_cast<char*>(&n) + (8 - bytes), from.data() + at,
              static_cast<size_t>(bytes));
  return std::endian::native == std::endian::little ? __builtin_bswap64(n) : n;
}

struct LinkId {
  uint64_t id1, type, id2;
  friend bool operator==(const LinkId&, const LinkId&) = default;
};

// Sizes in bytes. A head is the part of a value that precedes the data.
inline constexpr size_t kNodeKeySize = 8, kNodeHead = 16;
inline constexpr size_t kLinkKeySize = 24, kLinkHead = 13;
inline constexpr size_t kIndexKeySize = 33, kIndexPrefixSize = 17, kIndexHead = 4;
inline constexpr size_t kCountKeySize = 16, kCountSize = 20;

// Decoded values; `data` points into the encoded value.
struct NodeRow {
  uint64_t version;
  uint32_t type, time;
  std::string_view data;
};
struct LinkRow {
  uint8_t visibility;
  uint64_t time;
  uint32_t version;
  std::string_view data;
};
struct CountRow {
  uint32_t count = 0;
  uint64_t time = 0, version = 0;
};

// Each function encodes to `to`, which the caller makes large enough, and returns the encoded
// bytes.
std::string_view NodeKey(uint64_t id, char* to);
std::string_view CountKey(uint64_t id, uint64_t type, char* to);
std::string_view LinkKey(const LinkId& id, bool id1_first, char* to);
std::string_view IndexKey(const LinkId& id, uint8_t visibility, uint64_t time, char* to);
std::string_view CountValue(const CountRow& row, char* to);
std::string_view IndexValue(uint32_t version, std::string_view data, char* to);
// NodeValue and LinkValue write only the head of a value. Its data must already be in its place (at
// to + kNodeHead or to + kLinkHead).
std::string_view NodeValue(uint32_t type, uint64_t version, uint32_t time, size_t data, char* to);
std::string_view LinkValue(uint8_t visibility, uint64_t time, uint32_t version, size_t data,
                           char* to);

// Each function decodes *row and returns true, or returns false when `value` is too short or
// malformed.
bool ReadNode(std::string_view value, NodeRow* row);
bool ReadLink(std::string_view value, LinkRow* row);
bool ReadCount(std::string_view value, CountRow* row);
// Returns the link of a key of table link.
LinkId ReadLinkKey(std::string_view key, bool id1_first);
// Returns the link of an index entry's key, and sets *visibility and *time to those of the key.
LinkId ReadIndexKey(std::string_view key, uint8_t* visibility, uint64_t* time);

// Generates and checks the data of rows. Immutable and thread-safe.
class Content {
 public:
  explicit Content(const Settings& settings);
  // Write the row's data to `to`, at most kMaxLinkData or kMaxNodeData bytes, and return its size.
  size_t LinkData(const LinkId& id, uint64_t time, char* to) const;
  size_t NodeData(uint64_t id, uint64_t version, uint32_t time, char* to) const;
  // Returns the size that NodeData returns, and writes nothing.
  size_t NodeDataSize(uint64_t id, uint64_t version, uint32_t time) const;
  // Return whether the data is that of the row.
  bool CheckLink(const LinkId& id, uint64_t time, std::string_view data) const;
  bool CheckNode(uint64_t id, const NodeRow& row) const;
  // Returns the time with which a link is loaded.
  uint64_t LoadTime(const LinkId& id) const;

 private:
  struct Kind {
    double uniqueness;
    uint8_t first, last;  // smallest and largest byte
    LogNormalSize size;
    std::string motif;
  };
  static void Fill(const Kind& kind, Random& random, size_t size, char* to);
  uint64_t LinkSeed(const LinkId& id, uint64_t time) const;
  uint64_t NodeSeed(uint64_t id, uint64_t version, uint32_t time) const;
  const uint64_t seed_;
  Kind link_, node_;
};

}  // namespace testbed::linkbench

#endif  // TESTBED_WORKLOADS_LINKBENCH_SCHEMA_H_
