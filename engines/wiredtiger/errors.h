// Errors turns WiredTiger's return codes and messages into Error; FileError turns an Error of the
// file layer into a return code for WiredTiger.
//
// WiredTiger reports a failure in two ways: the call returns an int, and an event handler receives
// messages on the thread that failed. The file layer (file_system.h) knows more, the path and
// errno. Errors keeps the most exact sentence of these for each thread. For all threads it keeps
// the cause of a panic, because after a panic every call on the connection fails with WT_PANIC.
// The call in which the panic happens may however succeed (CheckDurable).
//
//   Errors errors;                                    // outlives the connection
//   errors.Check(wiredtiger_open(dir.c_str(), errors.handler(), config.c_str(), &connection),
//                "opening the database in " + dir);
//
// Thread-safe.
#ifndef TESTBED_ENGINES_WIREDTIGER_ERRORS_H_
#define TESTBED_ENGINES_WIREDTIGER_ERRORS_H_

#include <wiredtiger.h>

#include <atomic>
#include <optional>
#include <string>

#include "device/error.h"
#include "device/os/mutex.h"

namespace testbed::wiredtiger {

class Errors {
 public:
  Errors();
  Errors(const Errors&) = delete;
  Errors& operator=(const Errors&) = delete;

  WT_EVENT_HANDLER* handler() { return &handler_; }

  // Throws the Error for the return code of a call that failed. `doing` names what failed in the
  // sentence: "reading table t". If the thread has received a message with the same code, uses the
  // message once.
  [[noreturn]] void Throw(int code, const std::string& doing);
  // Throws unless `code` is 0.
  void Check(int code, const std::string& doing) {
    if (code != 0) Throw(code, doing);
  }
  // Returns whether WiredTiger has panicked. A call that has met the panic sees true after its
  // return.
  bool panicked() const { return panicked_.load(std::memory_order_acquire); }
  // Throws Error after a panic. The engine calls it when a commit, a checkpoint or a flush of the
  // log has succeeded, before it reports the success. WiredTiger 11.0.0 to 11.3.1 return success
  // for a commit whose log record they could not write, when the record is larger than half a log
  // buffer: __log_write_internal releases the record's slot after the failed write, or after the
  // panic of another thread, and the success of the release replaces the error.
  void CheckDurable(const char* doing) {
    if (panicked()) Throw(WT_PANIC, doing);
  }

 private:
  struct Handler : WT_EVENT_HANDLER {
    Handler() : WT_EVENT_HANDLER{} {}
    Errors* owner = nullptr;
  };
  static int HandleError(WT_EVENT_HANDLER* handler, WT_SESSION* session, int code,
                         const char* message);
  static int HandleMessage(WT_EVENT_HANDLER* handler, WT_SESSION* session, const char* message);

  Handler handler_;
  std::atomic<bool> panicked_{false};
  Mutex mutex_;  // protects panic_cause_
  std::optional<Error> panic_cause_ GUARDED_BY(mutex_);
};

// Keeps the error's sentence for the calling thread, and returns the code that a callback of the
// file layer must return to WiredTiger after it has caught `error`.
int FileError(const Error& error);

}  // namespace testbed::wiredtiger

#endif  // TESTBED_ENGINES_WIREDTIGER_ERRORS_H_
