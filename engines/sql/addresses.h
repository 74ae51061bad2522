// This header has the addresses of a server that runs already (--connect). Several addresses lead
// to nodes that hold the same tables, such as those of a cluster, or a primary and its replicas.
// Tables are made and loaded at the first address, and client threads are connected to all
// addresses in turn.
#ifndef TESTBED_ENGINES_SQL_ADDRESSES_H_
#define TESTBED_ENGINES_SQL_ADDRESSES_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "device/error.h"
#include "engines/engine.h"
#include "engines/sql/store.h"

namespace testbed {

// Returns the parts of `text` between the delimiters, including empty parts. Their number is the
// number of delimiters plus one.
std::vector<std::string> SplitAt(const std::string& text, char delimiter);

// Returns whether a URL has a password where a parser sees a port: a slash or a question mark in
// the password of user:password@host ends the address before its @. A port of digits is a port,
// since an @ may follow it in a name behind the address.
bool HasPasswordForPort(const std::string& url);

// Returns the name of an address in errors and results, "host:port", with the host in small letters
// and an IPv6 address in brackets; an empty string without a host. `host` may be the path of a Unix
// socket's directory.
std::string AddressName(const std::string& host, const std::string& port);

// Throws Error (kUsage) when there are several addresses and one of them has an empty name, or the
// same name as another. The sentence begins with the engine's name and quotes no address.
void CheckAddresses(const std::string& engine, const std::vector<std::string>& names);

// Returns the names as one text, for a sentence.
std::string JoinAddresses(const std::vector<std::string>& names);

// Returns the address of a client thread, counted from 0, among `addresses`, which is at least 1.
inline size_t AddressOfClient(int client, size_t addresses) {
  return static_cast<size_t>(client) % addresses;
}

// Returns what Engine::ServerAddresses returns. `names` are the names of the store's addresses.
std::vector<ServerAddress> ServerAddressesOf(const SqlStore& store,
                                             const std::vector<std::string>& names);

// Returns for each address whether an earlier address leads to the same server, as two names of one
// host do. `try_lock` asks the server at an address for the lock `name`, and returns whether the
// store's own connection to that address holds the lock then.
std::vector<bool> FindRepeatedServers(
    SqlStore* store, const std::function<bool(const std::string& name, size_t address)>& try_lock);

// Returns what Engine::CountersByAddress returns. `repeated` is the result of FindRepeatedServers,
// and `counters` returns the counters of the server at an address.
std::vector<std::optional<EngineCounters>> CountersAtEach(
    SqlStore* store, const std::vector<bool>& repeated,
    const std::function<EngineCounters(size_t address)>& counters);

// Returns the effective setting that says to what the account charges the blocks that the servers
// at these addresses read and write for a client: kChargedToOperations (engines/elsewhere.h), or a
// text that says why they are charged to no operation.
std::string HowCharged(SqlStore* store, const std::vector<std::string>& names);

// Waits until each address shows all that the first address has committed so far. It writes a row
// at the first address, to a table of its own, and looks for that row at the others. Returns at
// once when there is one address. Skips addresses that are lost. Throws Error of kind `kind` when
// an address does not show the row within `patience_ms`, and Stopped when the run should end.
// `names` are the names of the addresses.
void AwaitAddresses(SqlStore* store, const std::vector<std::string>& names, Error::Kind kind,
                    int patience_ms);

// These are the values of `patience_ms` when a database is opened, and when it settles after a
// load.
inline constexpr int kPatienceAtOpening = 20'000, kPatienceAtRest = 600'000;

}  // namespace testbed

#endif  // TESTBED_ENGINES_SQL_ADDRESSES_H_
