#include "engines/pebble/library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "device/error.h"

namespace testbed::pebble {
namespace {

constexpr char kFile[] = TESTBED_PEBBLE_LIBRARY;

std::string HowToGetIt() {
  return "pebble needs its library, which tools/setup/build_pebble.sh builds (it takes Go 1.25 or "
         "newer, and about four minutes of a processor)";
}

template <typename Function>
void Find(void* handle, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(::dlsym(handle, name));
  if (*function != nullptr) return;
  throw Error(Error::kUsage,
              std::string(kFile) + " has no " + name + ": build it anew; " + HowToGetIt());
}

}  // namespace

Library& Library::Get() {
  static Library library;
  if (library.process_ != ::getpid()) {
    throw Error(Error::kRun,
                "pebble was used by the parent of this process, and its threads are there alone: "
                "open the database in a process of its own");
  }
  return library;
}

// RTLD_NODELETE and the missing dlclose keep the library to the end: Go's runtime has threads in
// it.
Library::Library() : process_(::getpid()) {
  void* const handle = ::dlopen(kFile, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) throw Error(Error::kUsage, HowToGetIt() + " (" + ::dlerror() + ")");
#define TESTBED_FIND(name) Find(handle, #name, &calls_.name)
  TESTBED_FIND(pebble_interface);
  if (const int is = calls_.pebble_interface(); is != PEBBLE_INTERFACE) {
    throw Error(Error::kUsage, std::string(kFile) + " has interface " + std::to_string(is) +
                                   ", and this testbed needs " + std::to_string(PEBBLE_INTERFACE) +
                                   ": build it anew; " + HowToGetIt());
  }
  TESTBED_FIND(pebble_version);
  TESTBED_FIND(pebble_open);
  TESTBED_FIND(pebble_close);
  TESTBED_FIND(pebble_failed);
  TESTBED_FIND(pebble_new_session);
  TESTBED_FIND(pebble_end_session);
  TESTBED_FIND(pebble_get);
  TESTBED_FIND(pebble_multi_get);
  TESTBED_FIND(pebble_put);
  TESTBED_FIND(pebble_erase);
  TESTBED_FIND(pebble_commit);
  TESTBED_FIND(pebble_rollback);
  TESTBED_FIND(pebble_new_iterator);
  TESTBED_FIND(pebble_end_iterator);
  TESTBED_FIND(pebble_move);
  TESTBED_FIND(pebble_next_rows);
  TESTBED_FIND(pebble_sync_log);
  TESTBED_FIND(pebble_flush);
  TESTBED_FIND(pebble_compact);
  TESTBED_FIND(pebble_settings);
  TESTBED_FIND(pebble_counters);
#undef TESTBED_FIND
  version_ = Take(calls_.pebble_version());
}

std::string Library::Missing() {
  std::error_code error;
  return std::filesystem::exists(kFile, error) ? "" : HowToGetIt();
}

std::string Library::Take(char* text) {
  std::string copy = text != nullptr ? text : "";
  std::free(text);
  return copy;
}

void Library::Fail(PebbleCode code, char* error, const char* doing) {
  const std::string sentence = std::string("pebble, ") + doing + ": " + Take(error);
  switch (code) {
    case PEBBLE_CORRUPTION:
      throw Error(Error::kCorruption, sentence);
    case PEBBLE_USAGE:
      throw Error(Error::kUsage, sentence);
    default:
      throw Error(Error::kIo, sentence);
  }
}

}  // namespace testbed::pebble
