// This header lists the files of a private server of PostgreSQL, by the names that the releases
// from 9.6 on give them.
#ifndef TESTBED_ENGINES_POSTGRES_CLUSTER_FILES_H_
#define TESTBED_ENGINES_POSTGRES_CLUSTER_FILES_H_

#include <string>
#include <vector>

namespace testbed::postgres {

// Returns the patterns of EngineInfo::files: the cluster in cluster/, the record of the schema and
// the server's messages. Only in the directories that the server itself has named for temporary
// files does a pattern stand for every name.
std::vector<std::string> EngineFiles();

}  // namespace testbed::postgres

#endif  // TESTBED_ENGINES_POSTGRES_CLUSTER_FILES_H_
