#include "engines/postgres/library.h"

#include <dlfcn.h>

#include <string>

#include "device/account/wire.h"
#include "device/error.h"

namespace testbed::postgres {
namespace {

constexpr char kFile[] = "libpq.so.5";

Libpq Load() {
  const std::string needs = std::string("postgres needs PostgreSQL's client library ") + kFile +
                            ": apt-get install libpq5";
  // RTLD_LOCAL hides the names of libpq, and of the libraries that libpq loads, from the program.
  void* const handle = ::dlopen(kFile, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) throw Error(Error::kUsage, needs + " (" + ::dlerror() + ")");
  Libpq libpq;
#define TESTBED_FIND(name)                                                      \
  libpq.name = reinterpret_cast<decltype(libpq.name)>(::dlsym(handle, #name));  \
  if (libpq.name == nullptr) {                                                  \
    throw Error(Error::kUsage, needs + " of version 14 or later, with " #name); \
  }
  TESTBED_LIBPQ_CALLS(TESTBED_FIND)
#undef TESTBED_FIND
  libpq.counts_wire = WatchWire(handle);  // TLS hands libpq's own functions the bytes to send
  return libpq;
}

}  // namespace

const Libpq& LoadLibpq() {
  static const Libpq libpq = Load();
  return libpq;
}

}  // namespace testbed::postgres
