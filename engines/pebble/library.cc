#include "engines/pebble/library.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "device/error.h"
#include "device/machine/resident_code.h"
#include "device/os/library/shared_library.h"

namespace testbed::pebble {
namespace {

constexpr char kFile[] = TESTBED_PEBBLE_LIBRARY;

std::string HowToGetIt() {
  return "pebble needs its library, which tools/setup/build_pebble.sh builds (it takes Go 1.25 or "
         "newer, and about four minutes of a processor)";
}

// Returns the errno of a full disk or quota when the sentence, which ends with the words of Go for
// it, says so; else 0.
int FullDisk(const std::string& sentence) {
  if (sentence.find("no space left on device") != std::string::npos) return ENOSPC;
  return sentence.find("disk quota exceeded") != std::string::npos ? EDQUOT : 0;
}

}  // namespace

Library& Library::Loaded() {
  static Library library;
  return library;
}

bool Library::InForkedChild() { return Loaded().process_ != ::getpid(); }

Library& Library::Get() {
  Library& library = Loaded();
  if (library.process_ != ::getpid()) {
    throw Error(Error::kRun,
                "pebble was used by the parent of this process, and its threads are there alone: "
                "open the database in a process of its own");
  }
  return library;
}

Library::Library() : process_(::getpid()) {
  const SharedLibrary library(kFile, HowToGetIt());
#define TESTBED_FIND(name) library.Find(#name, &calls_.name)
  TESTBED_FIND(pebble_interface);
  library.CheckInterface(calls_.pebble_interface(), PEBBLE_INTERFACE);
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

void Library::ReadCode() { ReadProgramFile(kFile); }

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
      throw Error(Error::kIo, sentence, FullDisk(sentence));
  }
}

}  // namespace testbed::pebble
