#include "engines/mysql/library.h"

#include <dlfcn.h>

#include <string>

#include "device/error.h"

namespace testbed::mysql {
namespace {

constexpr char kFile[] = "libmariadb.so.3";

Client Load() {
  const std::string needs = std::string("mysql needs MariaDB's client library ") + kFile +
                            ": apt-get install libmariadb3";
  void* const handle = ::dlopen(kFile, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) throw Error(Error::kUsage, needs + " (" + ::dlerror() + ")");
  Client client;
#define TESTBED_FIND(name)                                                       \
  client.name = reinterpret_cast<decltype(client.name)>(::dlsym(handle, #name)); \
  if (client.name == nullptr) throw Error(Error::kUsage, needs + ", with " #name);
  TESTBED_MARIADB_CALLS(TESTBED_FIND)
  TESTBED_FIND(mysql_get_server_version)
#undef TESTBED_FIND
  return client;
}

}  // namespace

const Client& LoadClient() {
  static const Client client = Load();
  return client;
}

}  // namespace testbed::mysql
