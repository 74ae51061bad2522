// The engines in C: libraries testbed::c (all engines of the build, static) and
// libtestbed_engine.so.
//
//   testbed_engine* engine;
//   const char* options[] = {"cache_bytes=268435456", "durability=sync", NULL};
//   if (testbed_open("btree", "/var/lib/my-program", options, &engine) != TESTBED_OK) {
//     fprintf(stderr, "%s\n", testbed_error());
//     exit(1);
//   }
//   testbed_table people;
//   testbed_session* session;
//   testbed_open_table(engine, "people", &people);
//   testbed_session_open(engine, &session);
//   testbed_put(session, people, "ada", 3, "1815", 4);
//   testbed_session_close(session);
//   testbed_close(engine);
//
// Errors. Each call returns a status. After every status but TESTBED_OK and TESTBED_NOT_FOUND
// testbed_error() returns one sentence that says what is wrong and what to do. No call throws, ends
// the process or installs a signal handler, but that the first opening of a database of pebble
// loads the runtime of Go, which has handlers of its own, and that the first one of mysql has
// SIGPIPE ignored where the program has its default. A sentence may name an option as the command
// line does: --page-size is page_size here.
//
// Ownership. A handle that a call returns through a pointer to a pointer belongs to the caller, who
// closes it: cursors before their session, sessions before their engine. A close in another order
// returns TESTBED_USAGE and changes nothing; after a close with any other status, an error too, the
// handle is gone. Bytes that a call returns belong to the library; the call says how long they stay
// valid. Bytes that are passed in are copied before the call returns; they may be bytes that the
// last call on the session or cursor returned. A null handle or a null place for a result is
// TESTBED_USAGE, but a close of null does nothing.
//
// Threads. Many threads may use an engine at once. Only one thread at a time may use a session and
// its cursors, so each thread opens a session of its own. testbed_error() is the calling thread's.
// A thread that is cancelled (pthread_cancel) ends after its call, and not within it. With btree
// all calls may be made until the process ends, also by a function of atexit(3). A child that is
// forked while a database is open must not use its handles; with btree a close of the database
// returns TESTBED_FAILED there (TESTBED_USAGE when it has sessions, or a thread was in a call on it
// at the fork) and leaves it to the parent.
// With lmdb and mdbx a transaction that has written must end, and its session be closed, on the
// thread of its first write: their lock is that thread's. On another thread put, erase, commit and
// rollback return TESTBED_FAILED and change nothing: the transaction stays open, and the thread of
// its first write can go on with it, commit it or roll it back. A close of its session on another
// thread returns TESTBED_FAILED, after which writes may wait until the first thread has ended.
// postgres and mysql start a server, which ends with the thread that opened the engine: open them
// in a thread that outlives their use.
//
// Keys compare as unsigned bytes. Keys and values may hold any bytes, zeros too.
#ifndef TESTBED_ENGINE_C_H_
#define TESTBED_ENGINE_C_H_

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define TESTBED_EXPORT __attribute__((visibility("default")))
#else
#define TESTBED_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct testbed_engine testbed_engine;
typedef struct testbed_session testbed_session;
typedef struct testbed_cursor testbed_cursor;
typedef uint32_t testbed_table;

typedef enum testbed_status {
  TESTBED_OK = 0,
  TESTBED_NOT_FOUND = 1,   // no row has the key, or the scan has ended
  TESTBED_USAGE = 2,       // an option or an argument is wrong; nothing was created or changed
  TESTBED_IO = 3,          // the operating system refused or failed; testbed_error_number()
  TESTBED_CORRUPTION = 4,  // bytes on disk differ from those that were written
  TESTBED_FAILED = 5       // anything else; there is no memory, for example
} testbed_status;

