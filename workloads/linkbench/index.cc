#include "workloads/linkbench/index.h"

#include <algorithm>
#include <atomic>

#include "device/account/ledger.h"
#include "device/error.h"
#include "engines/extra_options.h"
#include "workloads/linkbench/check.h"
#include "workloads/linkbench/schema.h"
#include "workloads/linkbench/volume.h"

namespace testbed {
namespace linkbench {
namespace {

enum IndexOp : uint8_t { kRead, kWrite };

struct IndexState {
  explicit IndexState(const Settings& s) : settings(s) {}
  const Settings settings;
  Tables tables{};
  uint64_t chunks() const { return (settings.nodes + kChunk - 1) / kChunk; }
  std::atomic<uint64_t> next_chunk{0};
  std::atomic<uint64_t> entries{0};
  uint64_t operations = 0;  // total number of operations
  std::atomic<uint64_t> done{0};
};

// Processes chunks: one operation reads a chunk's links and sorts their entries, further operations
// write the entries.
class IndexClient : public Client {
 public:
  IndexClient(IndexState* state, Session& session) : state_(*state), session_(session) {}

  size_t Generate(size_t) override {
    at_ = end_;
    if (at_ == entries_.size()) {
      op_ = kRead;
      chunk_ = state_.next_chunk.fetch_add(1);
      return chunk_ < state_.chunks() ? 1 : 0;
    }
    op_ = kWrite;
    end_ = std::min(at_ + kBulk, entries_.size());
    return 1;
  }

  size_t OpOf(size_t) const override { return op_; }

  void Execute(size_t) override {
    op_ == kRead ? ReadChunk() : WriteEntries();
    if (state_.done.fetch_add(1) + 1 == state_.operations) {
      SetIndexMissing(session_, state_.tables, false);
    }
  }

  bool Verify(size_t) override {
    if (op_ == kRead) return true;  // CheckDatabase compares every entry with its link
    std::string_view value;
    return session_.Get(state_.tables.index, entries_[at_].first, &value) &&
           value == entries_[at_].second;
  }

 private:
  void WriteEntries() {
    session_.Begin();
    for (size_t i = at_; i < end_; ++i) {
      session_.Put(state_.tables.index, entries_[i].first, entries_[i].second);
      totals_.user_bytes_written += entries_[i].first.size() + entries_[i].second.size();
    }
    session_.Commit();
    totals_.rows_written += end_ - at_;
    state_.entries.fetch_add(end_ - at_);
  }

  void ReadChunk() {
    entries_.clear();
    at_ = end_ = 0;
    const bool id1_first = state_.settings.id1_first;
    const uint64_t first = kFirstId + chunk_ * kChunk;
    const uint64_t last = std::min(first + kChunk, state_.settings.max_id()) - 1;
    std::unique_ptr<Cursor> links = session_.NewCursor(state_.tables.link);
    // A chunk's links are one range of the table when keys begin with id1, else one range per type.
    const uint32_t stretches = id1_first ? 1 : state_.settings.link_types;
    for (uint32_t type = 0; type < stretches; ++type) {
      char key[kLinkKeySize];
      const LinkId from = {first, id1_first ? 0 : kFirstLinkType + type, 0};
      for (bool on = links->Seek(LinkKey(from, id1_first, key)); on; on = links->Next()) {
        const LinkId link = ReadLinkKey(links->key(), id1_first);
        if (link.id1 > last || (!id1_first && link.type != from.type)) break;
        consume_(links->key());
        consume_(links->value());
        AddEntry(link, links->value());
      }
    }
    totals_.rows_read += entries_.size();
    std::sort(entries_.begin(), entries_.end());
  }

  void AddEntry(const LinkId& link, std::string_view value) {
    LinkRow row;
    if (!ReadLink(value, &row)) throw Error(Error::kRun, "a row of table link is no link");
    std::string key(kIndexKeySize, 0), entry(kIndexHead + row.data.size(), 0);
    IndexKey(link, row.visibility, row.time, key.data());
    IndexValue(row.version, row.data, entry.data());
    entries_.emplace_back(std::move(key), std::move(entry));
  }

  IndexState& state_;
  Session& session_;
  IndexOp op_ = kRead;
  uint64_t chunk_ = 0;
  std::vector<std::pair<std::string, std::string>> entries_;  // entries of the chunk, sorted
  size_t at_ = 0, end_ = 0;                                   // entries of the current transaction
};

class BuildIndex : public Workload {
 public:
  BuildIndex(std::shared_ptr<const Dataset> dataset, const WorkloadOptions& options)
      : state_(Settings(*dataset, options)),
        content_(state_.settings),
        checks_(ExtraOptions("linkbench", options.extra, "--workload-option").Flag("check", true)) {
    // Each chunk takes one operation to read its links, plus the transactions that write its
    // entries.
    const LoadVolume volume = VolumeOf(state_.settings.Degrees());
    state_.operations = volume.chunks + volume.link_transactions;
    entries_ = volume.links;
  }
  const std::string& name() const override { return name_; }
  const std::vector<OpKind>& ops() const override { return ops_; }
  uint64_t operations() const override { return state_.operations; }
  bool writes() const override { return true; }
  uint64_t AddedBytes() const override {
    return IndexBytes(entries_, state_.settings.link_data_size);
  }
  void OpenTables(Engine& engine) override {
    const IoScope scope(kOpen);
    state_.tables = linkbench::OpenTables(engine);
    if (IndexIsMissing(*engine.NewSession(), state_.tables)) return;
    throw Error(Error::kUsage,
                "linkbench-index finds the index there; load with --workload linkbench-load "
                "--workload-option covering_index=after first");
  }
  void OpenForCheck(Engine& engine, int) override {
    state_.tables = linkbench::OpenTables(engine);
    as_loaded_ = false;
  }
  std::unique_ptr<Client> NewClient(Session& session, int, int) override {
    return std::make_unique<IndexClient>(&state_, session);
  }
  bool checks() const override { return checks_; }
  std::string CheckDatabase(Engine& engine) override {
    if (!checks_) return {};
    const auto check = as_loaded_ ? CheckLoaded : linkbench::CheckDatabase;
    return check(engine, state_.tables, state_.settings, content_, &found_);
  }
  nlohmann::json Details() const override {
    nlohmann::json details = SettingsJson(state_.settings);
    details["index_entries"] = state_.entries.load();
    if (found_.done) details["check"] = found_.ToJson();
    return details;
  }

 private:
  const std::string name_ = "linkbench-index";
  const std::vector<OpKind> ops_ = {DefineOp("index-scan", Ground::kForeground),
                                    DefineOp("index-write", Ground::kForeground)};
  IndexState state_;
  const Content content_;
  const bool checks_;
  bool as_loaded_ = true;  // no later phase, such as a replay, may have written rows
  uint64_t entries_ = 0;
  CheckCounts found_;
};

}  // namespace
}  // namespace linkbench

std::unique_ptr<Workload> MakeLinkbenchIndex(std::shared_ptr<const Dataset> dataset,
                                             const WorkloadOptions& options) {
  return std::make_unique<linkbench::BuildIndex>(std::move(dataset), options);
}

}  // namespace testbed
