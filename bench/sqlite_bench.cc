// Benchmarks of SQLite's own interface, called directly with the settings of the engine sqlite and
// SQLite's own VFS for a database of one process, and through the engine: the difference is what
// the engine costs. (SQLite's VFS for several processes takes a third longer, by the system calls
// of its locks.)
//
//   sqlite_bench --benchmark_filter='Get|Put'
//
// Both sides have the rows, the keys and the sizes of engine_bench.cc: 100,000 rows of 16 + 100
// bytes, all of which are in the cache.
#ifdef TESTBED_HAVE_SQLITE

#include <benchmark/benchmark.h>
#include <sqlite3.h>
#include <stdlib.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "engines/engine.h"
#include "engines/registry.h"

namespace testbed {
namespace {

constexpr uint64_t kRows = 100000;
constexpr size_t kValueSize = 100;
constexpr uint64_t kCache = 256 << 20;
constexpr const char* kVfs = "unix-excl";
using Key = std::array<char, 16>;

Key MakeKey(uint64_t row) {
  Key key;
  key.fill('0');
  for (int i = 0; i < 8; ++i) key[i] = static_cast<char>(row >> (56 - 8 * i));
  return key;
}

std::string_view View(const Key& key) { return {key.data(), key.size()}; }

std::vector<Key> RandomKeys() {
  std::mt19937_64 random(301);
  std::vector<Key> keys(1 << 17);
  for (Key& key : keys) key = MakeKey(random() % kRows);
  return keys;
}

// A directory for one benchmark, removed after it.
class Directory {
 public:
  Directory() {
    std::string pattern = std::filesystem::current_path() / "sqlite_bench_XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  ~Directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// SQLite's library alone: one connection, and statements that are prepared once.
class Bare {
 public:
  Bare() {
    FindEngine("sqlite");  // sets the library up for the process
    Check(::sqlite3_open_v2((directory_.path() + "/db").c_str(), &db_,
                            SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                            kVfs));
    constexpr char kTable[] =
        "CREATE TABLE t(k BLOB NOT NULL PRIMARY KEY, v BLOB NOT NULL) WITHOUT ROWID";
    for (const char* sql :
         {"PRAGMA page_size=8192", "PRAGMA journal_mode=WAL", "PRAGMA synchronous=NORMAL",
          "PRAGMA secure_delete=OFF", "PRAGMA cache_size=-262144",
          "PRAGMA wal_autocheckpoint=100000", kTable}) {
      Check(::sqlite3_exec(db_, sql, nullptr, nullptr, nullptr));
    }
    get_ = Prepare("SELECT v FROM t WHERE k=?1");
    put_ = Prepare("REPLACE INTO t(k,v) VALUES(?1,?2)");
    begin_ = Prepare("BEGIN IMMEDIATE");
    commit_ = Prepare("COMMIT");
    const std::string value(kValueSize, 'v');
    Begin();
    for (uint64_t row = 0; row < kRows; ++row) Put(View(MakeKey(row)), value);
    Commit();
  }
  ~Bare() {
    for (sqlite3_stmt* stmt : {get_, put_, begin_, commit_}) ::sqlite3_finalize(stmt);
    ::sqlite3_close(db_);
  }
  void Begin() { Run(begin_); }
  void Commit() { Run(commit_); }
  void Put(std::string_view key, std::string_view value) {
    Bind(put_, 1, key);
    Bind(put_, 2, value);
    Run(put_);
  }
  uint64_t Get(std::string_view key) {
    Bind(get_, 1, key);
    if (::sqlite3_step(get_) != SQLITE_ROW) throw std::runtime_error("a row is missing");
    uint64_t word = 0;
    std::memcpy(&word, ::sqlite3_column_blob(get_, 0), sizeof word);
    word += static_cast<uint64_t>(::sqlite3_column_bytes(get_, 0));
    ::sqlite3_reset(get_);
    return word;
  }

 private:
  static void Check(int code) {
    if (code != SQLITE_OK) throw std::runtime_error(::sqlite3_errstr(code));
  }
  sqlite3_stmt* Prepare(const char* sql) {
    sqlite3_stmt* stmt = nullptr;
    Check(::sqlite3_prepare_v2(db_, sql, -1, &stmt, nullptr));
    return stmt;
  }
  static void Bind(sqlite3_stmt* stmt, int at, std::string_view bytes) {
    ::sqlite3_bind_blob(stmt, at, bytes.data(), static_cast<int>(bytes.size()), SQLITE_STATIC);
  }
  static void Run(sqlite3_stmt* stmt) {
    if (::sqlite3_step(stmt) != SQLITE_DONE) throw std::runtime_error("a statement failed");
    ::sqlite3_reset(stmt);
  }

  Directory directory_;
  sqlite3* db_ = nullptr;
  sqlite3_stmt *get_ = nullptr, *put_ = nullptr, *begin_ = nullptr, *commit_ = nullptr;
};

// SQLite through the Engine interface.
class ByEngine {
 public:
  ByEngine() {
    EngineOptions options = DefaultEngineOptions(FindEngine("sqlite"));
    options.cache_bytes = kCache;
    options.extra["checkpoint_log_bytes"] = "800M";
    engine_ = OpenEngine("sqlite", directory_.path(), options);
    table_ = engine_->OpenTable("t");
    session_ = engine_->NewSession();
    const std::string value(kValueSize, 'v');
    Begin();
    for (uint64_t row = 0; row < kRows; ++row) Put(View(MakeKey(row)), value);
    Commit();
  }
  void Begin() { session_->Begin(); }
  void Commit() { session_->Commit(); }
  void Put(std::string_view key, std::string_view value) { session_->Put(table_, key, value); }
  uint64_t Get(std::string_view key) {
    std::string_view value;
    if (!session_->Get(table_, key, &value)) throw std::runtime_error("a row is missing");
    uint64_t word = 0;
    std::memcpy(&word, value.data(), sizeof word);
    return word + value.size();
  }

 private:
  Directory directory_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Session> session_;
  TableId table_ = 0;
};

template <typename Database>
void Gets(benchmark::State& state) {
  Database database;
  const std::vector<Key> keys = RandomKeys();
  size_t i = 0;
  for ([[maybe_unused]] auto _ : state)
    benchmark::DoNotOptimize(database.Get(View(keys[i++ % keys.size()])));
  state.SetItemsProcessed(state.iterations());
}

template <typename Database>
void Puts(benchmark::State& state) {
  Database database;
  const std::vector<Key> keys = RandomKeys();
  const std::string value(kValueSize, 'w');
  const int64_t together = state.range(0);
  size_t i = 0;
  for ([[maybe_unused]] auto _ : state) {
    if (together > 1) database.Begin();
    for (int64_t row = 0; row < together; ++row) {
      database.Put(View(keys[i++ % keys.size()]), value);
    }
    if (together > 1) database.Commit();
  }
  state.SetItemsProcessed(state.iterations() * together);
}

BENCHMARK(Gets<Bare>)->Name("Get/library");
BENCHMARK(Gets<ByEngine>)->Name("Get/engine");
BENCHMARK(Puts<Bare>)->Name("Put/library")->Arg(1)->Arg(100);
BENCHMARK(Puts<ByEngine>)->Name("Put/engine")->Arg(1)->Arg(100);

}  // namespace
}  // namespace testbed

#endif  // TESTBED_HAVE_SQLITE
