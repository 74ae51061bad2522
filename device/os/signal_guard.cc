#include "device/os/signal_guard.h"

#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>

#include "device/error.h"
#include "device/os/mutex.h"

namespace testbed {
namespace {

constexpr int kStopSignals[] = {SIGINT, SIGTERM, SIGHUP};
constexpr int kCrashSignals[] = {SIGSEGV, SIGBUS,  SIGFPE, SIGILL, SIGABRT,
                                 SIGQUIT, SIGTRAP, SIGSYS, SIGXCPU};
// A terminal sends Ctrl-C to the whole process group, and a parent may pass it on. Two signals
// within this time are one request.
constexpr int64_t kSameRequestNs = 200'000'000;

std::atomic<int> stop_signal{0};
std::atomic<int64_t> stop_time{0};
// passes_on is the process that PassesStopsOn names. A sender in an outer process namespace has the
// number 0.
constexpr pid_t kNobody = -1;
std::atomic<pid_t> passes_on{kNobody};

struct ActionSlot {
  std::atomic<void (*)(void*)> run{nullptr};
  std::atomic<void*> argument{nullptr};
  std::atomic<pid_t> owner{0};
  uint64_t id = 0;  // id_ of the CrashAction that holds the slot
};
ActionSlot actions[CrashAction::kMost];
Mutex actions_mutex;
uint64_t last_id GUARDED_BY(actions_mutex) = 0;

struct sigaction before[NSIG];
std::atomic<bool> installed[NSIG];
alignas(16) char alternate_stack[64 * 1024];

int64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

void RunCrashActions() {
  const pid_t self = getpid();
  for (ActionSlot& slot : actions) {
    auto* run = slot.run.load(std::memory_order_acquire);
    if (run != nullptr && slot.owner.load(std::memory_order_relaxed) == self) {
      run(slot.argument.load(std::memory_order_relaxed));
    }
  }
}

// Makes the signal have, when the handler returns, the effect that it had before SignalGuard.
// `faults_again` says that the instruction that caused the signal will cause it again.
void Die(int signal, bool faults_again) {
  sigaction(signal, &before[signal], nullptr);
  if (!faults_again) raise(signal);
}

void OnStop(int signal, siginfo_t* info, void*) {
  const int64_t now = NowNs();
  int none = 0;
  if (stop_signal.compare_exchange_strong(none, signal)) {
    stop_time.store(now);
    return;
  }
  if (info->si_code == SI_USER && info->si_pid == passes_on.load()) return;
  const int64_t asked = stop_time.load();
  if (asked == 0 || now - asked < kSameRequestNs) return;
  RunCrashActions();
  Die(signal, false);
}

void OnCrash(int signal, siginfo_t* info, void*) {
  RunCrashActions();
  const bool fault = signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL;
  // When the kernel raised the fault, the instruction raises it again after the handler's return,
  // with its address, which the earlier handler may report. A fault that a process sent (si_code <=
  // 0) is not repeated.
  Die(signal, fault && info->si_code > 0);
}

// This handler does nothing: the call that raised the signal fails with an errno. SIG_IGN would do
// the same, but programs that this one executes would inherit it.
void OnRefusedWrite(int, siginfo_t*, void*) {}

void Install(int signal, void (*handler)(int, siginfo_t*, void*), int flags) {
  struct sigaction action = {};
  sigaction(signal, nullptr, &before[signal]);
  const bool takes_info = (before[signal].sa_flags & SA_SIGINFO) != 0;
  if (!takes_info && before[signal].sa_handler == SIG_IGN) return;
  action.sa_sigaction = handler;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_SIGINFO | flags;
  sigaction(signal, &action, nullptr);
  installed[signal] = true;
}

}  // namespace

void PassesStopsOn(pid_t parent) { passes_on = parent; }

bool StopRequested() { return stop_signal.load(std::memory_order_relaxed) != 0; }

SignalGuard::SignalGuard() {
  // Handlers get a stack of their own, so that they can run when the thread's stack has overflowed.
  stack_t current = {};
  sigaltstack(nullptr, &current);
  if ((current.ss_flags & SS_DISABLE) != 0) {
    stack_t own = {};
    own.ss_sp = alternate_stack;
    own.ss_size = sizeof(alternate_stack);
    sigaltstack(&own, nullptr);
  }
  // SA_RESTART lets system calls go on after a request to stop, so that engines see no EINTR.
  for (int signal : kStopSignals) Install(signal, &OnStop, SA_RESTART);
  for (int signal : {SIGPIPE, SIGXFSZ}) Install(signal, &OnRefusedWrite, SA_RESTART);
  for (int signal : kCrashSignals) Install(signal, &OnCrash, SA_ONSTACK);
}

SignalGuard::~SignalGuard() {
  for (int signal = 1; signal < NSIG; ++signal) {
    if (installed[signal].exchange(false)) sigaction(signal, &before[signal], nullptr);
  }
  stop_signal = 0;
  stop_time = 0;
  passes_on = kNobody;
}

CrashAction::CrashAction(void (*run)(void*), void* argument) {
  const LockGuard lock(actions_mutex);
  static const int at_exit = std::atexit(&RunCrashActions);
  (void)at_exit;
  for (size_t i = 0; i < kMost; ++i) {
    const bool mine = actions[i].owner == getpid();
    if (actions[i].run != nullptr && mine) continue;
    actions[i].run = nullptr;  // drops an action of the parent, inherited by fork
    actions[i].argument = argument;
    actions[i].owner = getpid();
    actions[i].id = id_ = ++last_id;
    actions[i].run.store(run, std::memory_order_release);
    slot_ = i;
    return;
  }
  throw Error(Error::kRun, "no room for one more action to undo when the process crashes");
}

CrashAction::~CrashAction() {
  const LockGuard lock(actions_mutex);
  // In a forked child, another action may have taken this slot.
  if (actions[slot_].id == id_) actions[slot_].run = nullptr;
}

}  // namespace testbed
