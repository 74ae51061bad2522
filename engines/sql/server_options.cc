#include "engines/sql/server_options.h"

#include <fmt/format.h>

#include <string_view>

#include "device/error.h"
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