// Returns the sentence of the last error of the calling thread, which stays valid until the
// thread's next error. Never null; empty before the first error.
TESTBED_EXPORT const char* testbed_error(void);
// Returns the errno of the same error; 0 when it has none.
TESTBED_EXPORT int testbed_error_number(void);
// Returns the library's release: "0.1.0".
TESTBED_EXPORT const char* testbed_version(void);
// Returns the name of the i-th engine of this library, counted from 0. Returns null after the last
// one, and when there is no memory.
TESTBED_EXPORT const char* testbed_engine_name(size_t i);

// Opens the database in `dir` and creates it when there is none. A relative `dir` is looked up in
// the working directory of this call alone. `options` is null, or a list of "name=value" that ends
// with null:
//   create=0              does not create a database
//   io=direct|buffered|mmap
//   page_size=BYTES  cache_bytes=BYTES  ram_bytes=BYTES
//   durability=sync|lazy|none  lazy_interval_ms=N
//   compression=NAME
// and the engine's own options by their names (`testbed list`). What is not given is create=1,
// io=buffered, page_size=8192, cache_bytes=67108864, ram_bytes=0 (not bounded), durability=lazy,
// lazy_interval_ms=100 and compression=none. An engine that lacks such a value has the nearest page
// size, and of io and durability the first that `testbed list` names. So a crash may lose commits
// of the last 100 ms, and with an engine that has only durability=none those since the last
// checkpoint: give durability=sync where that must not be.
// An engine that cannot honour an option refuses to open. But cache_bytes has no effect with lmdb,
// mdbx and mmapv1, which have no cache of their own: their pages are in the page cache.
TESTBED_EXPORT testbed_status testbed_open(const char* engine, const char* dir,
                                           const char* const* options, testbed_engine** opened);
// Rewrites the database in `dir`, which is not open, so that its files are as long as its rows
// need: space of rows that were erased goes back to the file system. It takes space for a second
// database meanwhile, and cache_bytes twice. `options` are those of testbed_open; create makes no
// difference. Give the compression that the database is opened with: without it the new one has no
// compressed pages. A crash or an error leaves the old or the new database, with all rows, and an
// opening ends what had begun. TESTBED_USAGE says that there is no database or that it is open, or
// that the engine cannot do it (only btree can).
TESTBED_EXPORT testbed_status testbed_compact(const char* engine, const char* dir,
                                              const char* const* options);
// Takes a checkpoint and closes the database; every committed transaction is durable then. An error
// other than TESTBED_USAGE says that the checkpoint failed: the database is closed all the same,
// and commits that were not durable yet may be lost (with durability=sync there are none).
// TESTBED_USAGE says that sessions are open, or that another thread is in a call on the database,
// such as testbed_backup.
TESTBED_EXPORT testbed_status testbed_close(testbed_engine* engine);
// Opens the table, and creates it when it does not exist. Tables are never closed.
TESTBED_EXPORT testbed_status testbed_open_table(testbed_engine* engine, const char* name,
                                                 testbed_table* table);
// Makes every committed transaction durable, and shortens the log that a recovery replays.
TESTBED_EXPORT testbed_status testbed_checkpoint(testbed_engine* engine);

// Makes a durable copy of the database in the directory `dir`, which is new or empty, while other
// threads use their sessions. The copy is the database as it was at one moment during the call: it
// has every transaction that was committed before the call, and no part of a transaction. It is
// opened like any other database. A relative `dir` is looked up in the working directory of this
// call alone.
// TESTBED_USAGE says that `dir` is not empty or lies in the database's own directory, or that the
// engine makes no backups (only btree does). After an error `dir` is as it was before, and so are
// the directories above it.
TESTBED_EXPORT testbed_status testbed_backup(testbed_engine* engine, const char* dir);

// Calls `take` once for each setting in force, under the engine's own names: those that the program
// gave, and those that the engine chose. `to` is handed on as it is. The texts stay valid until
// `take` returns, which it does in the ordinary way (no exception, no longjmp).
typedef void (*testbed_take_setting)(void* to, const char* name, const char* value);
TESTBED_EXPORT testbed_status testbed_settings(testbed_engine* engine, testbed_take_setting take,
                                               void* to);
