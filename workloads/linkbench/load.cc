#include "workloads/linkbench/load.h"

#include <algorithm>
#include <atomic>

#include "device/account/ledger.h"
#include "device/os/mutex.h"
#include "engines/extra_options.h"
#include "workloads/linkbench/check.h"
#include "workloads/linkbench/schema.h"
#include "workloads/linkbench/volume.h"
#include "workloads/measure/clock.h"

namespace testbed {
namespace linkbench {
namespace {

enum LoadOp : uint8_t { kLoadNodes, kLoadLinks, kLoadCounts };

uint64_t Batches(uint64_t n, uint64_t of) { return (n + of - 1) / of; }

// The state that the loaders share: the remaining work, and what has been done.
struct LoadState {
  LoadState(const Settings& s) : settings(s), content(s), degrees(s.Degrees()) {}
  const Settings settings;
  bool index_after = false;  // links are loaded without their index entries
  const Content content;
  const LinkDegrees degrees;
  Tables tables{};
  uint64_t node_batches() const { return Batches(settings.nodes, kBulk); }
  uint64_t chunks() const { return Batches(settings.nodes, kChunk); }
  uint64_t puts_a_link() const { return index_after ? 1 : 2; }
  std::atomic<uint64_t> next_task{0};  // batches of nodes, then chunks, the last chunk first

  struct Sums {
    uint64_t nodes = 0, links = 0, counts = 0;
    uint64_t most_links = 0;               // links of one node and type, at most
    uint64_t begin = UINT64_MAX, end = 0;  // ticks
  };
  mutable Mutex mutex;
  Sums sums GUARDED_BY(mutex);
};

// Takes tasks in turn: batches of nodes, then chunks of links.
class LoadClient : public Client {
 public:
  LoadClient(LoadState* state, Session& session) : state_(*state), session_(session) {}
  ~LoadClient() override {
    if (sums_.end == 0) sums_.end = Clock::Get().Now();  // the phase was stopped early
    LockGuard lock(state_.mutex);
    LoadState::Sums& all = state_.sums;
    all.nodes += sums_.nodes;
    all.links += sums_.links;
    all.counts += sums_.counts;
    all.most_links = std::max(all.most_links, sums_.most_links);
    all.begin = std::min(all.begin, sums_.begin);
    all.end = std::max(all.end, sums_.end);
  }

  // Prepares one transaction.
  size_t Generate(size_t) override {
    if (sums_.begin == UINT64_MAX) sums_.begin = Clock::Get().Now();
    puts_.clear();
    buffer_.clear();
    while (!Fill()) {
      if (!NextTask()) {
        sums_.end = Clock::Get().Now();
        return 0;
      }
    }
    user_bytes_ = 0;
    for (Put& put : puts_) {
      const char* at = buffer_.data() + put.at;
      put.key = {at, put.key_size};
      put.value = {at + put.key_size, put.value_size};
      user_bytes_ += put.key_size + put.value_size;
    }
    return 1;
  }

  size_t OpOf(size_t) const override { return op_; }

  void Execute(size_t) override {
    session_.Begin();
    for (const Put& put : puts_) session_.Put(put.table, put.key, put.value);
    session_.Commit();
    const size_t rows = puts_.size() / (op_ == kLoadLinks ? state_.puts_a_link() : 1);
    totals_.rows_written += rows;
    totals_.rows_inserted += rows;
    (op_ == kLoadNodes ? sums_.nodes : op_ == kLoadLinks ? sums_.links : sums_.counts) += rows;
    totals_.user_bytes_written += user_bytes_;
  }

  // Reads back the transaction's first row.
  bool Verify(size_t) override {
    std::string_view value;
    return session_.Get(puts_[0].table, puts_[0].key, &value) && value == puts_[0].value;
  }

 private:
  struct Put {
    TableId table;
    size_t at, key_size, value_size;
    std::string_view key, value;
  };
  struct Pending {
    uint64_t id, type;
    CountRow row;
  };

