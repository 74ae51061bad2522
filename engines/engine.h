// This header has the interface that each storage engine implements: ordered tables, sessions and
// transactions.
//
// The harness opens one Engine per run. Each thread works through a Session of its own; tables are
// named ordered key spaces (keys compare as unsigned bytes); a transaction may span tables.
//
//   std::unique_ptr<Engine> engine = OpenEngine("btree", dir, options);   // engines/registry.h
//   const TableId table = engine->OpenTable("default");
//   std::unique_ptr<Session> session = engine->NewSession();
//   session->Begin();
//   session->Put(table, "a key", "its value");
//   session->Commit();
//   std::string_view value;
//   if (session->Get(table, "a key", &value)) Use(value);
//
// Every method reports a failure by throwing Error (device/error.h); that a key is absent is a
// return value. An engine states in Capabilities what it cannot do. An engine that cannot honour an
// option throws Error (kUsage) when it is opened; it never ignores the option. The exceptions are
// the sizes of what it does not have: cache_bytes without a cache of its own, and page_size without
// pages. The command refuses --cache-size for such an engine.
#ifndef TESTBED_ENGINES_ENGINE_H_
#define TESTBED_ENGINES_ENGINE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/error.h"
#include "device/file/file.h"
#include "engines/disk_size.h"

namespace testbed {

// Durability says when a commit survives a crash of the machine. kSync: from the return of Commit.
// kLazy: at most EngineOptions::lazy_interval_ms later. kNone: the engine promises nothing.
enum class Durability : uint8_t { kSync, kLazy, kNone };
const char* DurabilityName(Durability durability);  // "sync", "lazy", "none"

struct EngineOptions {
  bool create = true;  // create the database when the directory holds none
  // If true, the engine may drop a database that a server holds for another directory under the
  // name that this one needs (--fresh). If false, such a database is an error.
  bool replace = false;
  IoMode io = IoMode::kBuffered;
  Advice file_advice = Advice::kNormal;  // what the kernel is told about buffered data files
  Advice mmap_advice = Advice::kNormal;  // what the kernel is told about mapped data files
  uint32_t page_size = 8192;             // page of a b-tree, block of a sorted run; bytes
  uint64_t cache_bytes = 64ull << 20;    // size of the engine's own cache, if it has one
  uint64_t most_cache_bytes = 0;  // largest size for ResizeCache; 0 = ResizeCache is not called
  // This is the memory budget of the whole run in bytes. Engines derive from it the sizes of their
  // other buffers and the distance between checkpoints; 0 = not bounded.
  uint64_t ram_bytes = 0;
  Durability durability = Durability::kLazy;
  uint32_t lazy_interval_ms = 100;   // with kLazy at least 1
  std::string compression = "none";  // a name from Capabilities::compressions
  // These are the settings that only this engine has, under its own names: --engine-option
  // name=value.
  std::map<std::string, std::string> extra;
  // For a setting that the user gave by another option than --engine-option, this has the beginning
  // of that option: {"server", "--server "}. Only the sentences of CheckEngineOptions depend on it.
  std::map<std::string, std::string> given_as;
  // If not empty, the engine is a guest: it opens the database of a given server that another
  // process of the run has open, whose schema has this id (SchemaIdIn, elsewhere.h). A guest
  // neither makes nor locks the schema.
  std::string guest_of = {};
};

// Capabilities is what an engine supports. `testbed list` prints it, and the harness checks the
// options of a run against it.
struct Capabilities {
  std::vector<IoMode> io_modes;
  std::vector<Durability> durabilities;
  std::vector<std::string> compressions;
  uint32_t min_page_size = 0, max_page_size = 0;  // powers of two between; 0 = has no page size
  size_t max_key_size = 0;                        // bytes, at the smallest page size
  size_t max_value_size = 0;                      // bytes, at the smallest page size
  bool persistent = true;                         // keeps rows after it is closed
  bool reads = true;             // can read rows back; if false, only workloads that load can run
  bool transactions = true;      // transactions span tables and can be rolled back
  bool scans = true;             // cursors find the rows
  bool cache = true;             // has a cache of its own, of EngineOptions::cache_bytes
  bool resizable_cache = false;  // Engine::ResizeCache works while sessions are in use
  uint64_t min_cache_bytes = 0;  // smallest cache that the engine works with, at 8k pages
  // If true, the cache has a power of two bytes: the engine rounds a size down (CacheInForce of
  // databases.h).
  bool cache_of_power_of_two = false;
  // This is the largest share of the memory budget that the cache may be given, in percent. The
  // rest is for the memory that the engine's allocator takes in addition to the cache.
  double most_cache_pct = 90;

