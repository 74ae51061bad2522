#include "tools/ab/flat_counters.h"

#include <string>

namespace testbed {
namespace {

using nlohmann::json;

// Adds the numbers in `counts`, their names behind the prefix, to *flat.
void AddCounts(const std::string& prefix, const json& counts, json* flat) {
  for (const auto& [name, value] : counts.items()) {
    if (!value.is_number() || value == 0 || name == "cache_bytes") continue;
    json& sum = (*flat)[prefix + name];
    sum = sum.is_null() ? value : json(sum.get<double>() + value.get<double>());
  }
}

}  // namespace

json FlatCounters(const json& account) {
  json flat = json::object();
  const json none = json::object();
  for (const json& cause : account.at("causes")) {
    AddCounts("file_", cause.value("file", none), &flat);
    AddCounts("kernel_", cause.value("kernel", none), &flat);
    AddCounts("wire_", cause.value("wire", none), &flat);
  }
  const json engine = account.at("engine");
  AddCounts("device_", account.value("device", none), &flat);
  AddCounts("", engine, &flat);
  AddCounts("engine.", engine.value("more", none), &flat);
  for (const char* name :
       {"cpu_user_seconds", "cpu_system_seconds", "context_switches", "major_faults"}) {
    AddCounts("", {{name, account.at(name)}}, &flat);
  }
  return flat;
}

}  // namespace testbed
