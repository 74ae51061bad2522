// The options --server and --connect name the server of an engine that speaks to one
// (Capabilities::server). They are short for --engine-option server=NAME and --engine-option
// connect=URL; the run, its record and its results have them in that form.
#ifndef TESTBED_TOOLS_SERVER_OPTIONS_H_
#define TESTBED_TOOLS_SERVER_OPTIONS_H_

#include <map>
#include <string>

namespace CLI {
class App;
}

namespace testbed {

struct EngineInfo;
struct RunOptions;

// Adds the two options to `app`. Parsing stores the values in `options`, which must outlive `app`.
void AddServerOptions(CLI::App& app, RunOptions& options);

// Moves options->server and options->connect, which may be empty, to the engine's own options.
// Throws Error (kUsage) when both are given, and when one is given and the engine speaks to no
// server, or its own options name a server already. Returns `info`.
const EngineInfo& ResolveServer(const EngineInfo& info, RunOptions* options);

// Throws Error (kUsage) when the options of a run, or of a part of an experiment, name a server by
// a URL with a password: in the option connect, of a load too, or in the engine's own option of
// that name. `options` are values by name.
void RefusePasswordIn(const std::map<std::string, std::string>& options);

}  // namespace testbed

#endif  // TESTBED_TOOLS_SERVER_OPTIONS_H_