  std::vector<Advice> mmap_advices = {Advice::kNormal, Advice::kRandom, Advice::kSequential,
                                      Advice::kWillNeed};
  bool indexes = false;          // Engine::OpenIndex works: the engine maintains secondary indexes
  bool reads_in_flight = false;  // Session::NewReadQueue works with direct and buffered IO
  bool backup = false;           // Engine::Backup works while sessions are in use
  bool server = false;           // its work is done by a database server, in other processes
  bool file_layer = true;        // does its IO through device/file/file.h, which counts it
  bool longer_values = false;    // takes values above max_value_size where pages are larger
  bool checksums = true;  // reports a changed byte in its files instead of returning a wrong row
  // These are the names of threads that the engine's library or server starts. The kernel account
  // knows such threads by their names alone (RegisterThreads, device/account/thread_kinds.h).
  std::vector<std::string> thread_names;

  // These are the names and one-line meanings of the extra options.
  std::vector<std::pair<std::string, std::string>> extra_options;
};

using TableId = uint32_t;

// IndexPart selects the bytes of a row's value by which a secondary index is ordered.
struct IndexPart {
  uint32_t offset = 0, length = 0;
};

// EngineCounters holds what an engine counts about itself: totals of all threads since the engine
// was opened. A block is the engine's unit of caching: a page, a data block. A field that the
// engine cannot count stays empty.
struct EngineCounters {
  std::optional<uint64_t> block_requests;  // blocks asked of the cache
  std::optional<uint64_t> block_hits;      // blocks found in the cache
  std::optional<uint64_t> block_reads;     // blocks read through the file layer
  std::optional<uint64_t> block_read_bytes;
  std::optional<uint64_t> blocks_written;
  std::optional<uint64_t> block_write_bytes;
  std::optional<uint64_t> log_payload_bytes;  // log bytes that carry records
  std::optional<uint64_t> log_written_bytes;  // log bytes written, padding and rewrites included
  std::optional<uint64_t> cache_bytes;        // bytes held by the cache now
  std::vector<std::pair<std::string, uint64_t>> more;  // counters under the engine's own names
  // These are values that rise and fall, such as the number of dirty pages, as they are now. They
  // have the engine's own names.
  std::vector<std::pair<std::string, uint64_t>> now;
  // If true, another address led to the same server, whose counters SumOfCounters has counted
  // there.
  bool repeated = false;

