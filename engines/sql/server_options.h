// The options that engines of all servers have alike: the schema that the tables are in, and those
// that only a server of the run's own can honour.
#ifndef TESTBED_ENGINES_SQL_SERVER_OPTIONS_H_
#define TESTBED_ENGINES_SQL_SERVER_OPTIONS_H_

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "engines/engine.h"

namespace testbed {

// Throws the Error (kUsage) that `engine` cannot honour an option of its own.
[[noreturn]] void RefuseEngineOption(const std::string& engine, const std::string& option,
                                     const std::string& value, const std::string& why);

// Returns the option `schema`, which is "testbed" unless it is given. Throws Error (kUsage) for a
// name that would have to be quoted, and for one that `is_servers` says the server has for itself;
// `but` says in the sentence which these are, and may be empty.
std::string SchemaOption(const std::string& engine, const EngineOptions& options,
                         const std::function<bool(const std::string& schema)>& is_servers,
                         const std::string& but);

// Returns whether the option `lost_address` has clients go on at the next address when theirs is
// lost. Throws Error (kUsage) when it is given and `connect` has fewer than two addresses.
bool LostAddressOption(const std::string& engine, const EngineOptions& options, size_t addresses);

// Returns the name and the meaning of that option (Capabilities::extra_options).
std::pair<std::string, std::string> LostAddressMeaning();

// Throws Error (kUsage) when one of these options is given, beside `connect`.
void RefuseBesideConnect(const std::string& engine, const EngineOptions& options,
                         std::span<const char* const> names);

}  // namespace testbed

#endif  // TESTBED_ENGINES_SQL_SERVER_OPTIONS_H_
