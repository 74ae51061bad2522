// Executes runs of another release of an engine: the program of the release
// (tools/release/release.h) is the child of the run (run_process.h). A run of this release with an
// environment of its own is executed by this program in the same way.
//
// The child gets a JSON object as the first line of its pipe, with "build", "options", "keys",
// "keys_hash", "trace" and "plan", and then talks as a forked child does. "keys" and "keys_hash"
// are LentKeys, and "trace" is what is known of a trace (KnownTrace), so that the child has the
// keys and the trace of its parent, or refuses the run. A first line with "check" asks only whether
// the release accepts the options.
#ifndef TESTBED_TOOLS_RELEASE_RELEASE_PROCESS_H_
#define TESTBED_TOOLS_RELEASE_RELEASE_PROCESS_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/run/run_child.h"

namespace testbed {

// The first word of the command line of a child process that was executed, and not only forked, for
// a run. It makes the program call ExecuteSentRun.
inline constexpr char kExecuteRun[] = "execute-run";

// Returns the line that tells a release's program the run.
nlohmann::json SentRun(const RunOptions& options, const RunPlan& plan);
// Returns the options of a line that SentRun made. They name no release, because the program that
// reads the line is that release. Throws Error (kRun) when a part is missing.
RunOptions ReadSentOptions(const nlohmann::json& line);

// The path of this program, even when another file has taken its name since it was started.
inline constexpr char kThisProgram[] = "/proc/self/exe";

// Executes the program, which is a release's or this one, in the process forked for it, with the
// two ends of the pipes. Never returns.
[[noreturn]] void ExecuteRunProgram(const std::string& program, int from_parent, int to_parent);

// Throws Error (kUsage) with the release's own sentence when it does not accept the options. With
// `where` it tries them on an empty database below that directory, as TryEngineOptions does.
void CheckByRelease(const RunOptions& options, const std::string& where);

// Executes, in the program of a release, the run that is sent through the pipes whose descriptors
// are words[1] and words[2]. Ends the process. Throws Error (kUsage) when a user gave the word
// kExecuteRun without them.
[[noreturn]] void ExecuteSentRun(const std::vector<std::string>& words);

}  // namespace testbed

#endif  // TESTBED_TOOLS_RELEASE_RELEASE_PROCESS_H_
