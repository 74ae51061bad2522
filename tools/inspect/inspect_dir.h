// The databases in a directory that a user names to look into them: the one given to a run as
// --dir, the engine's own directory inside it, or any directory that an engine recognises. With
// --databases there are several.
//
//   InspectedDir dir("d", "check", [](const EngineInfo& e) -> auto& { return e.check; });
//   for (const InspectedDir::Database& database : dir.databases()) ...
//
// Nothing is made or changed. While it lives no run can use the directory.
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
  using Door = std::function<const EngineInfo::Inspect&(const EngineInfo&)>;

  // Throws Error (kUsage), one sentence, when there is no such directory, no database in it, one of
  // an engine without this door (`command` is its name), or when a run uses it.
  InspectedDir(const std::string& dir, const std::string& command, const Door& door);

  const std::vector<Database>& databases() const { return databases_; }

 private:
  bool Find(const std::string& dir);
  bool FindNumbered(const std::string& dir);
  std::vector<Database> databases_;
  DirLock lock_;
};

// Shows on a terminal how far a look into a database has come, from two seconds on.
std::function<void(uint64_t done, uint64_t total)> InspectProgress(const std::string& what,
                                                                   bool quiet);

nlohmann::json FaultJson(const Fault& fault);
// Of a document; bytes that are no UTF-8 are replaced.
std::string DumpJson(const nlohmann::json& document);

}  // namespace testbed

#endif  // TESTBED_TOOLS_INSPECT_INSPECT_DIR_H_
