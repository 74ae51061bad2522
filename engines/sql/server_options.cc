#include "engines/sql/server_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "device/error.h"
#include "device/lower_case.h"
#include "engines/extra_options.h"

namespace testbed {

void RefuseEngineOption(const std::string& engine, const std::string& option,
                        const std::string& value, const std::string& why) {
  throw Error(Error::kUsage, fmt::format("{} cannot honour --engine-option {}={}: {}", engine,
                                         option, value, why));
}

std::string SchemaOption(const std::string& engine, const EngineOptions& options,
                         const std::function<bool(const std::string& schema)>& is_servers,
                         const std::string& but) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789_";
  const auto given = options.extra.find("schema");
  if (given == options.extra.end()) return "testbed";
  const std::string& schema = given->second;
  if (schema.empty() || schema.size() > 50 || is_servers(schema) ||
      schema.find_first_not_of(kLetters) != std::string::npos) {
    RefuseEngineOption(engine, "schema", schema,
                       "it takes 1 to 50 of the letters a to z, digits and _" + but);
  }
  return schema;
}

bool LostAddressOption(const std::string& engine, const EngineOptions& options, size_t addresses) {
  constexpr char kName[] = "lost_address";
  const ExtraOptions extra(engine, options.extra);
  const std::string what = extra.Choice(kName, "end", {"end", "next"});
  if (extra.Has(kName) && addresses < 2) {
    RefuseEngineOption(engine, kName, what,
                       "it needs several addresses of a server that runs already");
  }
  return what == "next";
}

std::pair<std::string, std::string> LostAddressMeaning() {
  return {"lost_address",
          "end, next: where one of several addresses of connect is lost, the run ends, or its "
          "clients go on at the next address (end)"};
}

std::vector<std::string> ParseServerOptions(
    const std::string& engine, const std::string& text, char joint, const std::string& takes,
    const std::function<bool(std::string_view name)>& is_own) {
  constexpr char kName[] = "server_option";
  std::vector<std::string> all;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(';', at), text.size());
    const std::string part = text.substr(at, end - at);
    at = end + 1;
    const size_t equals = part.find('=');
    if (equals == std::string::npos || equals == 0) RefuseEngineOption(engine, kName, part, takes);
    std::string name = part.substr(0, equals);
    for (char& c : name) c = c == '-' || c == '_' ? joint : LowerCase(c);
    if (is_own(name)) {
      RefuseEngineOption(engine, kName, part,
                         "the run's own options or --engine-option of that name decide it");
    }
    all.push_back(name + part.substr(equals));
  }
  return all;
}

void RefuseBesideConnect(const std::string& engine, const EngineOptions& options,
                         std::span<const char* const> names) {
  for (const char* const name : names) {
    const auto given = options.extra.find(name);
    if (given == options.extra.end()) continue;
    RefuseEngineOption(engine, name, given->second,
                       "a server that runs already (connect) has its own");
  }
}

}  // namespace testbed
