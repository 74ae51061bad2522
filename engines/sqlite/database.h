// A Database is an open SQLite database: one connection that writes, which the sessions use in
// turn, and a connection for each session that reads. SQLite's manuals and its users recommend
// this: the cache of a connection is dropped whenever another connection has committed, so that
// only a single writer keeps its cache.
//
//   Database database(dir, settings);
//   Connection* reader = database.TakeReader();
//   Connection* writer = database.BeginWrite();     // waits for its turn
//   { Connection::Call call(writer); ... }
//   database.EndWrite(true);                        // after a commit; false after a rollback
//   database.GiveReader(reader);
//
// Tables: the table `name` of the interface is SQLite's table of the same name, with columns k (the
// key) and v. By Settings::table it has a rowid or none. Letters and characters other than a to z,
// 0 to 9 and _ are written as % and two hexadecimal digits, because SQLite's names do not tell "a"
// from "A".
//
// A Database is thread-safe. A connection may be used by one thread at a time.
#ifndef TESTBED_ENGINES_SQLITE_DATABASE_H_
#define TESTBED_ENGINES_SQLITE_DATABASE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "device/error.h"
#include "device/os/dir_lock.h"
#include "device/os/mutex.h"
#include "engines/engine.h"
#include "engines/sqlite/connection.h"
#include "engines/sqlite/settings.h"
#include "engines/sqlite/vfs.h"
#include "engines/sqlite/writer_turn.h"

namespace testbed::sqlite {

class Database {
 public:
  // Opens the database in `dir`, creating it when `dir` holds none and Settings::create is set.
  // Throws Error when it cannot; then no file of a new database is left.
  Database(const std::string& dir, const Settings& settings);
  // Empties the write-ahead log and makes all commits durable.
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  const std::string& dir() const { return dir_; }
  const Settings& settings() const { return settings_; }
  CacheShares& shares() { return shares_; }
  Vfs& vfs() { return *vfs_; }
  // Returns how many commits were made since the database was opened.
  uint64_t commits() const { return commits_.load(std::memory_order_relaxed); }
  // Returns the value of a PRAGMA on the connection that writes.
  std::string Pragma(const std::string& name);

  // Returns the table's id, and creates the table when it does not exist. Throws Error (kUsage) for
  // a name that SQLite cannot have, and Error (kRun) when a new table is opened while a session of
  // this thread has a write transaction open.
  TableId OpenTable(const std::string& table);
  uint32_t table_count() const { return table_count_.load(std::memory_order_acquire); }

  // Returns a connection for reading that nobody uses, and opens a new one when there is none. The
  // Database owns the connection; the caller returns it by GiveReader.
  Connection* TakeReader();
  void GiveReader(Connection* reader);

  // Waits for the turn to write and returns the connection for it. Throws Error (kRun) when a
  // session that this thread was the last to use has the turn, and the Error of a lazy sync that
  // has failed.
  Connection* BeginWrite();
  // Notes that the calling thread uses the session that has the turn.
  void UseTurn() { turn_.Use(); }
  // Passes the turn on. If `committed` is set and the commit has made the WAL long, begins a
  // checkpoint first.
  void EndWrite(bool committed);

  // Makes all commits durable and empties the write-ahead log, unless a cursor stands on a row.
  void Checkpoint();
  // Makes all commits durable. The thread of lazy durability calls it. After a failure, which may
  // be a lack of memory, each BeginWrite throws the error.
  void SyncLazily();

  Connection::Counts Counts();

 private:
  void Open();
  void ReadTables();
  // Sets the layout of the tables to that of the existing tables. Throws Error (kUsage) when the
  // settings ask for another layout.
  void TakeLayout(bool tables, bool rowid);
  void CheckHeader() const;
  // Makes the files of a database that was not closed in order agree with the device.
  void MakeFilesDurable() const;
  void SyncFiles() const;
  void CheckpointInCommit();
  // Takes a checkpoint of the write-ahead log in a mode of SQLite's (SQLITE_CHECKPOINT_...); all
  // modes but PASSIVE wait for readers, here for `wait_ms` at most. Returns SQLite's code. The
  // caller is in a Call of writer_.
  int TakeCheckpoint(int mode, uint32_t wait_ms);
  std::string NameOf(TableId table) const;

  const std::string dir_;
  Settings settings_;  // constant after Open, which sets the layout of the tables
  CacheShares shares_;
  DirLock lock_;
  std::unique_ptr<Vfs> vfs_;
  std::unique_ptr<Connection> writer_;
  WriterTurn turn_;
  // A commit takes the next checkpoint when the WAL has next_checkpoint_ pages, and the next one
  // that waits for readers when it has next_wait_ pages. log_pages_ is the number of its pages at
  // the last commit. Only the holder of the turn uses the three.
  uint64_t next_checkpoint_ = 0, next_wait_ = 0, log_pages_ = 0;
  std::atomic<uint64_t> commits_{0};

  mutable Mutex mutex_;  // locked after turn_ and after the mutex of a connection
  // names_ has the quoted SQL names of the opened tables, by TableId. all_ has the names of all
  // tables of the file.
  std::vector<std::string> names_ GUARDED_BY(mutex_);
  std::set<std::string> all_ GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Connection>> readers_ GUARDED_BY(mutex_);
  std::vector<Connection*> unused_ GUARDED_BY(mutex_);  // readers that no session uses
  std::optional<Error> sync_failure_ GUARDED_BY(mutex_);
  std::atomic<uint32_t> table_count_{0};
  std::atomic<bool> sync_failed_{false};
};

}  // namespace testbed::sqlite

#endif  // TESTBED_ENGINES_SQLITE_DATABASE_H_
