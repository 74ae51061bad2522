// The addresses of a server that runs already (--connect). Several of them lead to nodes that hold
// the same tables, as those of a cluster or a primary with its replicas. The first one gets the
// tables and the load, and client threads are connected to all of them in turn.
#ifndef TESTBED_ENGINES_SQL_ADDRESSES_H_
#define TESTBED_ENGINES_SQL_ADDRESSES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "device/error.h"
#include "engines/sql/store.h"

namespace testbed {

// Returns the parts of `text` between the delimiters, empty ones too: one more than it has
// delimiters.
std::vector<std::string> SplitAt(const std::string& text, char delimiter);

// Returns `host` and `port` as errors and results name the address, with the host in small letters
// and an IPv6 address in brackets; empty without a host. `host` may be the path of a Unix socket's
// directory.
std::string AddressName(const std::string& host, const std::string& port);

// Refuses addresses, given by their names, when they are several and one of them is empty or there
// twice. Throws Error (kUsage), which calls the engine by its name and prints no address.
void CheckAddresses(const std::string& engine, const std::vector<std::string>& names);

// Returns the names as one text.
std::string JoinAddresses(const std::vector<std::string>& names);

// Returns the address of a client thread, counted from 0, among `addresses`, which is at least 1.
inline size_t AddressOfClient(int client, size_t addresses) {
  return static_cast<size_t>(client) % addresses;
}

// Returns the addresses as Engine::ServerAddresses has them. `names` are those of the store's.
std::vector<ServerAddress> ServerAddressesOf(const SqlStore& store,
                                             const std::vector<std::string>& names);

// Returns to what the account charges the blocks that the servers of these addresses read and write
// for a client, as an effective setting says it: kChargedToOperations (engines/elsewhere.h), or a
// text that says why not.
std::string HowCharged(SqlStore* store, const std::vector<std::string>& names);

// Waits until each address shows what the first one has committed until now: writes a row there, to
// a table of its own, and looks for it at the others. Returns at once when there is one address.
// Addresses that are lost are left out. Throws Error of that kind when an address does not show the
// row within `patience_ms`, and Stopped when the run should end. `names` are the addresses' names.
void AwaitAddresses(SqlStore* store, const std::vector<std::string>& names, Error::Kind kind,
                    int patience_ms);

// How long AwaitAddresses waits when a database is opened, and when it comes to rest after a load.
inline constexpr int kPatienceAtOpening = 20'000, kPatienceAtRest = 600'000;

}  // namespace testbed

#endif  // TESTBED_ENGINES_SQL_ADDRESSES_H_
