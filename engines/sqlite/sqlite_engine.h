// The sqlite engine implements Engine with SQLite: each table of the interface is a table of
// SQLite, with or without a rowid (--engine-option table). docs/engines/sqlite.md describes the
// engine for users.
//
// Durability with the write-ahead log: with sync, each commit syncs the log. With lazy, the
// engine's thread syncs it within lazy_interval_ms. With none nothing is synced, and a power cut
// can destroy the database. With a rollback journal lazy is the same as sync, because a commit of
// SQLite with a journal is not atomic until it is durable.
//
// Threads: the engine has no thread but that of lazy durability. A commit that finds the log long
// begins a checkpoint on its own thread; the IO is charged to checkpoint.
#ifndef TESTBED_ENGINES_SQLITE_SQLITE_ENGINE_H_
#define TESTBED_ENGINES_SQLITE_SQLITE_ENGINE_H_

#include "engines/registry.h"

namespace testbed {

EngineInfo SqliteEngineInfo();

}  // namespace testbed

#endif  // TESTBED_ENGINES_SQLITE_SQLITE_ENGINE_H_
