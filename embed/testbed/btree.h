// The page-based b-tree as a library, target testbed::btree: ordered tables in one directory,
// transactions, a write-ahead log and recovery.
//
//   EngineOptions options;
//   options.cache_bytes = 256ull << 20;
//   options.durability = Durability::kSync;
//   std::unique_ptr<Engine> engine = OpenBtree("/var/lib/my-program", options);
//   const TableId table = engine->OpenTable("people");
//   std::unique_ptr<Session> session = engine->NewSession();  // one for each thread
//   session->Put(table, "ada", "1815");
//   std::string_view value;
//   if (session->Get(table, "ada", &value)) Use(value);
//
// Public here: OpenBtree, CompactBtree, BtreeEngineInfo, EngineInfo, Capabilities, EngineOptions,
// Durability, IoMode, Advice, Engine, Session, Cursor, ReadQueue, TableId, FoundRow, TakeRow,
// EngineCounters, DiskSize, InspectOptions, Inspection, Error and LostAnswer, with their public
// members as engines/engine.h, engines/registry.h, engines/inspect.h, engines/disk_size.h,
// device/file/file.h and device/error.h describe them. All of them are in namespace testbed.
// docs/embedding.md says what the engine promises to a program that embeds it.
#ifndef TESTBED_BTREE_H_
#define TESTBED_BTREE_H_

// The macros of the headers below stay within this one (device/os/mutex.h).
#define TESTBED_MARKS_BEGIN
#include "device/os/mutex.h"
#undef TESTBED_MARKS_BEGIN

#include "device/error.h"
#include "engines/btree/btree_engine.h"
#include "engines/engine.h"

#define TESTBED_MARKS_END
#include "device/os/mutex.h"
#undef TESTBED_MARKS_END

#endif  // TESTBED_BTREE_H_