  // Adds the counters of another database or server. A field that both leave empty stays empty.
  EngineCounters& operator+=(const EngineCounters& other);
};
// Returns the sum of the counters of several servers, of which each is counted once. When the
// counters of one of them are not known, the sum is not known either, and its fields stay empty.
EngineCounters SumOfCounters(const std::vector<std::optional<EngineCounters>>& parts);

// A ServerAddress is one of several addresses of an engine's server (Engine::NewClientSession).
struct ServerAddress {
  std::string name;
  std::string lost;  // why clients have left this address; empty when they have not
};

// A call of a session throws LostAnswer when the session lost its server before the server had
// answered. The session goes on at another server. Nobody knows whether a write or a commit without
// an answer was performed. A transaction that was open is over.
class LostAnswer : public Error {
 public:
  explicit LostAnswer(const Error& lost) : Error(lost) {}
};

// A Cursor walks the rows of one table in key order. It sees the uncommitted writes of its own
// session, unless the engine's documentation says otherwise. Not thread-safe: only the thread of
// its session may use it.
class Cursor {
 public:
  virtual ~Cursor() = default;
  // Tells how many rows the caller will ask for from the next positioning on, that row included. It
  // is a hint, with which an engine may fetch all of them at once, as for a statement with a LIMIT;
  // the cursor may go on beyond them. Without it the length of the walk is not known.
  virtual void Expect(uint64_t rows) {}
  // Each of these six positions the cursor and returns whether it stands on a row. `key` may be
  // bytes that the cursor's own row has: its key or its value.
  virtual bool Seek(std::string_view key) = 0;         // first row with key >= `key`
  virtual bool SeekForPrev(std::string_view key) = 0;  // last row with key <= `key`
  virtual bool First() = 0;
  virtual bool Last() = 0;
  virtual bool Next() = 0;
  virtual bool Prev() = 0;
  // key and value return the row that the cursor stands on. The bytes stay valid until the next
  // call on the cursor or the next write on its session. After a write on its session (Put, Erase,
  // Commit, Rollback) neither may be called until the cursor has moved.
  virtual std::string_view key() const = 0;
  virtual std::string_view value() const = 0;
};

// A ReadQueue lets one thread keep many point reads in flight. Each read occupies a slot, a number
// below the queue's depth: Start begins a read in a slot, Finish returns a slot whose read has
// ended, and then the slot can be started again.
//
// Not thread-safe: only the thread that made the queue may use it. Its session must not be used
// while reads are in flight. The caller must finish soon the reads that it has started, because
// other threads may wait for pages that a read in flight has latched.
class ReadQueue {
 public:
  virtual ~ReadQueue() = default;
  // Starts looking `key` up in `table`. The bytes of `key` must stay valid until Finish has
  // returned `slot`. The read's IO is charged to `task`, unless `task` is null.
  virtual void Start(uint32_t slot, TableId table, std::string_view key, IoTask* task) = 0;
  // Waits until a read has ended and returns its slot. At least one read must have been started.
  // *value stays valid until the slot is started again.
  virtual uint32_t Finish(bool* found, std::string_view* value) = 0;
  // These functions are for a thread that has queues in several databases. EndReads waits until no
  // read of the queue latches a page; the slots stay started. The queue calls `before_waiting`
  // before its thread waits for a page that another thread may have latched. The thread then ends
  // the reads of its other queues, since the other thread may wait for a page of theirs.
  virtual void EndReads() {}
  virtual void SetBeforeWaiting(std::function<void()> before_waiting) {}
};

// A FoundRow is the result of MultiGet for one key.
struct FoundRow {
  bool found = false;
  std::string_view value;
};

// A TakeRow is what the caller of Session::TakeEach does with the result for its i-th key.
using TakeRow = std::function<void(size_t i, const FoundRow& row)>;

// A Session is one thread's connection to the engine. Not thread-safe: only one thread may use it.
// A write outside Begin and Commit is a transaction of its own. The keys and the value of a call
// may be bytes that the last call of the session, or of a cursor of it, has returned.
class Session {
 public:
  virtual ~Session() = default;
  // Begin throws Error inside a transaction; Commit and Rollback throw Error outside a transaction.
  // Commit returns when the transaction is as durable as EngineOptions::durability demands. It ends
  // the transaction even when it throws, unless HeldByOtherThread returns true.
  // A transaction in which a write has failed commits nothing, and its Commit says so: it throws
  // Error (kRun), as each later write of the transaction does (engines/failed_before.h). A write
  // that is refused for what it was given (a key or a value that is too long, a table that is not
  // open) has not failed: it changes nothing, and the transaction goes on without it.
  virtual void Begin() = 0;
  virtual void Commit() = 0;
  virtual void Rollback() = 0;
  // Returns whether the session's transaction holds a lock of another thread than the calling one.
  // With lmdb and mdbx a transaction holds such a lock, that of the thread of its first write, from
  // this write to its end. On any other thread each write of the session, Commit and Rollback throw
  // Error (kRun) and change nothing: the transaction stays open, and the thread that wrote first
  // can go on with it and end it. The session must be destroyed on that thread, too.
  virtual bool HeldByOtherThread() const { return false; }
  // Returns whether `table` has the key. If so, *value is the row's value, which stays valid until
  // the next call on the session, and until a cursor of it is positioned.
  virtual bool Get(TableId table, std::string_view key, std::string_view* value) = 0;
  // Looks several keys up: (*rows)[i] is the result for keys[i]. The values stay valid until the
  // next call on the session. This default calls Get for each key in turn and copies the values. An
  // engine that can look several keys up at once overrides it, and TakeEach with it.
  virtual void MultiGet(TableId table, std::span<const std::string_view> keys,
                        std::vector<FoundRow>* rows);
  // Looks the keys up as MultiGet does, and calls `take` once for each key, in their order. A value
  // stays valid only during its call, which must not use the session. So this default, which calls
  // Get for each key in turn, need not copy the values, as MultiGet must.
  virtual void TakeEach(TableId table, std::span<const std::string_view> keys, const TakeRow& take);
  // Inserts the row, or replaces its value.
  virtual void Put(TableId table, std::string_view key, std::string_view value) = 0;
  // Erases the row. Erasing an absent row is not an error.
  virtual void Erase(TableId table, std::string_view key) = 0;
  // Returns a cursor over `table`. Destroy it before the session.
  virtual std::unique_ptr<Cursor> NewCursor(TableId table) = 0;
  // Returns a queue of `depth` slots; null when the engine cannot have reads in flight, or cannot
  // with the IO mode it was opened with. Destroy the queue before the session.
  virtual std::unique_ptr<ReadQueue> NewReadQueue(uint32_t depth) { return nullptr; }
  // Sets *requests to the number of blocks that this session and its cursors have asked the
  // engine's cache for, and *misses to the number of those that the cache did not hold. Both only
  // grow. An engine that counts only misses sets *requests to 0. Returns false, and sets nothing,
  // when the engine does not count per session.
  virtual bool BlockCounts(uint64_t* requests, uint64_t* misses) { return false; }

