// --server and --connect: the server that does the work of an engine that speaks to one
// (Capabilities::server). They are other words for --engine-option server=NAME and connect=URL, as
// which the run, its record and its results have them.
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

// Moves the two options, which may be empty, to the engine's own options. Throws Error (kUsage)
// when one of them is given and the engine speaks to no server, when both are, and when the
// engine's own options name a server already. Returns `info`.
const EngineInfo& ResolveServer(const EngineInfo& info, RunOptions* options);

// Throws Error (kUsage) when options of a run, values by their names, have a URL with a password:
// the option connect, or the engine's own option of that name.
void RefusePasswordIn(const std::map<std::string, std::string>& options);

}  // namespace testbed

#endif  // TESTBED_TOOLS_SERVER_OPTIONS_H_
