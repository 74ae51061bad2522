#include "engines/wiredtiger/errors.h"

#include <atomic>
#include <cerrno>
#include <memory>
#include <new>
#include <string_view>
#include <utility>

#include "device/os/mutex.h"
#include "device/os/thread.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TESTBED_LEAK_CHECK 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define TESTBED_LEAK_CHECK 1
#endif

namespace testbed::wiredtiger {
namespace {

// This is true after a panic, because WiredTiger does not free its memory then when it closes.
std::atomic<bool> leaks_memory{false};

// A ThreadError is the last error that WiredTiger reported on a thread. WiredTiger may have handled
// the error (a file that need not exist), so Throw uses it only when the failed call returned the
// same code.
struct ThreadError {
  int code = 0;
  // If true, the sentence comes from the file layer or is about a damaged page. Later messages of
  // WiredTiger on the same failure say less, and do not replace it.
  bool exact = false;
  Error::Kind kind = Error::kRun;
  std::string sentence;
};

// Returns the last error of the calling thread. A database that is closed after the thread_local
// objects are destroyed may set it, too. Returns null when there is no memory for it; then only the
// code that a call returns tells of its failure.
ThreadError* LastError() noexcept {
  try {
    return OfThread([] { return std::make_unique<ThreadError>(); });
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

// Returns the sentence of a message of WiredTiger. A message begins with time, process, file, call
// and a severity in brackets; some then have a C function and line; the sentence follows.
std::string_view WithoutPrefix(std::string_view message) {
  for (std::string_view mark : {"[ERROR]: ", "[WARNING]: ", "[NOTICE]: "}) {
    const size_t at = message.find(mark);
    if (at == std::string_view::npos) continue;
    message = message.substr(at + mark.size());
    break;
  }
  const size_t end = message.find(": ");
  const bool function = message.starts_with("__") && end != std::string_view::npos &&
                        message.substr(0, end).find(", ") != std::string_view::npos;
  return function ? message.substr(end + 2) : message;
}

bool SpeaksOfDamage(std::string_view message) {
  return message.find("checksum error") != std::string_view::npos ||
         message.find("corrupt") != std::string_view::npos ||
         message.find("does not appear to be a WiredTiger file") != std::string_view::npos ||
         message.find("unable to read root page") != std::string_view::npos;
}

// Returns whether the message is a line of the dump that WiredTiger prints of a page with a wrong
// checksum.
bool IsPageDump(std::string_view message) {
  return message.find("(chunk ") != std::string_view::npos;
}

Error::Kind KindOf(int code) {
  switch (code) {
    case EINVAL:
    case ENOTSUP:
    case EBUSY:
      return Error::kUsage;
    case WT_TRY_SALVAGE:
      return Error::kCorruption;
    default:
      return code > 0 ? Error::kIo : Error::kRun;
  }
}

}  // namespace

Errors::Errors() {
  handler_.handle_error = &HandleError;
  handler_.handle_message = &HandleMessage;
  handler_.owner = this;
}

int Errors::HandleError(WT_EVENT_HANDLER* handler, WT_SESSION*, int code, const char* message) {
  Errors* errors = static_cast<Handler*>(handler)->owner;
  const std::string_view text = WithoutPrefix(message);
  if (IsPageDump(text)) return 0;
  ThreadError* const last = LastError();
  if (code == WT_PANIC) {
    leaks_memory = true;
    LockGuard lock(errors->mutex_);
    if (!errors->panic_cause_) {
      const ThreadError cause = last != nullptr ? *last : ThreadError();
      errors->panic_cause_.emplace(cause.kind, cause.sentence, cause.code);
    }
    // WiredTiger sets the connection's panic flag after this call. An exchange keeps the two stores
    // in this order for any thread that sees WiredTiger's flag.
    errors->panicked_.exchange(true);
    return 0;
  }
  // The message of EINVAL quotes the refused configuration, which contains "corruption_abort".
  const bool damage = code != EINVAL && SpeaksOfDamage(text);
  if (damage) {
    // Damage that recovery finds leads to a panic, whose message does not name the cause.
    LockGuard lock(errors->mutex_);
    if (!errors->panic_cause_) errors->panic_cause_.emplace(Error::kCorruption, std::string(text));
  }
  // WiredTiger reports a wrong checksum with code 0 and then, as WT_ERROR, "fatal read error".
  if (damage && code == 0) code = WT_ERROR;
  if (last == nullptr || (last->exact && last->code == code)) return 0;
  last->code = code;
  last->exact = damage;
  last->kind = damage ? Error::kCorruption : KindOf(code);
  last->sentence = text;
  return 0;
}

int Errors::HandleMessage(WT_EVENT_HANDLER*, WT_SESSION*, const char*) { return 0; }

void Errors::Throw(int code, const std::string& doing) {
  std::string before = "wiredtiger failed at " + doing + ": ";
  if (code == WT_PANIC) {
    LockGuard lock(mutex_);
    if (panic_cause_) {
      const bool damage = panic_cause_->kind() == Error::kCorruption;
      throw Error(panic_cause_->kind(),
                  before + panic_cause_->what() +
                      (damage ? "; the database is damaged: load it anew"
                              : "; open the database again to recover it"),
                  panic_cause_->code());
    }
  }
  if (code == ENOMEM) throw Error::NoMemory("for wiredtiger's " + doing);
  ThreadError* const last = LastError();
  const ThreadError error = last != nullptr ? std::exchange(*last, ThreadError()) : ThreadError();
  if (error.code == code && !error.sentence.empty()) {
    // WiredTiger has no code for this, only the sentence.
    if (error.sentence.find("out of sessions") != std::string::npos) {
      throw Error(Error::kUsage, before + error.sentence +
                                     "; give fewer --threads, or let it have more sessions "
                                     "(--engine-option connection_config=session_max=N)");
    }
    throw Error(error.kind, before + error.sentence, code > 0 ? code : 0);
  }
  throw Error(KindOf(code), before + wiredtiger_strerror(code), code > 0 ? code : 0);
}

int FileError(const Error& error) {
  const int code = error.code() != 0 ? error.code() : WT_ERROR;
  if (ThreadError* const last = LastError()) {
    last->code = code;
    last->exact = true;
    last->kind = error.kind();
    last->sentence = error.what();
  }
  return code;
}

}  // namespace testbed::wiredtiger

#ifdef TESTBED_LEAK_CHECK
// LeakSanitizer calls this at the end of the process. It skips the leak check only after a panic.
extern "C" __attribute__((visibility("default"))) int __lsan_is_turned_off() {
  return testbed::wiredtiger::leaks_memory ? 1 : 0;
}
#endif