 protected:
  // Implements TakeEach for an engine whose MultiGet looks up all keys at once: calls MultiGet, and
  // then `take` for each row.
  void TakeEachOfMultiGet(TableId table, std::span<const std::string_view> keys,
                          const TakeRow& take);
  // Returns whether `a` and `b` share a byte of memory.
  static bool Overlap(std::string_view a, std::string_view b);
  // Returns the key or value `bytes` of a call in memory that the call does not change. If `bytes`
  // lie in `lent`, whose memory the call replaces, copies them to *copy.
  static std::string_view Apart(std::string_view bytes, std::string_view lent, std::string* copy);

 private:
  // copies_ has the values that the default MultiGet returns. before_ has those of the call before,
  // because the keys of a call may be among them.
  std::vector<std::string> copies_, before_;
  std::vector<FoundRow> taken_;  // the rows of TakeEachOfMultiGet
};

// Throws Error (kUsage), whose sentence `engine` begins, when the `size` of a value is more than
// `longest` bytes. An engine's Put calls it before it touches its library or its transaction: a
// library may answer such a value with a crash, or with an error after which no transaction can go
// on.
inline void CheckValueSize(const char* engine, size_t size, size_t longest) {
  if (size <= longest) return;
  throw Error(Error::kUsage, std::string(engine) + " takes values of up to " +
                                 std::to_string(longest) + " bytes, not of " +
                                 std::to_string(size));
}

// Does the same for the `size` of a key.
inline void CheckKeySize(const char* engine, size_t size, size_t longest) {
  if (size <= longest) return;
  throw Error(Error::kUsage, std::string(engine) + " takes keys of up to " +
                                 std::to_string(longest) + " bytes, not of " +
                                 std::to_string(size));
}

inline void Session::MultiGet(TableId table, std::span<const std::string_view> keys,
                              std::vector<FoundRow>* rows) {
  rows->resize(keys.size());
  std::swap(copies_, before_);
  if (copies_.size() < keys.size()) copies_.resize(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    FoundRow& row = (*rows)[i];
    row = {};
    row.found = Get(table, keys[i], &row.value);
    if (row.found) row.value = copies_[i].assign(row.value);
  }
}

inline void Session::TakeEach(TableId table, std::span<const std::string_view> keys,
                              const TakeRow& take) {
  for (size_t i = 0; i < keys.size(); ++i) {
    FoundRow row;
    row.found = Get(table, keys[i], &row.value);
    take(i, row);
  }
}

inline void Session::TakeEachOfMultiGet(TableId table, std::span<const std::string_view> keys,
                                        const TakeRow& take) {
  MultiGet(table, keys, &taken_);
  for (size_t i = 0; i < keys.size(); ++i) take(i, taken_[i]);
}

inline bool Session::Overlap(std::string_view a, std::string_view b) {
  const std::less<const char*> before;
  return !a.empty() && !b.empty() && before(a.data(), b.data() + b.size()) &&
         before(b.data(), a.data() + a.size());
}

inline std::string_view Session::Apart(std::string_view bytes, std::string_view lent,
                                       std::string* copy) {
  if (!Overlap(bytes, lent)) return bytes;
  return copy->assign(bytes);
}

// An Engine is an open database. Thread-safe. Destroy its sessions and cursors first. The
// destructor closes the database cleanly: every committed transaction is durable after it, unless
// durability is kNone and the engine has no checkpoint. It cannot report an error; a caller that
// must know of errors calls Checkpoint first.
class Engine {
 public:
  virtual ~Engine() = default;
  virtual std::string name() const = 0;
  // Opens the table, creating it when it does not exist. Call it before a session uses the table.
  virtual TableId OpenTable(const std::string& table) = 0;
  virtual std::unique_ptr<Session> NewSession() = 0;
  // Returns a session for a client thread, counted from 0, of a phase that does not load. An engine
  // whose server has several addresses connects the clients to them in turn, and all sessions of
  // NewSession to the first; for other engines there is no difference.
  virtual std::unique_ptr<Session> NewClientSession(int client) { return NewSession(); }
  // Returns the addresses of the server in their order; none when all sessions go to one address.
  // Client c is connected to the address with the number c modulo their number. Asks no server.
  virtual std::vector<ServerAddress> ServerAddresses() const { return {}; }
  // Returns whether a client whose call threw LostAnswer may go on, at another of these addresses.
  virtual bool OutlivesLostAddress() const { return !ServerAddresses().empty(); }
  // Returns the counters of the server at each of these addresses, with nullopt for one that is
  // lost. An empty list means that only Counters is available.
  virtual std::vector<std::optional<EngineCounters>> CountersByAddress() const { return {}; }

