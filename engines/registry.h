// The registry lists the engines of this build. An engine joins it by a folder under engines/,
// which CMake finds. The folder's CMakeLists.txt calls testbed_engine(NAME), and its code defines
//
//   EngineInfo BtreeEngineInfo();
//
// with NAME in CamelCase instead of Btree: testbed_engine(btree) declares BtreeEngineInfo.
#ifndef TESTBED_ENGINES_REGISTRY_H_
#define TESTBED_ENGINES_REGISTRY_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engines/engine.h"
#include "engines/inspect.h"

namespace testbed {

// A ServerChoice is a server that an engine can start instead of the distribution's server
// (EngineInfo::servers).
struct ServerChoice {
  std::string name;     // name for --server: mariadb@10.1.23
  std::string from;     // month of the server's release: 2017-05
  std::string what;     // what is special about the server, in one line
  std::string program;  // path of the server; empty when it is not there
  std::string command;  // command that fetches the server
};

// A DatabaseFormat is what the files of a database tell about the options to open it with.
struct DatabaseFormat {
  uint32_t page_size = 0;   // in bytes; 0: the files do not tell
  bool compressed = false;  // the database may have compressed pages
};

struct EngineInfo {
  std::string name;
  std::string summary;  // one line
  std::string version;  // version of the library that is linked in
  // Returns why the engine cannot be opened on this machine and how to change that; an empty string
  // when it can be opened. Null for an engine that can always be opened.
  std::function<std::string()> missing;
  // This is the extra option whose value may follow the engine's name, as in --engine innodb:sql;
  // empty when there is none.
  std::string variants;
  // These extra options say how the rows of a database are read and written, and change nothing in
  // the database. So databases that differ in these options alone are the same.
  std::vector<std::string> access_options = {};
  Capabilities capabilities;
  // Returns whether `dir` holds a database of this engine.
  std::function<bool(const std::string& dir)> recognises;
  // These are the files that the engine makes in the directory of a database, as patterns: '#'
  // stands for one or more digits, '~' for one digit or letter A to F, '*' for any characters but
  // '/', a character after '\' for itself, and any other character for itself. A pattern that ends
  // with '/' is a directory alone. Other files there are not the engine's, and --fresh leaves them
  // alone.
  std::vector<std::string> files;
  // Returns the files that the tables of the database in `dir` are in, relative to it: those whose
  // names follow from the names of tables. They are the engine's, too, and each must be there. Does
  // not open the database and changes nothing. Call TableFilesIn (databases.h) instead, which knows
  // directories of several databases. Null when no such file must be there, as with RocksDB, whose
  // files come and go.
  std::function<std::vector<std::string>(const std::string& dir)> table_files;
  // Throws Error (kUsage), which names the option and the accepted values, for a value that the
  // engine cannot honour in any directory. Opens and creates nothing. CheckEngineOptions calls it
  // after it has checked the options against the capabilities. Null when the engine accepts
  // everything that its capabilities allow.
  std::function<void(const EngineOptions&)> check_options;
  // Throws Error (kUsage) when this machine cannot run the engine with these options, which
  // check_options accepts and another machine may run: a server's program is not installed.
  // check_options looks for no program then. Null for an engine whose options need none.
  std::function<void(const EngineOptions&)> check_programs = nullptr;
  // Reads the code that the process does not have yet, and that an opening with these options
  // needs: a library that the opening loads, the program of a server. Throws Error or does nothing
  // when it is not there. A run calls it before it enters its memory budget
  // (device/machine/resident_code.h). Null for an engine that is linked in.
  std::function<void(const EngineOptions&)> read_code = nullptr;
  // Returns whether the page cache answers some of the engine's reads although these options ask
  // for direct IO, as when the engine reads its log buffered. Null for an engine without such
  // reads.
  std::function<bool(const EngineOptions&)> direct_reads_page_cache = nullptr;
  // Returns the servers that the engine can start instead of the distribution's server. Null for an
  // engine that has no such servers.
  std::function<std::vector<ServerChoice>()> servers = nullptr;
  // Opens the database in `dir`, which exists. Call OpenEngine instead, which checks the options
  // and makes the directory first.
  std::function<std::unique_ptr<Engine>(const std::string& dir, const EngineOptions&)> open;
  // `check` and `tree` inspect a database that is not open, and change nothing (engines/inspect.h).
  // `check` reports whether every byte of it is right; `tree` reports what its trees look like.
  // Null when the engine cannot do so.
  using Inspect = std::function<Inspection(const std::string& dir, const InspectOptions&)>;
  Inspect check, tree;
  // Rewrites the database in `dir`, which is not open, so that its files are as long as its rows
  // need. The options are those with which the database would be opened. Call CompactDatabase
  // instead, which checks the options and the directory first. Null when the engine cannot compact
  // a database.
  std::function<void(const std::string& dir, const EngineOptions&)> compact = nullptr;
  // Returns what the files of the database in `dir` tell. Does not open the database and changes
  // nothing. Throws Error: kUsage for a format that is newer than the engine, kCorruption for a
  // damaged file, kIo. Null when they tell nothing.
  std::function<DatabaseFormat(const std::string& dir)> format = nullptr;
};

// Returns all engines of this build, and those that the program has added. Thread-safe.
const std::vector<EngineInfo>& Engines();

// Adds an engine of the program's own; from then on it can be named like the others. Call it before
// other threads use the registry, as it may move what Engines() has returned. Throws Error (kUsage)
// when another engine has this name, and when `info` lacks its name, recognises or open, or its
// capabilities name no IO mode, no durability or no compression ("none" is one).
void AddEngine(EngineInfo info);

// Returns the words with ", " between them, as messages list what is accepted.
std::string JoinWords(const std::vector<std::string>& words);

// Returns whether `path`, relative to the directory of a database, is a file that info.files lists.
// With `directory`, returns whether it is a directory that contains such a file. The directory may
// hold several databases, in numbered subdirectories (engines/databases.h).
bool IsEngineFile(const EngineInfo& info, const std::string& path, bool directory = false);

// Returns the engine of that name. Throws Error (kUsage), which lists the known names, when there
// is none.
const EngineInfo& FindEngine(const std::string& name);

// Returns the options for a user who gives none: the defaults of EngineOptions. A default that the
// engine cannot honour is replaced: the page size by the nearest that it supports, another by the
// first value of the engine's list.
EngineOptions DefaultEngineOptions(const EngineInfo& info);

// Returns whether the page cache answers reads of the engine with these options, so that it belongs
// to the memory that the engine works with.
bool ReadsPageCache(const EngineInfo& info, const EngineOptions& options);

// Throws Error (kUsage), which names the option and the accepted values, when the engine's
// capabilities or its EngineInfo::check_options do not allow an option, or when a program that the
// options need is missing (EngineInfo::check_programs). Opens and creates nothing. A value that
// depends on the database's device or file system is refused only when the database is opened.
void CheckEngineOptions(const EngineInfo& info, const EngineOptions& options);
// Does what CheckEngineOptions does, for options that another machine will run: it looks for no
// program on this machine.
void CheckOptionsOfAnyMachine(const EngineInfo& info, const EngineOptions& options);
// Returns which program the options need that is missing on this machine, in a sentence; "" when
// none is. CheckOptionsOfAnyMachine must accept the options.
std::string MissingProgram(const EngineInfo& info, const EngineOptions& options);

// Opens the database of engine `name` in `dir`. With options.create, makes the directory if it does
// not exist, and makes its name durable if it holds no database yet. Throws Error (kUsage) when the
// name is unknown, when CheckEngineOptions refuses the options, when `dir` holds a database of
// another engine, and when it holds none although options.create is false; no directory that it has
// made is left then. Throws Error (kIo) when the directory cannot be made.
std::unique_ptr<Engine> OpenEngine(const std::string& name, const std::string& dir,
                                   const EngineOptions& options);
// Opens a database in the same way, for an engine that need not be in the registry. Does not check
// whether `dir` holds a database of another engine.
std::unique_ptr<Engine> OpenEngine(const EngineInfo& info, const std::string& dir,
                                   const EngineOptions& options);

// Rewrites the database in `dir`, which must not be open, so that its files are as long as its rows
// need. Meanwhile it takes space for a second database. The options are those with which the
// database would be opened; `create` makes no difference. A crash leaves the old or the new
// database whole, and so does an Error: kUsage when CheckEngineOptions refuses the options, when
// `dir` holds no database of the engine or one that is open, and when the engine cannot compact a
// database; kIo and kCorruption when a file cannot be read or written; Stopped
// (device/os/signal_guard.h) when a signal asks for an end.
void CompactDatabase(const EngineInfo& info, const std::string& dir, const EngineOptions& options);

}  // namespace testbed

#endif  // TESTBED_ENGINES_REGISTRY_H_
