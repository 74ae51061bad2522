// Which database of a server belongs to which directory. A server may hold what is not testbed's, and
// databases of testbed that other directories stand for; neither is touched.
//
// A schema of testbed has a marker table with an id, and with the host and the directory that the
// schema belongs to. The directory has a record, a file with the same id. An engine that has the schema
// open holds a lock of the server in the schema's name, from before it looks at the marker for good to
// its end, so that no run takes the schema of one that lives: a directory that cannot be seen from here
// may be there in another mount namespace.
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

struct SchemaMarker {
  std::string id, host, directory;
};

// What a server has under the schema's name.
struct FoundSchema {
  bool is_there = false;
  std::optional<SchemaMarker> marker;  // nothing when it has no marker table
};

struct SchemaOwner {
  std::string engine;
  std::string kind;  // what the server calls a schema: "schema", "database"
  std::string schema, dir;
  bool create = true, replace = false;  // as EngineOptions has them

  // Returns whether the directory stands for a schema.
  bool HasRecord() const;
  // Makes the directory and locks it. Throws Error: kUsage when a database is to be opened and the
  // directory has no record, so that no server is started for nothing; kIo.
  DirLock TakeDirectory() const;
  // Takes the schema: `find` asks the server for it, and `try_lock` returns whether it got the schema's
  // lock, which the server gives to one connection at a time and the engine then keeps. Returns false
  // when the schema is the directory's. Returns true when it is to be made: there is none, `replace`
  // asks for it anew, or the one that is there is what a temporary run on this host left. Throws Error
  // (kUsage) when the schema is another's, the directory's is not there, or a run that lives has the
  // lock; it waits a while for that of a killed run, whose connections the server ends in a moment.
  bool Take(const std::function<FoundSchema()>& find, const std::function<bool()>& try_lock) const;
  // Writes the record, durably. Throws Error (kIo).
  void WriteRecord(const std::string& id) const;

 private:
  std::string RecordFile() const;
  bool MustMake(const FoundSchema& found) const;
};

// Returns the schema of one directory of a run. With --databases these are DIR/0, DIR/1, ..., and on
// a server that they share each has a schema of its own.
std::string SchemaOfDirectory(const std::string& dir, const std::string& schema, bool shared);

// Returns the name of a schema's lock: of letters, digits, points and _, and of 64 bytes at most.
std::string SchemaLockName(const std::string& schema);

// Returns the name of the record's file.
std::string SchemaRecordName(const std::string& engine);

std::string HostName();

}  // namespace testbed

#endif  // TESTBED_ENGINES_SQL_OWNERSHIP_H_
