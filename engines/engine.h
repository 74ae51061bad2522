// What a storage engine is to testbed: tables of ordered keys, sessions, transactions.
//
// The harness opens one Engine per run. Each thread works through a Session of its own; tables are
// named ordered key spaces (keys compare as unsigned bytes); a transaction may span tables.
//
//   std::unique_ptr<Engine> engine = OpenEngine("btree", dir, options);
//   TableId table = engine->OpenTable("default");
//   std::unique_ptr<Session> session = engine->NewSession();
//   session->Begin();
//   session->Put(table, key, value);
//   session->Commit();
//   std::string_view value;
//   if (session->Get(table, key, &value)) ...
//
// Errors throw Error. Absence is a return value. What an engine cannot do it says in Capabilities;
// an option it cannot honour is an error at open, never silence.
#ifndef TESTBED_ENGINES_ENGINE_H_
#define TESTBED_ENGINES_ENGINE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/file/file.h"
#include "engines/disk_size.h"

namespace testbed {

// Named by guarantee. Lazy: a commit is durable after at most EngineOptions::lazy_interval_ms.
enum class Durability : uint8_t { kSync, kLazy, kNone };
const char* DurabilityName(Durability durability);  // "sync", "lazy", "none"

struct EngineOptions {
  bool create = true;  // create the database when the directory holds none
  IoMode io = IoMode::kBuffered;
  Advice file_advice = Advice::kNormal;  // buffered data files
  Advice mmap_advice = Advice::kNormal;  // mapped data files
  uint32_t page_size = 8192;             // page of a b-tree, block of a sorted run; bytes
  uint64_t cache_bytes = 64ull << 20;    // the engine's own cache, all of it
  uint64_t most_cache_bytes = 0;         // to which ResizeCache may bring it; 0 = it is not called
  uint64_t ram_bytes = 0;  // the run's whole budget, for buffers sized by share; 0 = not bounded
  Durability durability = Durability::kLazy;
  uint32_t lazy_interval_ms = 100;
  std::string compression = "none";  // none, snappy, lz4, zstd, ... as Capabilities says
  // Settings that only this engine knows, by its own names: --engine-option name=value.
  std::map<std::string, std::string> extra;
};

// What an engine supports; `testbed list` prints it and the harness checks options against it.
struct Capabilities {
  std::vector<IoMode> io_modes;
  std::vector<Durability> durabilities;
  std::vector<std::string> compressions;
  uint32_t min_page_size = 0, max_page_size = 0;  // powers of two between; 0 = has no page size
  size_t max_key_size = 0;                        // at the smallest page size
  size_t max_value_size = 0;
  bool persistent = true;    // keeps what it is given
  bool reads = true;         // finds it again; without, only workloads that load can run
  bool transactions = true;  // over tables, with rollback
  bool scans = true;
  bool cache = true;             // has one of its own, whose size EngineOptions::cache_bytes is
  bool resizable_cache = false;  // while it runs
  uint64_t min_cache_bytes = 0;  // the smallest that it works with, at 8k pages
  // The most of a memory budget that the cache may be given: what its allocator takes beside it
  // must fit in too.
  double most_cache_pct = 90;

  std::vector<Advice> mmap_advices = {Advice::kNormal, Advice::kRandom, Advice::kSequential,
                                      Advice::kWillNeed};
  bool indexes = false;          // Engine::OpenIndex: it keeps secondary indexes itself
  bool reads_in_flight = false;  // Session::NewReadQueue, when it reads direct or buffered
  bool file_layer =
      true;  // does its IO through device/file/file.h, so that the file level is counted
  bool checksums = true;  // a changed byte in its files is an error, never a wrong answer

