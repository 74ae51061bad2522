// The engines that this build has. An engine joins by a folder under engines/ whose CMakeLists.txt
// calls testbed_engine(NAME), and which defines
//
//   EngineInfo NameEngineInfo();
//
// with the name in CamelCase: what testbed_engine(btree) promises is BtreeEngineInfo. CMake finds the
// folders.
#ifndef TESTBED_ENGINES_REGISTRY_H_
#define TESTBED_ENGINES_REGISTRY_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engines/engine.h"
#include "engines/inspect.h"

namespace testbed {

struct EngineInfo {
  std::string name;
  std::string summary;  // one line
  std::string version;  // of the library linked in
  // Why the engine cannot be opened here and how to change that; nothing when it can. Null: always.
  std::function<std::string()> missing;
  // The extra option whose value may follow the name, as in --engine innodb:sql; empty: none.
  std::string variants;
  Capabilities capabilities;
  // True when `dir` holds a database of this engine.
  std::function<bool(const std::string& dir)> recognises;
  std::function<std::unique_ptr<Engine>(const std::string& dir, const EngineOptions&)> open;
  // Look into a database that is not open, changing nothing (engines/inspect.h): whether every byte
  // of it is right, and what its trees look like. Null where the engine has none.
  using Inspect = std::function<Inspection(const std::string& dir, const InspectOptions&)>;
  Inspect check, tree;
};

const std::vector<EngineInfo>& Engines();

// Throws Error (kUsage) that lists the known names.
const EngineInfo& FindEngine(const std::string& name);

// The options of somebody who asks for nothing: EngineOptions' own defaults or, where the engine
// cannot honour one, what comes nearest to it.
EngineOptions DefaultEngineOptions(const EngineInfo& info);

// Throws Error (kUsage), naming the option and the accepted values, when the engine cannot honour
// an option. Touches nothing.
void CheckEngineOptions(const EngineInfo& info, const EngineOptions& options);

// Checks options against the engine's capabilities and the directory against other engines'
// databases (Error, kUsage, naming the option and the accepted values), then opens.
std::unique_ptr<Engine> OpenEngine(const std::string& name, const std::string& dir,
                                   const EngineOptions& options);

}  // namespace testbed

#endif  // TESTBED_ENGINES_REGISTRY_H_
