#include "engines/fractal/fractal_engine.h"

#include <algorithm>
#include <utility>

#include "device/error.h"
#include "engines/extra_options.h"
#include "engines/fractal/check.h"
#include "engines/fractal/session.h"
#include "engines/fractal/store.h"
#include "engines/log_settings.h"

namespace testbed {
namespace fractal {
namespace {

class FractalEngine : public Engine {
 public:
  FractalEngine(std::unique_ptr<Store> store, const EngineOptions& options)
      : store_(std::move(store)), lazy_interval_ms_(options.lazy_interval_ms) {}

  std::string name() const override { return "fractal"; }
  TableId OpenTable(const std::string& table) override { return store_->OpenTable(table)->table(); }
  std::unique_ptr<Session> NewSession() override {
    return std::make_unique<FractalSession>(store_.get());
  }
  void Flush() override { store_->Checkpoint(); }
  void Checkpoint() override { store_->Checkpoint(); }
  void Settle() override { store_->Settle(); }
  bool ResizeCache(uint64_t bytes) override {
    store_->ResizeCache(bytes);
    return true;
  }
  std::vector<std::pair<std::string, std::string>> EffectiveSettings() const override;
  EngineCounters Counters() const override;
  DiskSize SizeOnDisk() const override {
    return {store_->FileBytes(), store_->log()->SizeOnDisk()};
  }