  // Names and one-line meanings of the extra options.
  std::vector<std::pair<std::string, std::string>> extra_options;
};

using TableId = uint32_t;

// Bytes of a row's value that a secondary index is ordered by.
struct IndexPart {
  uint32_t offset = 0, length = 0;
};

// Counters an engine keeps of itself, since open, all threads together. A block is the engine's
// unit of caching: a page, a data block. What an engine cannot know stays empty.
struct EngineCounters {
  std::optional<uint64_t> block_requests;  // blocks asked of the cache
  std::optional<uint64_t> block_hits;      // found there
  std::optional<uint64_t> block_reads;     // read through the file layer
  std::optional<uint64_t> block_read_bytes;
  std::optional<uint64_t> blocks_written;
  std::optional<uint64_t> block_write_bytes;
  std::optional<uint64_t> log_payload_bytes;  // log bytes that carry records
  std::optional<uint64_t> log_written_bytes;  // log bytes written, padding and rewrites included
  std::optional<uint64_t> cache_bytes;        // held by the cache now
  std::vector<std::pair<std::string, uint64_t>> more;  // by the engine's own names
  // No counters but values that rise and fall, as they are now; by the engine's own names.
  std::vector<std::pair<std::string, uint64_t>> now;
};

// An ordered walk over one table. Key and value stay valid until the next call on the cursor or a
// write on its session. A cursor sees its session's own uncommitted writes, or the engine says
// otherwise in its documentation. Not for several threads.
class Cursor {
 public:
  virtual ~Cursor() = default;
  // Each positions the cursor and returns whether it stands on a row.
  virtual bool Seek(std::string_view key) = 0;         // first row with key >= `key`
  virtual bool SeekForPrev(std::string_view key) = 0;  // last row with key <= `key`
  virtual bool First() = 0;
  virtual bool Last() = 0;
  virtual bool Next() = 0;
  virtual bool Prev() = 0;
  virtual std::string_view key() const = 0;
  virtual std::string_view value() const = 0;
};

// Point reads of which one thread keeps many in flight, by slots: a slot is started, ends some time
// later, and can be started again. Used by the thread that made it; its session can do nothing else
// while reads are in flight. Whoever starts reads must finish them soon: other threads may wait.
class ReadQueue {
 public:
  virtual ~ReadQueue() = default;
  // Looks the key up. It must stay until the slot has ended. What that costs is charged to the
  // task, unless it is null.
  virtual void Start(uint32_t slot, TableId table, std::string_view key, IoTask* task) = 0;
  // Waits until a slot has ended and returns it; something must have been started. *value stays
  // valid until the slot is started again.
  virtual uint32_t Finish(bool* found, std::string_view* value) = 0;
};

// A row of a MultiGet.
struct FoundRow {
  bool found = false;
  std::string_view value;
};

// One thread's connection. Not for several threads. Outside Begin..Commit each write is a
// transaction of its own. Commit returns when the open durability is met.
class Session {
 public:
  virtual ~Session() = default;
  virtual void Begin() = 0;
  virtual void Commit() = 0;
  virtual void Rollback() = 0;
  // *value stays valid until the next call on the session.
  virtual bool Get(TableId table, std::string_view key, std::string_view* value) = 0;
  // Looks several keys up, (*rows)[i] for keys[i]; the values stay valid until the next call on the
  // session. An engine that can has all its reads in flight at once.
  virtual void MultiGet(TableId table, std::span<const std::string_view> keys,
                        std::vector<FoundRow>* rows) {
    rows->resize(keys.size());
    if (copies_.size() < keys.size()) copies_.resize(keys.size());
    for (size_t i = 0; i < keys.size(); ++i) {
      std::string_view value;
      const bool found = Get(table, keys[i], &value);
      copies_[i].assign(found ? value : std::string_view());
      (*rows)[i] = {found, copies_[i]};
    }
  }
  virtual void Put(TableId table, std::string_view key, std::string_view value) = 0;
  virtual void Erase(TableId table, std::string_view key) = 0;  // absent is no error
  virtual std::unique_ptr<Cursor> NewCursor(TableId table) = 0;
  // A queue of `depth` slots; null where the engine, or its way of reading, cannot have reads in
  // flight. Destroy it before the session.
  virtual std::unique_ptr<ReadQueue> NewReadQueue(uint32_t depth) { return nullptr; }
  // The engine's own count of blocks that this session's thread asked for and did not find in the
  // cache, where it keeps one per thread; both only grow. *requests stays 0 where the engine counts
  // its misses only. Returns false where it keeps none.
  virtual bool BlockCounts(uint64_t* requests, uint64_t* misses) { return false; }

 private:
  std::vector<std::string> copies_;  // of a MultiGet that is one Get after the other
};

// A database. Thread-safe. Destroy sessions and cursors first; the destructor closes cleanly (what
// was committed is durable after it, unless durability is none and the engine has no checkpoint).
class Engine {
 public:
  virtual ~Engine() = default;
  virtual std::string name() const = 0;
  // Opens the table, creating it when it is new. Call before sessions use it.
  virtual TableId OpenTable(const std::string& table) = 0;
  virtual std::unique_ptr<Session> NewSession() = 0;

  // Capabilities::indexes. For an engine that keeps none, an index is a table whose entries its
  // user writes.
  virtual bool KeepsIndexes() const { return false; }
  // Opens a secondary index of a table, building it when it is new. Each row has an entry, whose
  // key is the parts of its value one after the other and then the row's key, and which has no
  // value. The index is read like a table, and changes with its own; writing to it throws. Every
  // row must be long enough for all parts. No transaction may have written to the table on this
  // thread. Throws Error (kUsage) where the engine keeps none.
  virtual TableId OpenIndex(const std::string& index, TableId table,
                            const std::vector<IndexPart>& parts);

  // Writes out what is in memory only (memtables, dirty pages), without waiting for more.
  virtual void Flush() = 0;
  // Makes everything committed so far durable and bounds recovery.
  virtual void Checkpoint() = 0;
  // Brings the database to rest after writes: flushed, compactions done, checkpoint taken. Charged
  // by the caller; what the engine's threads do meanwhile is charged to their own kinds.
  virtual void Settle() = 0;

  // Changes the size of the cache while sessions work. False when the engine cannot. A smaller
  // cache begins almost empty: the blocks that would stay lie scattered over the pages of the
  // allocator, which keep all of their memory (30 MB of 256 seen). Only where Capabilities say so.
  virtual bool ResizeCache(uint64_t bytes) { return false; }

  // Settings as they are in force, by the engine's own names: what it was told and what it chose.
  virtual std::vector<std::pair<std::string, std::string>> EffectiveSettings() const = 0;
  virtual EngineCounters Counters() const = 0;
  virtual DiskSize SizeOnDisk() const = 0;
};

}  // namespace testbed

#endif  // TESTBED_ENGINES_ENGINE_H_