// Calls `take` once for each figure that the engine counts about itself. With is_total=1 it is a
// total since the opening, of all sessions: block_requests and block_hits of the cache, block_reads
// and block_read_bytes, blocks_written and block_write_bytes, log_payload_bytes, log_written_bytes
// (padding included), and totals under the engine's own names. With is_total=0 it is a value as it
// is now: cache_bytes, which the cache holds, and values under the engine's own names. A figure
// that the engine does not count is left out. The rest is as with testbed_settings.
typedef void (*testbed_take_counter)(void* to, const char* name, uint64_t value, int is_total);
TESTBED_EXPORT testbed_status testbed_counters(testbed_engine* engine, testbed_take_counter take,
                                               void* to);

TESTBED_EXPORT testbed_status testbed_session_open(testbed_engine* engine,
                                                   testbed_session** opened);
// Rolls an open transaction back and closes the session. Returns TESTBED_USAGE when cursors are
// open.
TESTBED_EXPORT testbed_status testbed_session_close(testbed_session* session);
// begin opens a transaction; commit and rollback end it, even when they return an error, unless
// another thread holds it ("Threads" above). A write outside begin and commit is a transaction of
// its own. commit returns when the transaction is as durable as the option durability demands.
// begin inside a transaction, and commit or rollback outside one, return TESTBED_USAGE.
TESTBED_EXPORT testbed_status testbed_begin(testbed_session* session);
TESTBED_EXPORT testbed_status testbed_commit(testbed_session* session);
TESTBED_EXPORT testbed_status testbed_rollback(testbed_session* session);

// Looks the key up. The value stays valid until the next call on the session, and until a cursor of
// it is positioned (seek, seek_last). TESTBED_NOT_FOUND leaves *value unchanged.
TESTBED_EXPORT testbed_status testbed_get(testbed_session* session, testbed_table table,
                                          const char* key, size_t key_size, const char** value,
                                          size_t* value_size);
// Inserts the row, or replaces its value.
TESTBED_EXPORT testbed_status testbed_put(testbed_session* session, testbed_table table,
                                          const char* key, size_t key_size, const char* value,
                                          size_t value_size);
// Erases the row. Erasing an absent row is not an error.
TESTBED_EXPORT testbed_status testbed_erase(testbed_session* session, testbed_table table,
                                            const char* key, size_t key_size);

// Opens a cursor for scans of the table. seek goes to the first row whose key is not below `key`,
// where an empty key is the table's beginning, and seek_last to the last row; next and prev go on
// from there. All four return TESTBED_NOT_FOUND when there is no such row; the cursor then stands
// on no row, and next and prev return TESTBED_USAGE until it is positioned anew.
TESTBED_EXPORT testbed_status testbed_cursor_open(testbed_session* session, testbed_table table,
                                                  testbed_cursor** opened);
TESTBED_EXPORT testbed_status testbed_cursor_close(testbed_cursor* cursor);
TESTBED_EXPORT testbed_status testbed_cursor_seek(testbed_cursor* cursor, const char* key,
                                                  size_t key_size);
TESTBED_EXPORT testbed_status testbed_cursor_seek_last(testbed_cursor* cursor);
TESTBED_EXPORT testbed_status testbed_cursor_next(testbed_cursor* cursor);
TESTBED_EXPORT testbed_status testbed_cursor_prev(testbed_cursor* cursor);
// Returns the row that the cursor stands on. Returns TESTBED_USAGE when it stands on none, or the
// session has written since the cursor moved (put, erase, commit, rollback): move it to the row
// again. The bytes stay valid until the next call on the cursor or the next write on its session.
TESTBED_EXPORT testbed_status testbed_cursor_row(testbed_cursor* cursor, const char** key,
                                                 size_t* key_size, const char** value,
                                                 size_t* value_size);

#ifdef __cplusplus
}
#endif

#endif  // TESTBED_ENGINE_C_H_
