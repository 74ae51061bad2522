// The build of this program. cmake/BuildInfo.cmake writes the definition at each build.
#ifndef TESTBED_TOOLS_RELEASE_BUILD_INFO_H_
#define TESTBED_TOOLS_RELEASE_BUILD_INFO_H_

#include <string>

namespace testbed {

struct BuildInfo {
  std::string commit;    // commit of the sources; "-dirty" follows when files differ; or "unknown"
  std::string compiler;  // "GNU 12.2.0"
  std::string type;      // "Release"
};
BuildInfo ThisBuild();

}  // namespace testbed

#endif  // TESTBED_TOOLS_RELEASE_BUILD_INFO_H_
