// Signals in one place: a request to stop, and what must be undone before the process dies.
//
//   SignalGuard signals;                       // in main(), first
//   while (!StopRequested()) ...               // Ctrl-C and SIGTERM ask to end; partial results
//   count
//
//   CrashAction undo(&PutBack, &what);         // also run when the process crashes
//
// The first SIGINT, SIGTERM or SIGHUP sets the stop flag; one that comes later, after the time a
// terminal and a parent need to pass on the same request, ends the process at once. Signals that
// kill (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGQUIT, SIGTRAP, SIGSYS, SIGPIPE, SIGXCPU,
// SIGXFSZ) first run the crash actions and then have the effect they had before: a core dump, or
// the report of a sanitizer. SIGKILL cannot be caught: what must survive that needs a note on disk
// too, as ReadaheadGuard keeps one. A signal that was ignored before (nohup) stays ignored.
//
// Handlers and actions are inherited by fork, but actions run only in the process that made them.
#ifndef TESTBED_DEVICE_OS_SIGNAL_GUARD_H_
#define TESTBED_DEVICE_OS_SIGNAL_GUARD_H_

#include <signal.h>

#include <cstddef>
#include <cstdint>

namespace testbed {

// Whether the run should end. Cheap enough for every operation; safe in any thread.
bool StopRequested();
// The signal that asked, 0 when none did; RequestStop without a signal reports SIGTERM.
int StopSignal();
void RequestStop();

// Installs the handlers while it lives; at most one at a time. The destructor puts the earlier
// handlers back and clears the stop request.
class SignalGuard {
 public:
  SignalGuard();
  ~SignalGuard();
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;
};

// Something to undo when the process ends without unwinding: by a signal that SignalGuard sees, or
// by exit(). `run` must be async-signal-safe (signal-safety(7)) and may be called more than once.
// When this object ends nothing is run: the normal way out does its own undoing. Throws Error when
// there are more actions than room for them (kMost).
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
