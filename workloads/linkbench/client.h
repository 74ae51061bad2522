// A RunClient is a requester of LinkBench: it prepares operations and performs them on the tables.
//
// Isolation. An operation that writes, other than addnode, first reads the rows that it writes: a
// link's visibility decides whether its count changes. The engines do not protect such reads from
// each other as the row locks of LinkBench's SQL do. So the operations that write links of one id1
// and type, and those that write one node, exclude each other by RowLocks, held around the
// transaction including its commit. As in LinkBench, waiting for a lock is part of the operation's
// latency.
#ifndef TESTBED_WORKLOADS_LINKBENCH_CLIENT_H_
#define TESTBED_WORKLOADS_LINKBENCH_CLIENT_H_

#include <array>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "device/os/mutex.h"
#include "workloads/linkbench/access.h"
#include "workloads/linkbench/history.h"
#include "workloads/linkbench/schema.h"
#include "workloads/rows/kept_rows.h"

namespace testbed::linkbench {

// Locks striped by hash. Rows that share a stripe merely wait for each other. Thread-safe.
class RowLocks {
 public:
  // Returns the lock of the row; `type` is a link type, or 0 for a node.
  Mutex& Of(uint64_t id, uint64_t type) {
    return stripes_[Mix64(id ^ Mix64(type)) % kStripes].mutex;
  }

 private:
  static constexpr size_t kStripes = 4096;
  struct alignas(64) Stripe {
    Mutex mutex;
  };
  std::array<Stripe, kStripes> stripes_;
};

// Counts of what the operations found, for the results.
struct Found {
  uint64_t getnode_missing = 0, updatenode_missing = 0, deletenode_missing = 0;
  uint64_t addlink_existing = 0;    // addlinks that became updates
  uint64_t updatelink_missing = 0;  // updatelinks that became inserts
  uint64_t deletelink_missing = 0, deletelink_hidden = 0;
  uint64_t countlink_missing = 0;
  uint64_t getlink_ids = 0, getlink_found = 0;
  uint64_t getlink_missing_when_none_found = 0;  // misses as LinkBench counts them
  uint64_t lists_empty = 0, list_links = 0;
  uint64_t history_lists = 0, history_links = 0;
  void Add(const Found& other);
  nlohmann::json ToJson() const;
};

// The state that the requesters share.
struct RunState {
  RunState(const Settings& settings, const WorkloadOptions& options)
      : access(settings, options), content(settings) {}
  const Access access;
  const Content content;
  Tables tables{};
  uint64_t phase = 0;      // number of phases that the database had seen before
  uint64_t first_new = 0;  // id of the first node that this phase adds
  double history_share = 0.003;
  uint64_t seed = 0;
  RowLocks locks;
  mutable Mutex mutex;
  Found found GUARDED_BY(mutex);  // sums of the requesters that have ended
};

// One requester. Not thread-safe.
class RunClient : public Client {
 public:
  RunClient(RunState* state, Session& session, int thread, int threads);
  ~RunClient() override;
  size_t Generate(size_t max) override;
  size_t OpOf(size_t i) const override { return steps_[i].op; }
  void Execute(size_t i) override;
  bool Verify(size_t i) override;
  bool Kept() const override { return kept_.kept(); }

 private:
  static constexpr size_t kBatch = 32;
  struct Step {
    Op op;
    bool history = false;
    bool answered = false;
    LinkId id{};  // for operations on a node, id1 is the node
    uint64_t time = 0;
    size_t at = 0;                     // offset of the step's keys and values in arena_
    size_t keys = 0, first_key = 0;    // number of keys of a multiget; index of the first
    size_t data = 0;                   // bytes of data
    uint64_t expected = 0;             // rows that a list query will ask for; 0 = not known
    uint64_t rows = 0, last_time = 0;  // what a list query returned
  };

  void Prepare(Step* step);
  void PrepareNode(Step* step);
  void PrepareLinkWrite(Step* step);
  void PrepareMultiget(Step* step);
  void PrepareList(Step* step);
  // Adds the lists that the last batch read to the history.
  void NoteLists();
  char* Room(size_t bytes);

  void WriteLink(const Step& step);
  void DeleteLink(const Step& step);
  void UpdateNode(const Step& step);
  void DeleteNode(const Step& step);
  void GetLinks(const Step& step);
  void GetLinkList(Step* step);
  // Gets the row into value_ and passes it to consume_.
  bool Get(TableId table, std::string_view key);
  // Put and Erase count the bytes that they write as the user's.
  void Put(TableId table, std::string_view key, std::string_view value);
  void Erase(TableId table, std::string_view key);
  // Performs a getlinklist again, for its check. This and the functions below are in
  // client_check.cc.
  void RepeatList(const Step& step);
  bool VerifyWrittenLink(const Step& step);
  bool VerifyUpdatedNode(const Step& step);
  bool VerifyCount(const Step& step);
  bool VerifyLinks(const Step& step) const;
  bool VerifyList(const Step& step);
  bool ListIsWhole(const Step& step);
  // Returns how many links of the type the load gave to the node.
  uint64_t LoadedLinks(const LinkId& id) const {
    return state_.access.degrees.Links(id.id1 - kFirstId,
                                       static_cast<uint32_t>(id.type - kFirstLinkType));
  }

  // The parts of a prepared write, which lie one behind the other in arena_.
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
  std::vector<std::string_view> link_keys_;  // keys of the multigets, in arena_
  Found found_;

  // Results of the last operation, for Verify.
  bool hit_ = false;
  std::string_view value_;
  uint64_t links_found_ = 0;  // links that a multiget found
  // The entries of a list, or the rows of a multiget. A row of a multiget has kFound or kAbsent in
  // place of its key.
  KeptRows kept_;
  static constexpr std::string_view kFound = "+", kAbsent = "-";
};

}  // namespace testbed::linkbench

#endif  // TESTBED_WORKLOADS_LINKBENCH_CLIENT_H_
