// The build of this program. cmake/BuildInfo.cmake writes the definition at each build.
#ifndef TESTBED_TOOLS_RELEASE_BUILD_INFO_H_
#define TESTBED_TOOLS_RELEASE_BUILD_INFO_H_

#include <string>

namespace testbed {

struct BuildInfo {
  std::string commit;    // commit of the sources; "-dirty" follows when files differ; or "unknown"
  std::string compiler;  // "GNU 12.2.0"
  std::string type;      // "Release"
  std::string sources;   // hash of the code, which tells builds of one "-dirty" commit apart

  // Returns what is the same in two programs of one build alone.
  std::string id() const { return commit + " " + sources + " " + compiler + " " + type; }
};
BuildInfo ThisBuild();

}  // namespace testbed

#endif  // TESTBED_TOOLS_RELEASE_BUILD_INFO_H_
