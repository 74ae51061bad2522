// From WiredTiger's return codes and messages to Error sentences, and back at the file layer.
//
// WiredTiger tells what went wrong in two ways: an int from the call, and messages to an event
// handler on the thread that failed. The file layer below it (file_system.h) knows a third thing,
// the path and errno. Errors keeps the best sentence of them per thread, and the cause of a panic
// for all threads, because after a panic every call on the connection fails with WT_PANIC.
//
//   Errors errors;                                    // outlives the connection
//   errors.Check(wiredtiger_open(dir, errors.handler(), config, &conn), "opening " + dir);
//
// Thread-safe.
#ifndef TESTBED_ENGINES_WIREDTIGER_ERRORS_H_
#define TESTBED_ENGINES_WIREDTIGER_ERRORS_H_

#include <wiredtiger.h>

#include <mutex>
#include <optional>
#include <string>

#include "device/error.h"

namespace testbed::wiredtiger {

class Errors {
 public:
  Errors();
  Errors(const Errors&) = delete;
  Errors& operator=(const Errors&) = delete;

  WT_EVENT_HANDLER* handler() { return &handler_; }

  // Throws the Error that `code` means; `doing` is a phrase, as in "reading table t".
  [[noreturn]] void Throw(int code, const std::string& doing);
  void Check(int code, const std::string& doing) {
    if (code != 0) Throw(code, doing);
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
  std::mutex mutex_;
  std::optional<Error> panic_cause_;
};

// Called in a file-layer callback that caught `error`: remembers its sentence for the thread and
// returns the code that WiredTiger is to be told.
int FileError(const Error& error);

}  // namespace testbed::wiredtiger

#endif  // TESTBED_ENGINES_WIREDTIGER_ERRORS_H_
