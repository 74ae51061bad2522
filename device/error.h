// Error is testbed's only exception type: an error that a user can cause or must know of. what() is
// a full sentence that names the thing at fault and what to do; main() prints it as one line.
//
//   throw Error(Error::kUsage, "--page-size 3k is not a power of two from 4k to 64k");
//
// Presence and absence (a key that is not there) are return values, never errors.
#ifndef TESTBED_DEVICE_ERROR_H_
#define TESTBED_DEVICE_ERROR_H_

#include <exception>
#include <stdexcept>
#include <string>

namespace testbed {

class Error : public std::runtime_error {
 public:
  enum Kind {
    kUsage,       // the caller gave a wrong option, environment or argument, and it was refused
    kIo,          // the operating system refused or failed; code() is its errno, if there is one
    kCorruption,  // bytes on disk differ from the bytes that were written
    kRun,         // a run began and could not be finished
  };

  // Makes an error of one line: control characters in `sentence`, which a name or a foreign file
  // may bring along, are written as \xHH.
  Error(Kind kind, const std::string& sentence, int code = 0)
      : std::runtime_error(Printable(sentence)), kind_(kind), code_(code) {}

  // Returns a kIo error whose sentence says that `call` ("open", "fsync", ...) on `path` failed
  // with errno `code`.
  static Error Io(const std::string& call, const std::string& path, int code);

  // Returns the kRun error for memory that cannot be had. Its sentence is "no memory is left", then
  // `use`, which says what the memory was for ("for a connection") or is empty, and then the
  // advice.
  static Error NoMemory(const std::string& use, const std::string& advice = kMoreMemory);
  // Returns `exception` as an Error: an Error as it is, NoMemory for a std::bad_alloc, and for any
  // other a kRun error with its what(). Only the last case needs memory.
  static Error Of(const std::exception& exception);

  // Returns the same error with another sentence.
  Error With(const std::string& sentence) const {
    Error error(kind_, sentence, code_);
    error.of_sync_ = of_sync_;
    return error;
  }

  Kind kind() const { return kind_; }
  int code() const { return code_; }  // errno, or 0 when the error has none
  // Returns whether a call failed because a disk or a quota was full, so that it may succeed once
  // there is room. False for a sync that found the disk full: the kernel has dropped the pages that
  // it could not write, and the next sync would succeed without them.
  bool disk_is_full() const;

 private:
  static constexpr char kMoreMemory[] =
      "free some, or give a larger --ram, a smaller cache or less to do";
  static std::string Printable(const std::string& sentence);

  Kind kind_;
  int code_;
  bool of_sync_ = false;
};

// Returns the sentence of Error::Of(exception), which is valid as long as the exception lives.
const char* SentenceOf(const std::exception& exception);

}  // namespace testbed

#endif  // TESTBED_DEVICE_ERROR_H_
