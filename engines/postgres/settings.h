// Settings are the EngineOptions of the postgres engine, from which the arguments of a private
// server and the setup of each connection follow. EffectiveSettings reports what the server has in
// force.
#ifndef TESTBED_ENGINES_POSTGRES_SETTINGS_H_
#define TESTBED_ENGINES_POSTGRES_SETTINGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "engines/engine.h"
#include "engines/postgres/target.h"
#include "engines/postgres/versions.h"

namespace testbed::postgres {

struct Settings {
  std::vector<Target> targets;  // servers that run already; empty: a private one is started
  std::string programs;         // directory of initdb and postgres; empty with `targets`
  Version version = 0;          // version of these programs
  std::string schema = "testbed";
  Durability durability = Durability::kLazy;
  uint32_t lazy_interval_ms = 100;
  uint32_t conflict_wait_ms = 0;
  uint64_t wal_segment_size = 0;      // bytes
  uint64_t checkpoint_log_bytes = 0;  // bytes of log from the begin of a checkpoint to the next
  bool checksums = true;
  bool create = true, replace = false;  // as in EngineOptions
  std::string guest_of;                 // as in EngineOptions
  bool goes_on = false;                 // clients go on at another address when theirs is lost
  std::vector<std::string> server;      // settings name=value of the private server
};

// Throws Error (kUsage) for a value that an option does not accept, and when a private server is
// wanted and its programs are not installed.
Settings MakeSettings(const EngineOptions& options);
// Throws Error (kUsage) for a value that an option does not accept. Looks for no program.
void CheckSettings(const EngineOptions& options);
Capabilities PostgresCapabilities();

// Returns the statements that each connection begins with.
std::string SessionSetup(const Settings& settings);

// Returns the directory of the newest installed server's programs, or of the given version's
// ("15"); empty when there is none.
std::string FindPrograms(const std::string& version);

inline constexpr uint32_t kPageSize = 8192;
inline constexpr size_t kMaxKeySize = 2000;
inline constexpr size_t kMaxValueSize = 16 << 20;

}  // namespace testbed::postgres

#endif  // TESTBED_ENGINES_POSTGRES_SETTINGS_H_
