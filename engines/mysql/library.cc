#include "engines/mysql/library.h"

#include <dlfcn.h>
#include <signal.h>

#include <string>

#include "device/account/wire.h"
#include "device/error.h"

namespace testbed::mysql {
namespace {

constexpr char kFile[] = "libmariadb.so.3";

// Calls the library for the first time. The library then makes the process ignore SIGPIPE. If the
// program had the default action, the process goes on ignoring the signal, because the library's
// writes to a lost server may raise it. Any other action of the program is put back.
void CallFirst(const Client& client) {
  struct sigaction before = {};
  ::sigaction(SIGPIPE, nullptr, &before);
  client.mysql_close(client.mysql_init(nullptr));
  if (before.sa_handler != SIG_DFL) ::sigaction(SIGPIPE, &before, nullptr);
}

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
  TESTBED_CLIENT_CALLS(TESTBED_FIND)
#undef TESTBED_FIND
  CallFirst(client);
  client.counts_wire = WatchWire(handle);
  // When a connection has TLS, a client library that was built with OpenSSL lets OpenSSL call the
  // socket. A library that was built with GnuTLS calls the socket itself.
  void* const tls = ::dlopen("libcrypto.so.3", RTLD_NOW | RTLD_NOLOAD);
  client.counts_tls_wire = client.counts_wire && (tls == nullptr || WatchWire(tls));
  return client;
}

}  // namespace

const Client& LoadClient() {
  static const Client client = Load();
  return client;
}

}  // namespace testbed::mysql
