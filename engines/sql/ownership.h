// Tells which database of a server belongs to which directory. A server may hold databases that are
// not testbed's, and databases of testbed that belong to other directories; neither is touched.
//
// A schema of testbed has a marker table with an id, and with the host and the directory to which
// the schema belongs. The directory has a record, a file with the same id. An engine that has the
// schema open holds a lock of the server in the schema's name, which it takes before it reads the
// marker for the last time and keeps to its end. So no run takes the schema of a living run, even
// if it cannot see that run's directory, which may be in another mount namespace.
//
//   SchemaOwner owner{.engine = "mysql", .kind = "database", .schema = schema, .dir = dir};
//   if (owner.Take(find, try_lock)) MakeSchema();
#ifndef TESTBED_ENGINES_SQL_OWNERSHIP_H_
#define TESTBED_ENGINES_SQL_OWNERSHIP_H_

#include <functional>
#include <optional>
#include <string>

#include "device/os/dir_lock.h"

namespace testbed {

// This is the name of the marker table in each schema of testbed. It must not change, because
// databases of earlier releases are known by it.
inline constexpr char kSchemaMarkerTable[] = "testbed_marker";

struct SchemaMarker {
  std::string id, host, directory;  // all empty while the marker table has no row
};

// A FoundSchema is what a server has under the schema's name.
struct FoundSchema {
  bool is_there = false;
  // This is empty when the schema has no marker table. It is a marker of empty strings when that
  // table has no row, and when the server tells that testbed was making the schema and had not made
  // the table.
  std::optional<SchemaMarker> marker;
};

struct SchemaOwner {
  std::string engine;
  std::string kind;  // word of the server for a schema: "schema", "database"
  std::string schema, dir;
  bool create = true, replace = false;  // as in EngineOptions
  std::string guest_of = {};            // as in EngineOptions

  // Returns whether the directory has the record of a schema.
  bool HasRecord() const;
  // Makes the directory and locks it. Throws Error: kUsage when a database is to be opened but the
  // directory has no record, so that no server is started for nothing; kIo when the system refuses.
  DirLock TakeDirectory() const;
  // Takes the schema. `find` asks the server for it. `try_lock` returns whether it got the schema's
  // lock, which the server gives to one connection at a time; the engine then keeps it. Returns
  // false when the schema is the directory's. Returns true when it is to be made: there is none,
  // the making of the one that is there was cut short, `replace` asks for a new one, or a temporary
  // run on this host left the one that is there, or made it for an earlier load of its own.
  // Throws Error (kUsage) when the schema belongs to another directory (its code is then EEXIST),
  // when that of this directory is gone, or when a living run holds the lock. It waits a while for
  // the lock of a killed run, whose connections the server ends in a moment, and throws Stopped
  // when the run should end.
  // For a guest it takes no lock, and throws Error (kUsage) unless the schema has the guest's id.
  bool Take(const std::function<FoundSchema()>& find, const std::function<bool()>& try_lock) const;
  // Writes the record, durably. Throws Error (kIo).
  void WriteRecord(const std::string& id) const;

 private:
  std::string RecordFile() const;
  bool MustMake(const FoundSchema& found) const;
};

// Returns the name of the schema for one directory of a run. With --databases the directories are
// DIR/0, DIR/1, ..., and on a server that they share each has a schema of its own.
std::string SchemaOfDirectory(const std::string& dir, const std::string& schema, bool shared);

// Returns the name of a schema's lock. The name has letters, digits, points and _, and 64 bytes at
// most.
std::string SchemaLockName(const std::string& schema);

// Returns the name of the file with the directory's record.
std::string SchemaRecordName(const std::string& engine);

}  // namespace testbed

#endif  // TESTBED_ENGINES_SQL_OWNERSHIP_H_
