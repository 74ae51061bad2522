#include "engines/sql/addresses.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <string_view>
#include <thread>

#include "device/error.h"
#include "device/lower_case.h"
#include "device/os/random_id.h"
#include "device/os/signal_guard.h"
#include "engines/elsewhere.h"
#include "engines/sql/dialect.h"
#include "engines/sql/server_options.h"

namespace testbed {
namespace {

constexpr std::chrono::milliseconds kAddressPoll(20);
constexpr char kMarks[] = "testbed_addresses";  // name of the table of AwaitAddresses

// Returns whether the address shows the row `mark`. It looks for the table first, because the table
// may reach the address late, too, and a server that lacks the table would answer with an error.
bool ShowsMark(SqlStore* store, size_t address, const std::string& table, const std::string& mark) {
  const std::string there = store->AskOne(
      fmt::format("SELECT 1 FROM information_schema.tables WHERE table_schema = '{}' AND "
                  "table_name = '{}'",
                  store->schema(), kMarks),
      address);
  return !there.empty() &&
         !store->AskOne(fmt::format("SELECT 1 FROM {} WHERE k = '{}'", table, mark), address)
              .empty();
}

}  // namespace

std::vector<std::string> SplitAt(const std::string& text, char delimiter) {
  std::vector<std::string> parts;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(delimiter, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

bool HasPasswordForPort(const std::string& url) {
  constexpr std::string_view kScheme = "://";
  const size_t scheme = url.find(kScheme);
  if (scheme == std::string::npos) return false;
  const size_t begin = scheme + kScheme.size();
  const size_t end = std::min(url.find_first_of("/?", begin), url.size());
  const std::string address = url.substr(begin, end - begin);
  const bool has_user = address.find('@') != std::string::npos;
  const bool has_scheme = address.ends_with(':') && url.compare(end, 2, "//") == 0;  // another one
  if (has_user || has_scheme || url.find('@', end) == std::string::npos) return false;
  const std::vector<std::string> parts = SplitAt(address, ',');
  return std::any_of(parts.begin(), parts.end(), [](const std::string& part) {
    const size_t bracket = part.rfind(']');  // of an IPv6 address
    const size_t colon = part.find(':', bracket == std::string::npos ? 0 : bracket);
    if (colon == std::string::npos) return false;
    const std::string port = part.substr(colon + 1);
    return port.empty() || port.find_first_not_of("0123456789") != std::string::npos;
  });
}

std::string AddressName(const std::string& host, const std::string& port) {
  if (host.empty()) return "";
  // The path of a Unix socket is not a host name, so it is not changed.
  if (host.front() == '/') return fmt::format("{}:{}", host, port);
  const std::string small = LowerCase(host);
  const bool is_ipv6 = small.find(':') != std::string::npos;
  return is_ipv6 ? fmt::format("[{}]:{}", small, port) : fmt::format("{}:{}", small, port);
}

void CheckAddresses(const std::string& engine, const std::vector<std::string>& names) {
  if (names.size() < 2) return;
  std::set<std::string> known;
  for (const std::string& name : names) {
    const char* const why =
        name.empty()                 ? "one of its addresses is empty; it takes HOST:PORT,HOST:PORT"
        : !known.insert(name).second ? "one of its addresses is there twice; it takes each once"
                                     : nullptr;
    if (why != nullptr) RefuseEngineOption(engine, "connect", "URL", why);
  }
}

std::string JoinAddresses(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

std::vector<ServerAddress> ServerAddressesOf(const SqlStore& store,
                                             const std::vector<std::string>& names) {
  std::vector<ServerAddress> all;
  for (size_t i = 0; names.size() > 1 && i < names.size(); ++i) {
    all.push_back({names[i], store.WhyLost(i)});
  }
  return all;
}

std::vector<bool> FindRepeatedServers(
    SqlStore* store, const std::function<bool(const std::string& name, size_t address)>& try_lock) {
  std::vector<bool> repeated(store->addresses());
  if (store->addresses() < 2) return repeated;
  // Nobody else asks for this lock. So if the lock is held, an earlier address has led to the same
  // server.
  const std::string name = fmt::format("testbed.server.{:016x}", RandomId());
  store->AtEach([&](size_t address) { repeated[address] = !try_lock(name, address); });
  return repeated;
}

std::vector<std::optional<EngineCounters>> CountersAtEach(
    SqlStore* store, const std::vector<bool>& repeated,
    const std::function<EngineCounters(size_t address)>& counters) {
  std::vector<std::optional<EngineCounters>> all(store->addresses());
  store->AtEach([&](size_t address) {
    all[address] = counters(address);
    all[address]->repeated = repeated[address];
  });
  return all;
}

std::string HowCharged(SqlStore* store, const std::vector<std::string>& names) {
  std::vector<std::string> not_followed;
  store->AtEach([&](size_t address) {
    if (store->IsFollowed(address)) return;
    not_followed.push_back(names[address].empty() ? "the server" : names[address]);
  });
  if (not_followed.empty()) return kChargedToOperations;
  return fmt::format(
      "to no operation at {}: a connection there is over TCP, or has no thread of "
      "the server to itself",
      JoinAddresses(not_followed));
}

void AwaitAddresses(SqlStore* store, const std::vector<std::string>& names, Error::Kind kind,
                    int patience_ms) {
  if (store->addresses() < 2) return;
  const SqlTable table{
      .name = store->dialect().Quote(store->schema()) + "." + store->dialect().Quote(kMarks),
      .column = {}};
  for (const std::string& sql : store->dialect().MakeTable(table)) store->Ask(sql);
  const std::string mark = fmt::format("{:016x}", RandomId());
  store->Ask(fmt::format("INSERT INTO {} (k, v) VALUES ('{}', '')", table.name, mark));
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(patience_ms);
  store->AtEach([&](size_t address) {
    while (address != 0 && !ShowsMark(store, address, table.name, mark)) {
      if (StopRequested()) throw Stopped("while it waited for the server at " + names[address]);
      if (std::chrono::steady_clock::now() > deadline) {
        throw Error(kind,
                    fmt::format("{}: the server at {} has not got from {} what was committed "
                                "there {} s ago; the addresses of connect must be nodes of "
                                "one cluster, or a primary first and then its replicas",
                                store->engine(), names[address], names[0], patience_ms / 1000));
      }
      std::this_thread::sleep_for(kAddressPoll);
    }
  });
}

}  // namespace testbed
