// A Library is Pebble, loaded at run time: the shared library that engines/pebble/library builds in
// Go.
//
//   Library& library = Library::Get();
//   library.Run("flushing its memtables",
//               [&](char** error) { return library.calls().pebble_flush(db, error); });
//
// It is loaded once per process and never unloaded, because Go's runtime cannot end. Go's threads
// do not survive a fork, so a process that forked after the first Get must not use it.
#ifndef TESTBED_ENGINES_PEBBLE_LIBRARY_H_
#define TESTBED_ENGINES_PEBBLE_LIBRARY_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "engines/pebble/library/interface.h"

namespace testbed::pebble {

// These are the functions of the library. Their names are those in
// engines/pebble/library/pebble.go.
struct Calls {
  int (*pebble_interface)();
  char* (*pebble_version)();
  PebbleCode (*pebble_open)(PebbleBytes dir, PebbleBytes settings, PebbleHost* host, uintptr_t* db,
                            char** error);
  PebbleCode (*pebble_close)(uintptr_t db, char** error);
  PebbleCode (*pebble_failed)(uintptr_t db, char** error);
  uintptr_t (*pebble_new_session)(uintptr_t db);
  void (*pebble_end_session)(uintptr_t session);
  PebbleCode (*pebble_get)(uintptr_t session, PebbleBytes key, PebbleBytes* value, char** error);
  PebbleCode (*pebble_multi_get)(uintptr_t session, const PebbleBytes* keys, size_t count,
                                 PebbleBytes* values, char** error);
  PebbleCode (*pebble_put)(uintptr_t session, PebbleBytes key, PebbleBytes value, char** error);
  PebbleCode (*pebble_erase)(uintptr_t session, PebbleBytes key, char** error);
  PebbleCode (*pebble_commit)(uintptr_t session, uint64_t* bytes, char** error);
  void (*pebble_rollback)(uintptr_t session);
  PebbleCode (*pebble_new_iterator)(uintptr_t session, PebbleBytes lower, PebbleBytes upper,
                                    uintptr_t* iterator, char** error);
  void (*pebble_end_iterator)(uintptr_t iterator);
  PebbleCode (*pebble_move)(uintptr_t iterator, PebbleMove move, PebbleBytes key, PebbleBytes* row,
                            PebbleBytes* value, char** error);
  PebbleCode (*pebble_next_rows)(uintptr_t iterator, uint32_t most, char* buffer, size_t room,
                                 uint32_t* sizes, uint32_t* rows, int* stands, char** error);
  PebbleCode (*pebble_sync_log)(uintptr_t db, char** error);
  PebbleCode (*pebble_flush)(uintptr_t db, char** error);
  PebbleCode (*pebble_compact)(uintptr_t db, PebbleBytes from, PebbleBytes to, char** error);
  char* (*pebble_settings)(uintptr_t db);
  char* (*pebble_counters)(uintptr_t db);
};

class Library {
 public:
  // Loads the library at the first call. Throws Error (kUsage) when it is not there or is of
  // another release, and Error (kRun) in a process that was forked after it was loaded.
  // Thread-safe.
  static Library& Get();
  // Returns whether this process was forked after the library was loaded. It then leaves to its
  // parent what the library has made: Go's threads, which end a session or a database, are there
  // alone.
  static bool InForkedChild();
  // Returns why the library cannot be loaded and how to get it; empty when its file is there.
  static std::string Missing();
  // Reads the file of the library into memory. Loads nothing.
  static void ReadCode();

  const Calls& calls() const { return calls_; }
  const std::string& version() const { return version_; }  // versions of Pebble and of Go

  // Runs call(&error), which returns a PebbleCode. Returns true for PEBBLE_OK and false for
  // PEBBLE_NOT_FOUND, and throws the Error of any other code. `doing` names what failed in the
  // sentence: "reading a row".
  template <typename Call>
  static bool Run(const char* doing, Call&& call) {
    char* error = nullptr;
    const PebbleCode code = call(&error);
    if (code == PEBBLE_OK || code == PEBBLE_NOT_FOUND) [[likely]]
      return code == PEBBLE_OK;
    Fail(code, error, doing);
  }
  // Returns `text`, which is memory from malloc, and frees it.
  static std::string Take(char* text);

 private:
  Library();
  static Library& Loaded();
  [[noreturn]] static void Fail(PebbleCode code, char* error, const char* doing);

  Calls calls_{};
  std::string version_;
  pid_t process_ = 0;  // the process that has loaded the library
};

inline PebbleBytes ToBytes(std::string_view bytes) { return {bytes.data(), bytes.size()}; }
inline std::string_view ToView(const PebbleBytes& bytes) {
  return {bytes.size == 0 ? "" : bytes.data, bytes.size};
}

}  // namespace testbed::pebble

#endif  // TESTBED_ENGINES_PEBBLE_LIBRARY_H_
