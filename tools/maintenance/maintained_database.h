// What `testbed backup` or `testbed compact` has done with one database, as a table of its files
// and as an entry of the document (docs/engines/btree.md).
//
//   MaintainedDatabase compacted;
//   compacted.path = "d/db";
//   compacted.engine = &FindEngine("btree");
//   compacted.before = BytesOnDisk("d/db");
//   ...
//   fmt::print("{}", MaintainedText(compacted, "compacted", {"file", "before", "after"}));
#ifndef TESTBED_TOOLS_MAINTENANCE_MAINTAINED_DATABASE_H_
#define TESTBED_TOOLS_MAINTENANCE_MAINTAINED_DATABASE_H_

#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "device/account/counts.h"
#include "engines/registry.h"

namespace testbed {

// Bytes on disk by the name of a file, or of a subdirectory as a whole.
using BytesByName = std::map<std::string, uint64_t>;

// Returns the bytes of each file in the directory, and of each directory in it as a whole. Throws
// Error (kIo).
BytesByName BytesOnDisk(const std::string& dir);

// Returns the length of all files in the directory, holes included, but not of those in its
// subdirectories, where engines have their logs: about what is read of a database that is copied.
// Throws Error (kIo).
uint64_t LengthOfFiles(const std::string& dir);

struct MaintainedDatabase {
  std::string path;
  const EngineInfo* engine = nullptr;
  std::string copy;           // the directory of a backup; empty for a compaction
  BytesByName before, after;  // after: of the copy, or of the rewritten database
  double seconds = 0;
  std::array<FileCounts, kFileKinds> counts{};  // all IO, by kind of file
};

// Returns the IO of all operations together, by kind of file.
std::array<FileCounts, kFileKinds> CountsByKind(const LedgerCounts& counts);

// Returns the table. `what` was done: "compacted". `columns` has the names of the three columns.
std::string MaintainedText(const MaintainedDatabase& database, const std::string& what,
                           const std::vector<std::string>& columns);

// Returns the entry of "databases".
nlohmann::json MaintainedJson(const MaintainedDatabase& database);

}  // namespace testbed

#endif  // TESTBED_TOOLS_MAINTENANCE_MAINTAINED_DATABASE_H_
