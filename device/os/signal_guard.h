// Handles signals for the process: a request to stop, and actions that must be undone before the
// process dies.
//
//   SignalGuard signals;                 // in main(), first
//   while (!StopRequested()) ...         // Ctrl-C and SIGTERM ask to stop; partial results count
//
//   CrashAction undo(&PutBack, &state);  // PutBack(&state) also runs when the process crashes
//
// The first SIGINT, SIGTERM or SIGHUP sets the stop flag. A later one of these signals ends the
// process at once, unless it comes within the time that a terminal and a parent need to pass on a
// single request, or from the parent that PassesStopsOn names. Signals that kill (SIGSEGV, SIGBUS,
// SIGFPE, SIGILL, SIGABRT, SIGQUIT, SIGTRAP, SIGSYS, SIGXCPU) first run the crash actions and then
// have the effect they had before: a core dump, or the report of a sanitizer. SIGKILL cannot be
// caught: an action that must not be lost then needs a note on disk too, as ReadaheadGuard keeps
// one. A signal that was ignored before (nohup) stays ignored. SIGPIPE does nothing, so that a
// write to a pipe that its reader closed fails with EPIPE: a reader that has seen enough must not
// end a run. SIGXFSZ does nothing either, so that a write beyond the limit of a file's size (ulimit
// -f) fails with EFBIG, and the error names the file.
//
// A forked child inherits handlers and actions, but actions run only in the process that made them.
// All functions are thread-safe.
#ifndef TESTBED_DEVICE_OS_SIGNAL_GUARD_H_
#define TESTBED_DEVICE_OS_SIGNAL_GUARD_H_

#include <signal.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "device/error.h"

namespace testbed {

// Returns whether the run should end. It is cheap enough to be called for every operation.
bool StopRequested();

// Tells the guard that the process `parent` passes its user's request to stop on to this process,
// once, by kill(2). That signal counts as the same request as the terminal's own signal, however
// late it comes, and does not end the process. The destructor of the guard forgets the parent.
void PassesStopsOn(pid_t parent);

// Code that waits throws Stopped when the run should end. `doing` completes the sentence: "while
// its server started". A command other than a run names itself in place of "the run".
class Stopped : public Error {
 public:
  explicit Stopped(const std::string& doing, const std::string& what = "the run")
      : Error(kRun, what + " was stopped " + doing) {}
};

// Installs the handlers while it lives; at most one guard lives at a time. The destructor restores
// the earlier handlers and clears the stop request.
class SignalGuard {
 public:
  SignalGuard();
  ~SignalGuard();
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;
};

// A CrashAction runs when the process ends without unwinding: by a signal that SignalGuard handles,
// or by exit(). `run` must be async-signal-safe (signal-safety(7)) and may be called more than
// once. The destructor withdraws the action and does not run it: code that unwinds undoes its work
// itself. The constructor throws Error (kRun) when kMost actions live.
class CrashAction {
 public:
  static constexpr size_t kMost = 16;
  CrashAction(void (*run)(void*), void* argument);
  ~CrashAction();
  CrashAction(const CrashAction&) = delete;
  CrashAction& operator=(const CrashAction&) = delete;

 private:
  size_t slot_ = 0;
  uint64_t id_ = 0;
};

}  // namespace testbed

#endif  // TESTBED_DEVICE_OS_SIGNAL_GUARD_H_