  // Returns whether the engine maintains secondary indexes itself (Capabilities::indexes). Without
  // them, a workload keeps an index as a table whose entries it writes itself.
  virtual bool KeepsIndexes() const { return false; }
  // Opens a secondary index of `table`, building it when it does not exist. For each row of `table`
  // the index has an entry with an empty value, whose key is the parts of the row's value, one
  // after the other, followed by the row's key. The index is read like a table. The engine changes
  // it in the transaction that changes `table`; a write to the index itself throws. Every value
  // must be long enough for all parts. The calling thread must have no open transaction that has
  // written to `table`. Throws Error (kUsage) when the engine does not maintain indexes.
  virtual TableId OpenIndex(const std::string& index, TableId table,
                            const std::vector<IndexPart>& parts);

  // Writes out the data that is only in memory (memtables, dirty pages); does not wait for the
  // compactions that this causes.
  virtual void Flush() = 0;
  // Makes every committed transaction durable and bounds the log that a recovery replays.
  virtual void Checkpoint() = 0;
  // Brings the database to rest after writes: returns when dirty data is flushed, compactions are
  // done and a checkpoint is taken. The caller opens the IoScope for it; the IO of the engine's
  // background threads is charged to their own kinds of operation.
  virtual void Settle() = 0;

  // Changes the size of the cache while sessions are in use. Returns false, and leaves the size as
  // it is, when the engine cannot (Capabilities::resizable_cache) or refuses this size. Throws
  // Error when blocks that must leave a smaller cache are in use or cannot be written; btree keeps
  // the old size then, and another engine may have the new one. A cache that is made smaller starts
  // almost empty: the blocks that it could keep lie scattered over the allocator's pages, and each
  // such page keeps its memory (30 MB of 256 were seen to stay).
  virtual bool ResizeCache(uint64_t bytes) { return false; }

  // Makes a durable copy of the database in the directory `dir`, which is new or empty, while
  // sessions are in use. The copy is the database as it was at one moment during the call: it has
  // every transaction that was committed before the call, and no part of a transaction. It is a
  // database to be opened like any other, with the same page size. Throws Error: kUsage when `dir`
  // is not empty or lies in the database's own directory, and when the engine cannot
  // (Capabilities::backup); kIo and kCorruption when a file cannot be read or written. After an
  // error `dir` is as it was before, and so are the directories above it.
  virtual void Backup(const std::string& dir);

  // Returns the settings in force under the engine's own names: those that the user gave, and those
  // that the engine chose.
  virtual std::vector<std::pair<std::string, std::string>> EffectiveSettings() const = 0;
  virtual EngineCounters Counters() const = 0;
  virtual DiskSize SizeOnDisk() const = 0;
};

}  // namespace testbed

#endif  // TESTBED_ENGINES_ENGINE_H_
