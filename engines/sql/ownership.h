// Which database of a server belongs to which directory. A server may hold what is not testbed's, and
// databases of testbed that other directories stand for; neither is touched.
//
// A schema of testbed has a marker table with an id, and with the host and the directory that the
// schema belongs to. The directory has a record, a file with the same id.
//
//   switch (Judge(DirectoryRecord(file), schema_is_there, marker, dir)) ...
#ifndef TESTBED_ENGINES_SQL_OWNERSHIP_H_
#define TESTBED_ENGINES_SQL_OWNERSHIP_H_

#include <optional>
#include <string>

namespace testbed {

struct SchemaMarker {
  std::string id, host, directory;
};

enum class SchemaVerdict {
  kMake,     // there is none: make it
  kOpen,     // it is the directory's
  kReplace,  // it is testbed's, and of a directory that is gone or that was to have it anew
  kForeign,  // it is not testbed's
  kOthers,   // it is testbed's, and another directory's
  kLost      // the directory's is not there
};

// `record` is the id in the directory's record, empty when it has none. `marker` is nothing when the
// schema has no marker table. `file` is the name of records.
SchemaVerdict Judge(const std::string& record, bool schema_is_there,
                    const std::optional<SchemaMarker>& marker, const std::string& dir,
                    const std::string& file);

// Returns the id in the record; empty when there is no such file.
std::string ReadSchemaRecord(const std::string& path);
// Writes the record, durably. Throws Error (kIo).
void WriteSchemaRecord(const std::string& path, const std::string& id);

std::string HostName();

}  // namespace testbed

#endif  // TESTBED_ENGINES_SQL_OWNERSHIP_H_