  bool NextTask() {
    const uint64_t task = state_.next_task.fetch_add(1);
    if (task < state_.node_batches()) {
      node_ = task * kBulk;
      node_end_ = std::min(node_ + kBulk, state_.settings.nodes);
      return true;
    }
    const uint64_t chunk = task - state_.node_batches();
    if (chunk >= state_.chunks()) return false;
    id_ = (state_.chunks() - 1 - chunk) * kChunk;
    id_end_ = std::min(id_ + kChunk, state_.settings.nodes);
    type_ = 0;
    link_ = 0;
    links_ = state_.degrees.Links(id_, 0);
    max_time_ = 0;
    return true;
  }

  // Prepares the task's next transaction. Returns false when the task has none left.
  bool Fill() {
    if (node_ < node_end_) {
      op_ = kLoadNodes;
      for (; node_ < node_end_; ++node_) AddNode(kFirstId + node_);
      return true;
    }
    op_ = kLoadLinks;
    while (id_ < id_end_ && puts_.size() < state_.puts_a_link() * kBulk) {
      if (link_ < links_) {
        AddLink({kFirstId + id_, kFirstLinkType + type_, kFirstId + id_ + link_});
        ++link_;
      } else {
        NextLinks();
      }
    }
    if (!puts_.empty()) return true;
    op_ = kLoadCounts;
    while (!counts_.empty() && puts_.size() < kBulk) {
      AddCount(counts_.back());
      counts_.pop_back();
    }
    return !puts_.empty();
  }

  // Moves on to the chunk's next type, or next node.
  void NextLinks() {
    if (links_ > 0) {
      counts_.push_back(
          {kFirstId + id_, kFirstLinkType + type_, {static_cast<uint32_t>(links_), max_time_, 0}});
      sums_.most_links = std::max(sums_.most_links, links_);
    }
    if (++type_ == state_.settings.link_types) {
      type_ = 0;
      ++id_;
    }
    link_ = max_time_ = 0;
    links_ = id_ < id_end_ ? state_.degrees.Links(id_, type_) : 0;
  }

  // Appends a row to the transaction and returns the address for its key, which its value follows.
  char* Room(TableId table, size_t key_size, size_t value_size) {
    puts_.push_back({table, buffer_.size(), key_size, value_size, {}, {}});
    buffer_.resize(buffer_.size() + key_size + value_size);
    return buffer_.data() + puts_.back().at;
  }

  void AddNode(uint64_t id) {
    constexpr uint64_t kVersion = 1;
    const auto time = static_cast<uint32_t>(kLoadTime / 1000);
    const size_t data = state_.content.NodeDataSize(id, kVersion, time);
    char* at = Room(state_.tables.node, kNodeKeySize, kNodeHead + data);
    NodeKey(id, at);
    state_.content.NodeData(id, kVersion, time, at + kNodeKeySize + kNodeHead);
    NodeValue(kNodeType, kVersion, time, data, at + kNodeKeySize);
  }

  void AddLink(const LinkId& id) {
    char data[kMaxLinkData];
    const uint64_t time = state_.content.LoadTime(id);
    const size_t size = state_.content.LinkData(id, time, data);
    char* at = Room(state_.tables.link, kLinkKeySize, kLinkHead + size);
    LinkKey(id, state_.settings.id1_first, at);
    LinkValue(kVisible, time, 0, size, at + kLinkKeySize);
    std::copy_n(data, size, at + kLinkKeySize + kLinkHead);
    max_time_ = std::max(max_time_, time);
    if (state_.index_after) return;
    at = Room(state_.tables.index, kIndexKeySize, kIndexHead + size);
    IndexKey(id, kVisible, time, at);
    IndexValue(0, {data, size}, at + kIndexKeySize);
  }

  void AddCount(const Pending& count) {
    char* at = Room(state_.tables.count, kCountKeySize, kCountSize);
    CountKey(count.id, count.type, at);
    CountValue(count.row, at + kCountKeySize);
  }

