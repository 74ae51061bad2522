// One requester of LinkBench: prepares operations and performs them on the tables.
//
// Isolation. An operation that writes reads first what it writes: a link's visibility decides
// whether its count changes. Engines do not protect such reads from each other, as the row locks of
// LinkBench's SQL do; so the operations that write links of one id1 and type, and those that write
// one node, take turns by RowLocks, held around the transaction, the commit included. Waiting for
// one is part of the operation's latency, as it is there.
#ifndef TESTBED_WORKLOADS_LINKBENCH_CLIENT_H_
#define TESTBED_WORKLOADS_LINKBENCH_CLIENT_H_

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "workloads/linkbench/access.h"
#include "workloads/linkbench/history.h"
#include "workloads/linkbench/schema.h"

namespace testbed::linkbench {

// Locks by hash: rows that share one only wait for each other.
class RowLocks {
 public:
  std::mutex& Of(uint64_t id, uint64_t type) {
    return stripes_[Mix64(id ^ Mix64(type)) % kStripes].mutex;
  }

 private:
  static constexpr size_t kStripes = 4096;
  struct alignas(64) Stripe {
    std::mutex mutex;
  };
  std::array<Stripe, kStripes> stripes_;
};

// What operations found.
struct Found {
  uint64_t getnode_missing = 0, updatenode_missing = 0, deletenode_missing = 0;
  uint64_t addlink_existing = 0;    // became an update
  uint64_t updatelink_missing = 0;  // became an insert
  uint64_t deletelink_missing = 0, deletelink_hidden = 0;
  uint64_t countlink_missing = 0;
  uint64_t getlink_ids = 0, getlink_found = 0;
  uint64_t getlink_missing_when_none_found = 0;  // LinkBench's own count of misses
  uint64_t lists_empty = 0, list_links = 0;
  uint64_t history_lists = 0, history_links = 0;
  void Add(const Found& other);
  nlohmann::json ToJson() const;
};

// What the requesters share.
struct RunState {
  RunState(const Settings& settings, const WorkloadOptions& options)
      : access(settings, options), content(settings) {}
  const Access access;
  const Content content;
  Tables tables{};
  uint64_t phase = 0;      // how many phases the database had seen before this one
  uint64_t first_new = 0;  // id of the first node that this phase adds
  double history_share = 0.003;
  uint64_t seed = 0;
  RowLocks locks;
  std::mutex mutex;
  Found found;  // of the requesters that have ended
};

class RunClient : public Client {
 public:
  RunClient(RunState* state, Session& session, int thread, int threads);
  ~RunClient() override;
  size_t Generate(size_t max) override;
  size_t OpOf(size_t i) const override { return steps_[i].op; }
  void Execute(size_t i) override;
  bool Verify(size_t i) override;

 private:
  static constexpr size_t kBatch = 32;
  struct Step {
    Op op;
    bool history = false;
    bool answered = false;
    LinkId id{};  // of node operations id1 is the node
    uint64_t time = 0;
    size_t at = 0;                     // of its keys and values in arena_
    size_t keys = 0;                   // of a multiget
    size_t data = 0;                   // bytes
    uint64_t rows = 0, last_time = 0;  // what a list returned
  };

  void Prepare(Step* step);
  void PrepareNode(Step* step);
  void PrepareLinkWrite(Step* step);
  void PrepareMultiget(Step* step);
  void PrepareList(Step* step);
  void NoteLists();
  char* Room(size_t bytes);

  void WriteLink(const Step& step);
  void DeleteLink(const Step& step);
  void UpdateNode(const Step& step);
  void DeleteNode(const Step& step);
  void GetLinks(const Step& step);
  void GetLinkList(Step* step);
  // Finds the row as value_, and uses it as clients do.
  bool Get(TableId table, std::string_view key);
  void Put(TableId table, std::string_view key, std::string_view value);
  bool VerifyList(const Step& step) const;

  // Where the parts of a prepared link write lie.
  std::string_view LinkKeyOf(const Step& s) const { return {arena_.data() + s.at, kLinkKeySize}; }
  std::string_view IndexKeyOf(const Step& s) const { return {LinkKeyOf(s).end(), kIndexKeySize}; }
  std::string_view CountKeyOf(const Step& s) const { return {IndexKeyOf(s).end(), kCountKeySize}; }
  std::string_view LinkValueOf(const Step& s) const {
    return {CountKeyOf(s).end(), kLinkHead + s.data};
  }
  std::string_view IndexValueOf(const Step& s) const {
    return {LinkValueOf(s).end(), kIndexHead + s.data};
  }
  std::string_view NodeKeyOf(const Step& s) const { return {arena_.data() + s.at, kNodeKeySize}; }
  std::string_view NodeValueOf(const Step& s) const {
    return {NodeKeyOf(s).end(), kNodeHead + s.data};
  }

  RunState& state_;
  const Tables& tables_;
  Session& session_;
  const uint64_t thread_, threads_;
  Chooser chooser_;
  ListHistory history_;
  uint64_t operations_ = 0, nodes_added_ = 0;
  size_t prepared_ = 0;
  std::array<Step, kBatch> steps_;
  std::vector<char> arena_;
  std::vector<uint64_t> ids_;
  std::unique_ptr<Cursor> cursor_;
  Found found_;

  // Of the last operation, for Verify.
  bool hit_ = false, ordered_ = true;
  std::string_view value_;
  char row_key_[kIndexKeySize];
  char row_value_[kIndexHead + kMaxLinkData];
  size_t row_size_ = 0;
};

}  // namespace testbed::linkbench

#endif  // TESTBED_WORKLOADS_LINKBENCH_CLIENT_H_
