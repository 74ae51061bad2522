// The databases in a directory that the user names for inspection: the directory that a run had as
// --dir, the engine's own directory inside it, or any directory that an engine recognises. With
// --databases the directory holds several.
//
//   InspectedDir dir("d", "check", [](const EngineInfo& e) -> auto& { return e.check; });
//   for (const InspectedDir::Database& database : dir.databases()) ...
//
// Nothing is created or changed. While an InspectedDir lives, no run can use the directory.
#ifndef TESTBED_TOOLS_INSPECT_INSPECT_DIR_H_
#define TESTBED_TOOLS_INSPECT_INSPECT_DIR_H_

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "device/os/dir_lock.h"
#include "engines/registry.h"

namespace testbed {

class InspectedDir {
 public:
  struct Database {
    std::string path;
    const EngineInfo* engine;
  };
  // Returns the engine's function for a command; the function is empty when the engine has none.
  using Door = std::function<const EngineInfo::Inspect&(const EngineInfo&)>;

  // Finds the databases and locks the directory. Throws Error (kUsage) when `dir` does not exist,
  // holds no database, holds a database whose engine does not support `command`, or is in use by a
  // run.
  InspectedDir(const std::string& dir, const std::string& command, const Door& door);

  const std::vector<Database>& databases() const { return databases_; }

 private:
  bool Find(const std::string& dir);
  bool FindNumbered(const std::string& dir);
  std::vector<Database> databases_;
  DirLock lock_;
};

// Returns a callback that shows the progress of an inspection on a terminal, from two seconds on.
std::function<void(uint64_t done, uint64_t total)> InspectProgress(const std::string& what,
                                                                   bool quiet);

nlohmann::json FaultJson(const Fault& fault);
// Returns the document as indented text; bytes that are not UTF-8 are escaped (output/json_text.h).
std::string DumpJson(const nlohmann::json& document);

}  // namespace testbed

#endif  // TESTBED_TOOLS_INSPECT_INSPECT_DIR_H_
