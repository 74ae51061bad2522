#include "engines/elsewhere.h"

#include <algorithm>
#include <fstream>

#include "engines/registry.h"

namespace testbed {

bool WorksElsewhere(const std::string& engine, const EngineOptions& options) {
  return std::any_of(Engines().begin(), Engines().end(), [&](const EngineInfo& info) {
    return info.name == engine && WorksElsewhere(info.capabilities, options);
  });
}

std::string SchemaIdIn(const std::string& engine, const std::string& dir) {
  std::ifstream record(dir + "/testbed-" + engine);  // SchemaRecordName (engines/sql/ownership.h)
  std::string id;
  std::getline(record, id);
  return id;
}

}  // namespace testbed
