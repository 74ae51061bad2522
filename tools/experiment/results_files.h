// The files of a results directory (results_dir.h): how they are read, and how their names and
// contents tell which of them an experiment has written.
//
// The functions keep no state and are thread-safe.
#ifndef TESTBED_TOOLS_EXPERIMENT_RESULTS_FILES_H_
#define TESTBED_TOOLS_EXPERIMENT_RESULTS_FILES_H_

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace testbed {

// Returns whether the file exists; true, too, if that cannot be told, so that its reader fails.
bool MayBeThere(const std::string& path);

// Returns the document in the file; null when there is no such file, and a discarded one when it
// holds no JSON. Throws Error (kUsage) when it is no regular file or cannot be read.
nlohmann::json DocumentAt(const std::string& path);
// Returns the document in the file as DocumentAt does, but null when it holds no JSON.
nlohmann::json ReadJson(const std::string& path);

// Returns the document's "schema"; an empty string when it has none.
std::string SchemaOf(const nlohmann::json& document);

// Returns the entries of a directory in the order of their names; none for a symbolic link.
std::vector<std::filesystem::path> EntriesOf(const std::filesystem::path& dir);

// Return the key of a cell in a round (CellKey), and the name of its file.
std::string CellKeyOf(const std::string& cell, int round);
std::string CellFileName(const std::string& cell, int round);

// Returns whether an experiment can have written a file of this name in the folder. In earlier
// versions the name of a load's file had no round.
bool IsNameOfOurs(const std::string& folder, const std::string& name);

// Returns whether a directory can be that of one process among several (cluster/part.h).
bool IsPartOfOurs(const std::string& name);

// Returns whether a directory can be a database that an experiment made: that of a load, or of a
// cell with a database of its own.
bool IsDatabaseOfOurs(const std::string& name);

// Returns whether the file is an experiment's: a document, or what a killed process left of one.
bool IsFileOfOurs(const std::string& folder, const std::filesystem::path& file);

// Returns whether the file in the directory is what a killed process left of an experiment.json.
bool IsUnfinishedHeader(const std::filesystem::path& file);

// Removes an experiment's files in a folder, and the folder when it is empty then.
void RemoveDocuments(const std::filesystem::path& dir, const std::string& folder);

// Removes an experiment's databases in the folder, and those in the parts there together with what
// is left of scratch devices. Removes the folder when it is empty then.
void RemoveDatabases(const std::filesystem::path& folder);

// Returns the bytes of an experiment's databases in the folder that no process uses: a call
// replaces them, goes on with them, or removes them when it begins anew.
uint64_t BytesOfDatabases(const std::filesystem::path& folder);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_RESULTS_FILES_H_