  LoadState& state_;
  Session& session_;
  LoadState::Sums sums_;
  uint64_t node_ = 0, node_end_ = 0;                     // the current batch of nodes
  uint64_t id_ = 0, id_end_ = 0, link_ = 0, links_ = 0;  // the current chunk of links
  uint32_t type_ = 0;
  uint64_t max_time_ = 0;
  std::vector<Pending> counts_;
  LoadOp op_ = kLoadNodes;
  std::vector<Put> puts_;
  std::vector<char> buffer_;
  uint64_t user_bytes_ = 0;
};

class Load : public Workload {
 public:
  Load(std::shared_ptr<const Dataset> dataset, const WorkloadOptions& options)
      : state_(Settings(*dataset, options)),
        checks_(ExtraOptions("linkbench", options.extra, "--workload-option").Flag("check", true)) {
    state_.index_after =
        ExtraOptions("linkbench", options.extra, "--workload-option")
            .Choice("covering_index", "with-links", {"with-links", "after"}) == "after";
    // Counts the transactions as the clients will make them.
    const LoadVolume volume = VolumeOf(state_.degrees.options());
    operations_ = state_.node_batches() + volume.link_transactions + volume.count_transactions;
    const Settings& s = state_.settings;
    added_bytes_ = s.nodes * (kNodeKeySize + kNodeHead + MeanDataBytes(s.node_data_size)) +
                   volume.links * (kLinkKeySize + kLinkHead + MeanDataBytes(s.link_data_size)) +
                   (state_.index_after ? 0 : IndexBytes(volume.links, s.link_data_size)) +
                   volume.counts * (kCountKeySize + kCountSize);
  }
  const std::string& name() const override { return name_; }
  const std::vector<OpKind>& ops() const override { return ops_; }
  uint64_t operations() const override { return operations_; }
  bool writes() const override { return true; }
  uint64_t AddedBytes() const override { return added_bytes_; }
  void OpenTables(Engine& engine) override {
    const IoScope scope(kOpen);
    state_.tables = linkbench::OpenTables(engine);
    if (state_.index_after) SetIndexMissing(*engine.NewSession(), state_.tables, true);
  }
  std::unique_ptr<Client> NewClient(Session& session, int, int) override {
    return std::make_unique<LoadClient>(&state_, session);
  }
  std::string CheckDatabase(Engine& engine) override {
    if (!checks_ || state_.index_after) return {};  // linkbench-index will check
    return CheckLoaded(engine, state_.tables, state_.settings, state_.content, &found_);
  }
  nlohmann::json Details() const override {
    const LoadState::Sums sums = AllSums();
    const double seconds =
        sums.end <= sums.begin
            ? 0
            : static_cast<double>(Clock::Get().ToNs(sums.end - sums.begin)) / 1e9;
    auto rate = [seconds](uint64_t rows) {
      return seconds > 0 ? nlohmann::json(static_cast<double>(rows) / seconds) : nlohmann::json();
    };
    nlohmann::json details = SettingsJson(state_.settings);
    details.update({{"nodes", sums.nodes},
                    {"links", sums.links},
                    {"counts", sums.counts},
                    {"links_per_node",
                     static_cast<double>(sums.links) / static_cast<double>(state_.settings.nodes)},
                    {"most_links_of_one_type", sums.most_links},
                    {"load_seconds", seconds},
                    {"links_per_second", rate(sums.links)},
                    {"links_and_counts_per_second", rate(sums.links + sums.counts)},
                    {"rows_per_second", rate(sums.links + sums.counts + sums.nodes)}});
    if (found_.done) details["check"] = found_.ToJson();
    return details;
  }

 private:
  LoadState::Sums AllSums() const {
    LockGuard lock(state_.mutex);
    return state_.sums;
  }

  const std::string name_ = "linkbench-load";
  const std::vector<OpKind> ops_ = {DefineOp("load-nodes", Ground::kForeground),
                                    DefineOp("load-links", Ground::kForeground),
                                    DefineOp("load-counts", Ground::kForeground)};
  LoadState state_;
  const bool checks_;
  uint64_t operations_ = 0, added_bytes_ = 0;
  CheckCounts found_;
};

}  // namespace
}  // namespace linkbench

std::unique_ptr<Workload> MakeLinkbenchLoad(std::shared_ptr<const Dataset> dataset,
                                            const WorkloadOptions& options) {
  return std::make_unique<linkbench::Load>(std::move(dataset), options);
}

}  // namespace testbed
