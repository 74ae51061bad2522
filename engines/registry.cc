#include "engines/registry.h"

#include <utility>

#include "device/error.h"

namespace testbed {

// CMake generates this function from the folders that it has found (engines_of_the_build.cc.in).
std::vector<EngineInfo> EnginesOfTheBuild();

namespace {

// The list is never destroyed: a database may be opened while the static objects are destroyed.
std::vector<EngineInfo>& AllEngines() {
  static auto* const engines = new std::vector<EngineInfo>(EnginesOfTheBuild());
  return *engines;
}

}  // namespace

const std::vector<EngineInfo>& Engines() { return AllEngines(); }

void AddEngine(EngineInfo info) {
  const Capabilities& can = info.capabilities;
  if (info.name.empty() || !info.recognises || !info.open || can.io_modes.empty() ||
      can.durabilities.empty() || can.compressions.empty()) {
    throw Error(Error::kUsage, "the engine \"" + info.name +
                                   "\" must have a name, recognises, open, and in its capabilities "
                                   "io_modes, durabilities and compressions");
  }
  for (const EngineInfo& other : AllEngines()) {
    if (other.name == info.name) {
      throw Error(Error::kUsage, "there is an engine " + info.name + " already: name yours anew");
    }
  }
  AllEngines().push_back(std::move(info));
}

const EngineInfo& FindEngine(const std::string& name) {
  std::vector<std::string> names;
  for (const EngineInfo& info : Engines()) {
    if (info.name == name) return info;
    names.push_back(info.name);
  }
  throw Error(Error::kUsage,
              "--engine " + name + " is not known; this build has " + JoinWords(names));
}

bool ReadsPageCache(const EngineInfo& info, const EngineOptions& options) {
  return options.io != IoMode::kDirect ||
         (info.direct_reads_page_cache && info.direct_reads_page_cache(options));
}

std::unique_ptr<Engine> OpenEngine(const std::string& name, const std::string& dir,
                                   const EngineOptions& options) {
  const EngineInfo& info = FindEngine(name);
  CheckEngineOptions(info, options);
  for (const EngineInfo& other : Engines()) {
    if (other.name != name && other.recognises(dir)) {
      throw Error(Error::kUsage, "the directory " + dir + " holds a database of " + other.name +
                                     ", not of " + name + ": choose another --dir, or --fresh");
    }
  }
  return OpenEngine(info, dir, options);
}

}  // namespace testbed
