#include "engines/mysql/versions.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <system_error>

#include "device/error.h"
#include "device/os/child_process.h"
#include "device/os/mutex.h"

namespace testbed::mysql {

Version ParseVersion(std::string_view text) {
  constexpr int kParts = 3;
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at != end; ++at) {
    if (at != text.data() && at[-1] >= '0' && at[-1] <= '9') continue;
    Version version = 0;
    const char* next = at;
    for (int parts = 0;;) {
      unsigned part = 0;
      const auto [rest, code] = std::from_chars(next, end, part);
      if (code != std::errc() || part > 99) break;
      version = version * 100 + part;
      if (++parts == kParts) return version;
      if (rest == end || *rest != '.') break;
      next = rest + 1;
    }
  }
  return 0;
}

std::string VersionName(Version version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

const std::vector<OldServer>& OldServers() {
  static const std::vector<OldServer> servers = {
      {"mariadb@10.1.23", "10.1.23", "2017-05", "XtraDB 5.6.35"},
      {"mariadb@10.2.11", "10.2.11", "2017-11", "InnoDB 5.7.20"},
  };
  return servers;
}

const OldServer* FindOldServer(std::string_view name) {
  const auto& all = OldServers();
  const auto it = std::find_if(all.rbegin(), all.rend(), [&](const OldServer& server) {
    return server.name == name || server.name.substr(0, server.name.rfind('.')) == name;
  });
  return it == all.rend() ? nullptr : &*it;
}

std::string ServerFor(Version version) {
  for (const OldServer& server : OldServers()) {
    if (ParseVersion(server.release) / 100 == version / 100) return server.name;
  }
  return "mariadb";
}

std::string FolderOf(const OldServer& server) {
  const char* const given = std::getenv("TESTBED_CACHE_DIR");
  const std::string cache = given != nullptr && *given != '\0' ? given : TESTBED_MARIADB_CACHE;
  return std::filesystem::absolute(cache + "/mariadb-" + server.release).string();
}

std::string ProgramOf(const OldServer& server) { return FolderOf(server) + "/bin/mysqld"; }

std::string FetchCommand(const OldServer& server) {
  return "tools/setup/fetch_mariadb.sh " + server.release;
}

Version VersionOfProgram(const std::string& program, const std::string& what) {
  static Mutex mutex;
  static std::map<std::string, Version> known;
  const LockGuard lock(mutex);
  if (const auto it = known.find(program); it != known.end()) return it->second;
  std::string said;
  try {
    said = RunProgram({program, "--no-defaults", "--version"});
  } catch (const Error& error) {
    said = error.what();
  }
  const size_t at = said.find("Ver ");
  const Version version = at == std::string::npos || said.find("MariaDB") == std::string::npos
                              ? 0
                              : ParseVersion(said.substr(at));
  if (version == 0) {
    throw Error(Error::kUsage, fmt::format("{}it takes the path of a mariadbd, and to --version "
                                           "this program says: {}",
                                           what, said.substr(0, said.find('\n'))));
  }
  if (version < kOldestVersion) {
    throw Error(Error::kUsage,
                fmt::format("{}it takes a MariaDB of version {} or later, and this one is {}", what,
                            VersionName(kOldestVersion), VersionName(version)));
  }
  known.emplace(program, version);
  return version;
}

}  // namespace testbed::mysql
