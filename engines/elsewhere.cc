#include "engines/elsewhere.h"

#include <algorithm>

#include "engines/registry.h"

namespace testbed {

bool WorksElsewhere(const std::string& engine, const EngineOptions& options) {
  return options.extra.contains("connect") &&
         std::any_of(Engines().begin(), Engines().end(), [&](const EngineInfo& info) {
           return info.name == engine && info.capabilities.server;
         });
}

}  // namespace testbed
