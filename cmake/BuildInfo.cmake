# Writes the source file that names the commit, the compiler and the kind of build, which every
# results document has. Runs at each build, as a commit changes no file that CMake watches; the
# file is written only when it changes.
#   cmake -DSOURCE=DIR -DOUTPUT=FILE -DCOMPILER=NAME -DBUILD_TYPE=TYPE -P BuildInfo.cmake
execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=12 --exclude=*
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
  set(commit "unknown")
endif()
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [[
#include "tools/release/build_info.h"

namespace testbed {

BuildInfo ThisBuild() { return {"@commit@", "@COMPILER@", "@BUILD_TYPE@"}; }

}  // namespace testbed
]])
