// Settings are the EngineOptions of the mysql engine, from which the arguments of a private server
// and the setup of each connection follow. EffectiveSettings reports what the server has in force.
#ifndef TESTBED_ENGINES_MYSQL_SETTINGS_H_
#define TESTBED_ENGINES_MYSQL_SETTINGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "engines/engine.h"
#include "engines/mysql/connection.h"
#include "engines/mysql/dialect.h"
#include "engines/mysql/versions.h"
#include "engines/sql/mariadb_settings.h"

namespace testbed::mysql {

struct Settings {
  bool is_private = true;               // the run starts the server
  std::vector<ConnectOptions> targets;  // addresses of a server that runs already
  std::string program;                  // path of mariadbd, for a private server
  Version version = kNewest;
  std::string base;  // directory of the program's own files; empty: compiled in
  size_t max_value_size = mariadb::kMaxValueSize;  // bytes
  std::string schema = "testbed";
  Access access = Access::kPrepared;
  Storage storage = Storage::kInnodb;
  IoMode io = IoMode::kBuffered;
  Durability durability = Durability::kLazy;
  uint32_t page_size = 16384;
  uint32_t lazy_interval_ms = 100;
  uint32_t conflict_wait_ms = 0;
  uint32_t checkpoint_wait_s = 600;         // limit of a checkpoint's time on a given server
  bool create = true, replace = false;      // as in EngineOptions
  std::string guest_of;                     // as in EngineOptions
  bool goes_on = false;                     // clients go on at another address when theirs is lost
  bool has_binary_log = false;              // the private server writes a binary log
  std::vector<std::string> server;          // arguments --name=value of the private server
  std::vector<std::string> server_options;  // those arguments that server_option gave
};

// Returns the values of the option `server`: the names of the servers that a run can start.
std::vector<std::string> ServerNames();
// Throws Error (kUsage) for a value that an option does not accept, and when a private server is
// wanted and its program is not installed.
Settings MakeSettings(const EngineOptions& options);
// Throws Error (kUsage) for a value that an option does not accept. Looks for no program.
void CheckSettings(const EngineOptions& options);
Capabilities MysqlCapabilities();

}  // namespace testbed::mysql

#endif  // TESTBED_ENGINES_MYSQL_SETTINGS_H_
