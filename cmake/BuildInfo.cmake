# Writes the source file that names the commit, the compiler and the kind of build, which every
# results document has. Runs at each build, as a commit changes no file that CMake watches; the
# file is written only when it changes.
#   cmake -DSOURCE=DIR -DOUTPUT=FILE -DCOMPILER=NAME -DBUILD_TYPE=TYPE -P BuildInfo.cmake
set(commit "unknown")
# Git looks for a repository in the folders above, too. The commit is the source's own where the source is the top of its
# repository, worktree or submodule: then the path that leads to it from the top is empty.
execute_process(COMMAND git -C ${SOURCE} rev-parse --show-prefix
  OUTPUT_VARIABLE prefix OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(NOT failed AND prefix STREQUAL "")
  execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=12 --exclude=*
    OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed)
    set(commit ${described})
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [[
#include "tools/release/build_info.h"

namespace testbed {

BuildInfo ThisBuild() { return {"@commit@", "@COMPILER@", "@BUILD_TYPE@"}; }

}  // namespace testbed
]])
