#include "tools/server_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/error.h"
#include "engines/registry.h"
#include "tools/option_values.h"
#include "tools/options.h"

namespace testbed {
namespace {

void AddNaming(CLI::App& app, const std::string& option, const std::string& type,
               const std::string& help, const std::string& accepted, std::string* value) {
  app.add_option_function<std::string>(
         option,
         [option, accepted, value](const std::string& text) {
           if (text.empty()) RefuseValue(option, "''", accepted);
           *value = text;
         },
         help)
      ->type_name(type);
}

std::string EnginesOfServers() {
  std::vector<std::string> names;
  for (const EngineInfo& info : Engines()) {
    if (info.capabilities.server) names.push_back(info.name);
  }
  return names.empty() ? "none of this build" : fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

void AddServerOptions(CLI::App& app, RunOptions& options) {
  AddNaming(app, "--server", "NAME[@VERSION]",
            "The server that the run starts, for the engines mysql and postgres: mariadb, "
            "mariadb@10.1.23, mariadb@10.2.11, postgres, postgres@15, postgres@18.6 (`testbed "
            "list`); a major version, such as postgres@18 or mariadb@10.1, is the installed "
            "PostgreSQL of that version, or else its newest release in that list",
            "the name of a server: mariadb, mariadb@10.1.23, postgres, postgres@15, postgres@18.6",
            &options.server);
  AddNaming(app, "--connect", "URL",
            "A server that runs already, for the engines mysql and postgres, such as "
            "mysql://user@host:3306/ or postgresql://user@host:5432/database; HOST:PORT,HOST:PORT "
            "spreads the clients over several nodes (docs/servers.md)",
            "a URL such as mysql://user@host:3306/ or postgresql://user@host:5432/database",
            &options.connect);
}

const EngineInfo& ResolveServer(const EngineInfo& info, RunOptions* options) {
  std::string server = std::exchange(options->server, "");
  std::string connect = std::exchange(options->connect, "");
  if (server.empty() && connect.empty()) return info;
  const char* const name = server.empty() ? "connect" : "server";
  const std::string given =
      fmt::format("--{} {}", name, server.empty() ? "URL" : std::string_view(server));
  if (!info.capabilities.server) {
    throw Error(Error::kUsage,
                fmt::format("{}: {} does its work itself and speaks to no server; leave it out, or "
                            "give an engine that does: {}",
                            given, info.name, EnginesOfServers()));
  }
  if (!server.empty() && !connect.empty()) {
    throw Error(Error::kUsage,
                fmt::format("{} starts a server and --connect takes one that runs already; give "
                            "one of them",
                            given));
  }
  for (const char* const other : {"server", "connect"}) {
    const auto found = options->engine.extra.find(other);
    if (found == options->engine.extra.end()) continue;
    throw Error(Error::kUsage,
                fmt::format("{}: --engine-option {}, or the form in --engine, names the server "
                            "already; give one of them",
                            given, other));
  }
  options->engine.extra[name] = server.empty() ? std::move(connect) : std::move(server);
  options->engine.given_as[name] = fmt::format("--{} ", name);
  return info;
}

void RefusePasswordIn(const std::map<std::string, std::string>& options) {
  for (const char* name : {"connect", "engine-option.connect", "load.connect"}) {
    const auto url = options.find(name);
    if (url == options.end()) continue;
    for (const EngineInfo& info : Engines()) {
      if (!info.capabilities.server) continue;
      EngineOptions one = DefaultEngineOptions(info);
      one.extra = {{"connect", url->second}};
      if (std::string_view(name) != "engine-option.connect")
        one.given_as = {{"connect", "--connect "}};
      try {
        CheckEngineOptions(info, one);
      } catch (const Error& error) {
        // Errors about other values are reported later, with the cells that have them.
        if (std::string_view(error.what()).find("takes no password") != std::string::npos) throw;
      }
    }
  }
}

}  // namespace testbed
