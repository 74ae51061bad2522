// A given server runs already when the run begins. The engine does not change its settings, so it
// must have those that the run's options ask for.
#ifndef TESTBED_ENGINES_MYSQL_GIVEN_SERVER_H_
#define TESTBED_ENGINES_MYSQL_GIVEN_SERVER_H_

#include <chrono>
#include <map>
#include <string>

#include "engines/mysql/connection.h"
#include "engines/mysql/settings.h"

namespace testbed::mysql {

// Throws Error (kUsage) when the server at `target` does not have what the settings ask for.
// `variables` are its global variables by name. The sentence names the option and what the user can
// give instead.
void CheckGivenServer(const Settings& settings, const ConnectOptions& target,
                      std::map<std::string, std::string> variables);

// Waits until the server has synced its log by itself, so that the lazy commits before the call are
// durable: the interval, and the second in which the server looks whether that is over. It is for a
// user whom the server allows no checkpoint. Throws Stopped when a stop is requested.
void AwaitLogSync(std::chrono::milliseconds lazy_interval);

}  // namespace testbed::mysql

#endif  // TESTBED_ENGINES_MYSQL_GIVEN_SERVER_H_
