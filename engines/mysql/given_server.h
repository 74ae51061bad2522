// A given server runs already when the run begins. The engine does not change its settings, so it
// must have those that the run's options ask for.
#ifndef TESTBED_ENGINES_MYSQL_GIVEN_SERVER_H_
#define TESTBED_ENGINES_MYSQL_GIVEN_SERVER_H_

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

}  // namespace testbed::mysql

#endif  // TESTBED_ENGINES_MYSQL_GIVEN_SERVER_H_