 private:
  const std::unique_ptr<Store> store_;
  const uint32_t lazy_interval_ms_;
};

std::vector<std::pair<std::string, std::string>> FractalEngine::EffectiveSettings() const {
  const StoreOptions& o = store_->options();
  std::vector<std::pair<std::string, std::string>> settings = {
      {"io", IoModeName(o.io)},
      {"advice", AdviceName(o.advice)},
      {"page_size", std::to_string(o.page_size)},
      {"node_size", std::to_string(o.node_size)},
      {"fanout", std::to_string(o.fanout)},
      {"root_limit", std::to_string(store_->root_limit())},
      {"cache_bytes", std::to_string(store_->cache()->limit())},
      {"compression", CodecName(o.codec)},
      {"durability", DurabilityName(o.durability)},
      {"lazy_interval_ms", std::to_string(lazy_interval_ms_)},
      {"merge_reads", o.merge_reads ? "on" : "off"},
      {"row_overhead", std::to_string(o.row_overhead)},
      {"cleaner_period", std::to_string(o.cleaner_period_ms)},
      {"cleaner_nodes", o.cleaner_period_ms != 0 ? std::to_string(o.cleaner_nodes)
                                                 : "no effect: cleaner_period=0 has no cleaner"},
      {"checkpoint_period", std::to_string(o.checkpoint_period_ms)},
      {"checkpoint_log", std::to_string(o.checkpoint_log_bytes)},
  };
  for (auto& [name, value] : store_->log()->EffectiveSettings()) {
    settings.emplace_back(name, std::move(value));
  }
  return settings;
}

EngineCounters FractalEngine::Counters() const {
  EngineCounters c;
  const Store::Reads reads = store_->client_reads(), cleaner = store_->cleaner_reads();
  const WriteCounters& writes = store_->cache()->writes();
  const TreeCounters& tree = store_->tree_counters();
  const LogCounters log = store_->log()->Counters();
  const BlockTable::Sizes sizes = store_->sizes();
  c.block_requests = reads.requests;
  c.block_hits = reads.requests - std::min(reads.missed, reads.requests);
  c.block_reads = reads.missed;
  c.block_read_bytes = reads.bytes;
  c.blocks_written = writes.nodes.load();
  c.block_write_bytes = writes.bytes.load();
  c.log_payload_bytes = log.payload_bytes;
  c.log_written_bytes = log.written_bytes;
  c.cache_bytes = store_->cache()->used();
  c.more = {
      {"flushes", tree.flushes.load()},
      {"flush_bytes", tree.flush_bytes.load()},
      {"leaf_flushes", tree.leaf_flushes.load()},
      {"leaf_flush_bytes", tree.leaf_flush_bytes.load()},
      {"messages_moved", tree.messages_moved.load()},
      {"messages_applied", tree.messages_applied.load()},
      {"cleaner_flushes", tree.cleaner_flushes.load()},
      {"leaf_splits", tree.leaf_splits.load()},
      {"nonleaf_splits", tree.inner_splits.load() + tree.root_splits.load()},
      {"merges", tree.merges.load()},
      {"leaf_writes", writes.leaves.load()},
      {"leaf_write_bytes", writes.leaf_bytes.load()},
      {"nonleaf_writes", writes.inner.load()},
      {"nonleaf_write_bytes", writes.inner_bytes.load()},
      {"node_bytes_written", writes.bytes.load()},
      {"node_raw_bytes_written", writes.raw_bytes.load()},
      {"basements_written", writes.basements.load()},
      {"basement_raw_bytes_written", writes.basement_raw_bytes.load()},
      {"checkpoint_node_writes", writes.for_checkpoints.load()},
      {"checkpoint_snapshots", writes.snapshots.load()},
      {"checkpoints", store_->checkpoints()},
      {"partition_reads", reads.reads - reads.header_reads},
      {"header_reads", reads.header_reads},
      {"cleaner_reads", cleaner.reads},
      {"cleaner_read_bytes", cleaner.bytes},
      {"evicted_partitions", writes.evicted_parts.load()},
      {"evicted_nodes", writes.evicted_nodes.load()},
  };
  for (auto& counter : LogCounterPairs(log)) c.more.push_back(std::move(counter));
  c.now = {
      {"height", store_->height()},
      {"nodes", sizes.blocks},
      {"file_bytes", sizes.file_bytes},
      {"live_bytes", sizes.live_bytes},
      {"free_bytes", sizes.free_bytes},
      {"recovered_log_bytes", store_->recovery().log_bytes},
      {"recovered_transactions", store_->recovery().transactions},
  };
  return c;
}

StoreOptions OptionsOf(const EngineOptions& options) {
  const ExtraOptions extra("fractal", options.extra);
  StoreOptions o;
  o.create = options.create;
  o.io = options.io;
  o.advice = options.io == IoMode::kBuffered ? options.file_advice : Advice::kNormal;
  o.page_size = options.page_size;
  o.cache_bytes = options.cache_bytes;
  o.durability = options.durability;
  o.codec = CodecByName(options.compression);
  if (extra.Has("node_size")) o.node_size = extra.Bytes("node_size", 0, 16 << 10, 64 << 20);
  if (extra.Has("fanout")) o.fanout = static_cast<uint32_t>(extra.Integer("fanout", 16, 4, 1024));
  o.merge_reads = extra.Flag("merge_reads", false);
  o.row_overhead = extra.Bytes("row_overhead", 0, 0, 4096);
  o.cleaner_period_ms =
      static_cast<uint32_t>(extra.Integer("cleaner_period", 2000, 0, 1000ull * 3600));
  o.cleaner_nodes = static_cast<uint32_t>(extra.Integer("cleaner_nodes", 5, 1, 1000));
  o.checkpoint_period_ms =
      static_cast<uint32_t>(extra.Integer("checkpoint_period", 60000, 10, 1000ull * 3600 * 24));
  o.checkpoint_log_bytes =
      extra.Bytes("checkpoint_log", CheckpointLogBytes(options), 1ull << 20, 1ull << 40);
  o.log = LogOptionsOf(options, extra);
  o.log.reserve = true;
  if (o.node_size != 0 && o.node_size < 2 * uint64_t{o.page_size}) {
    throw Error(Error::kUsage,
                "fractal cannot honour --engine-option node_size=" + std::to_string(o.node_size) +
                    " with --page-size " + std::to_string(o.page_size) +
                    "; a node has at least two read pages");
  }
  return o;
}

}  // namespace
}  // namespace fractal

EngineInfo FractalEngineInfo() {
  EngineInfo info;
  info.name = "fractal";
  info.summary = "Be-tree (fractal tree) of this project: message buffers, nodes copied on write";
  info.version = "1";
  Capabilities& can = info.capabilities;
  can.io_modes = {IoMode::kDirect, IoMode::kBuffered};
  can.resizable_cache = true;
  can.durabilities = {Durability::kSync, Durability::kLazy, Durability::kNone};
  can.compressions = {"none", "lz4", "zlib", "zstd"};
  can.min_page_size = fractal::kMinPageSize;
  can.max_page_size = fractal::kMaxPageSize;
  can.max_key_size = fractal::kMaxKeySize;
  can.max_value_size = fractal::kMaxValueSize;
  can.most_cache_pct = 65;
  can.extra_options = {
      {"node_size", "bytes of a node, uncompressed (4M, or less for a cache below 256M)"},
      {"fanout", "most children of an inner node (16)"},
      {"merge_reads",
       "on, off: a flush reads adjacent read pages that the cache lacks by one call (off)"},
      {"row_overhead",
       "bytes that each cached row counts in the cache in addition to its own size (0)"},
      {"cleaner_period", "milliseconds between rounds of the cleaner thread, 0: no cleaner (2000)"},
      {"cleaner_nodes", "nodes that the cleaner thread flushes in each round (5)"},
      {"checkpoint_period", "milliseconds between checkpoints (60000)"},
      {"checkpoint_log",
       "bytes of log after which a checkpoint is taken before its time (--ram, 64M to 2G)"},
  };
  AddLogOptions(&can);
  info.files = {"fractal.data", "fractal.data.new", "fractal.log/log-#"};
  info.recognises = [](const std::string& dir) { return fractal::Store::Exists(dir); };
  info.check_options = [](const EngineOptions& o) { (void)fractal::OptionsOf(o); };
  info.open = [](const std::string& dir, const EngineOptions& options) -> std::unique_ptr<Engine> {
    return std::make_unique<fractal::FractalEngine>(
        fractal::Store::Open(dir, fractal::OptionsOf(options)), options);
  };
  info.check = info.tree = fractal::InspectDatabase;
  return info;
}

}  // namespace testbed
