// Executes one run in a child process, so that the run has a memory budget of its own and its crash
// does not end the program. For another release of the engine the child is the program of that
// release (tools/release/release_process.h), and this program is executed anew for a run with an
// environment of its own (RunStart). Parent and child talk in lines of JSON over two pipes.
//
// The child sends {"run": ..., "begins": NAME} before each phase, {"phase": ...} after it,
// {"loaded": true} when the database is loaded and at rest, {"slice": ...} after a slice, and
// {"run": ..., "ended": true} as its last line. With --live or --metrics it sends {"second": ...}
// of each second, unless the parent is behind with reading. The parent answers {"loaded": true}
// with {"noted": true}. With RunPlan::in_slices the child sends {"ready": true} when it waits for a
// slice of its last phase, and the parent answers {"slice": SECONDS} or {"end": true}.
#ifndef TESTBED_TOOLS_RUN_RUN_PROCESS_H_
#define TESTBED_TOOLS_RUN_RUN_PROCESS_H_

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tools/release/release.h"
#include "tools/run/run_child.h"

namespace testbed {

class LiveView;

// The parent's lines, as the child reads them. When the parent has died, or has been asked to stop
// together with the child, Await returns {"end": true}.
class ParentLines {
 public:
  explicit ParentLines(int fd) : fd_(fd) {}
  nlohmann::json Await();

 private:
  const int fd_;
  std::string text_;
};

// Writes the text to the descriptor; gives up when the other end is gone.
void WriteAll(int fd, const std::string& text);

// Executes the run in this process, which is the child, and talks with the parent. Never throws.
void ServeRun(const RunOptions& options, const RunPlan& plan, ParentLines* parent, int to_parent);

// Callbacks in the parent while the child runs; either may be empty.
struct RunWatch {
  // Called after each phase with all finished phases; returning true ends the run early.
  std::function<bool(const nlohmann::json& phases)> enough;
  // Called once, when the database is loaded and at rest. The child waits until it returns.
  std::function<void()> loaded;
  LiveView* live = nullptr;  // is told of phases and seconds; may be null
};

// Forks, calls ExecuteRun in the child and returns the run's document. The child sends each phase
// when it is finished. When the child dies, the document holds the phases sent until then, is
// marked partial, and its "error" names the cause of death. The same holds when a signal stopped
// the child early and nobody had asked this process to stop. Throws Error (kIo) when no pipe can be
// made, and whatever a callback of `watch` throws, after killing the child.
nlohmann::json ExecuteRunInChild(const RunOptions& options, const RunPlan& plan,
                                 const RunWatch& watch = {});

// Returns the begin of the sentence about a child that did not end by itself after the kernel had
// ended a process of the run for want of memory. That may have been the engine's server, whose end
// the child does not survive. `status` is that of the child, as waitpid gives it.
std::string EndedByKernelText(int status);
// Returns what the user may change after that, as the end of the sentence.
std::string MoreMemoryText(const RunOptions& options, const RunPlan& plan);

// How the child of a run begins.
struct RunStart {
  // The child executes this program anew, or the release's, in place of going on with the memory
  // that it was forked with. The dynamic linker, the allocator and the C library read their
  // environment when a program is executed, and never again.
  bool execute = false;
  std::map<std::string, std::string> environment;  // further variables; they need `execute`
};

// One run in a child process, for a caller that talks to several runs at once: it starts them,
// waits for what any of them sends (AwaitAny), and grants slices. Not thread-safe.
class RunProcess {
 public:
  // Forks the child, which becomes the release's program when the options name a release. `options`
  // and `plan` must outlive the object. Throws Error (kIo) when no pipe can be made, and as
  // FindRelease does.
  RunProcess(const RunOptions& options, const RunPlan& plan, RunWatch watch = {},
             const RunStart& start = {});
  // Kills the child if it still runs, and waits for its end.
  ~RunProcess();
  RunProcess(const RunProcess&) = delete;
  RunProcess& operator=(const RunProcess&) = delete;

  // Reads what the child has sent; waits for it up to `milliseconds`. Returns false when the child
  // has closed its pipe, and so has nothing more to send. Throws what a callback of the watch
  // throws. When this process was asked to stop, the child is told once.
  bool Take(int milliseconds);
  // Waits until one of the runs has something to take, or for `milliseconds`.
  static void AwaitAny(const std::vector<RunProcess*>& runs, int milliseconds);
  // Asks the child to end early, as a signal from the user does. A child that is stopped (SIGSTOP)
  // is continued for it.
  void Stop();
  // Waits for the child's end and returns the run's document, as ExecuteRunInChild does.
  nlohmann::json Finish();

  // Returns whether the child waits for a slice, and the slices that it sent since the last call.
  bool ready() const;
  std::vector<nlohmann::json> TakeSlices();
  // Answer a child that is ready.
  void GrantSlice(double seconds);
  void EndSlices();

  pid_t pid() const { return child_; }
  // Returns whether a signal has stopped the child (SIGSTOP), so that it does nothing.
  bool IsStopped() const;

 private:
  class Lines;
  void Answer(const nlohmann::json& line);

  const RunOptions& options_;
  const RunPlan& plan_;
  const RunWatch watch_;
  std::optional<EngineRelease> release_;  // the child executes its program; nothing: this one
  std::unique_ptr<Lines> lines_;
  pid_t child_ = -1;  // -1 after its end
  int from_child_ = -1, to_child_ = -1;
  bool told_to_stop_ = false;
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_RUN_RUN_PROCESS_H_
