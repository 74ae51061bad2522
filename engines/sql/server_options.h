// This header has the options that the engines of all servers have in common: the schema that the
// tables are in, and the options that only a server which the run starts can honour.
#ifndef TESTBED_ENGINES_SQL_SERVER_OPTIONS_H_
#define TESTBED_ENGINES_SQL_SERVER_OPTIONS_H_

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engines/engine.h"

namespace testbed {

// Throws the Error (kUsage) which says that `engine` cannot honour its own option `option`.
[[noreturn]] void RefuseEngineOption(const std::string& engine, const std::string& option,
                                     const std::string& value, const std::string& why);

// Returns the option `schema`, which is "testbed" by default. Throws Error (kUsage) for a name that
// would need quotation marks, and for a name that `is_servers` calls one of the server's own. The
// text `but` ends the sentence of the error, and says which names are the server's; it may be
// empty.
std::string SchemaOption(const std::string& engine, const EngineOptions& options,
                         const std::function<bool(const std::string& schema)>& is_servers,
                         const std::string& but);

// Returns whether the option `lost_address` makes clients go on at the next address when they lose
// theirs. Throws Error (kUsage) when it is given and `connect` has fewer than two addresses.
bool LostAddressOption(const std::string& engine, const EngineOptions& options, size_t addresses);

// Returns the name and the meaning of `lost_address` for Capabilities::extra_options.
std::pair<std::string, std::string> LostAddressMeaning();

// Returns the settings of `text`, the value "name=value;name=value" of the option `server_option`.
// Their names are in small letters, and have `joint` in place of each hyphen and underscore, since
// servers take the two for the same. Throws Error (kUsage) for a part that is no "name=value", with
// `takes` as what is accepted, and for a name that `is_own` calls one that the run decides.
std::vector<std::string> ParseServerOptions(
    const std::string& engine, const std::string& text, char joint, const std::string& takes,
    const std::function<bool(std::string_view name)>& is_own);

// Throws Error (kUsage) when one of the options `names` is given together with `connect`.
void RefuseBesideConnect(const std::string& engine, const EngineOptions& options,
                         std::span<const char* const> names);

}  // namespace testbed

#endif  // TESTBED_ENGINES_SQL_SERVER_OPTIONS_H_
