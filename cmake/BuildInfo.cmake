# Writes the source file that names the commit, the compiler and the kind of build, which every
# results document has, and a hash of the code. Runs at each build, as a commit changes no file that
# CMake watches; the file is written only when it changes.
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
# Builds with one commit may differ: files were changed since ("-dirty" says no more), or there is no repository.
set(hashes "")
foreach(floor device engines workloads tools)
  file(GLOB_RECURSE files RELATIVE ${SOURCE} ${SOURCE}/${floor}/*.cc ${SOURCE}/${floor}/*.h)
  foreach(file IN LISTS files)
    if(EXISTS ${SOURCE}/${file})  # an editor's lock (.#name.h) is a link to nothing
      file(SHA256 ${SOURCE}/${file} hash)
      string(APPEND hashes "${hash} ${file}\n")
    endif()
  endforeach()
endforeach()
string(SHA256 sources "${hashes}")
string(SUBSTRING ${sources} 0 12 sources)
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [[
#include "tools/release/build_info.h"

namespace testbed {

BuildInfo ThisBuild() { return {"@commit@", "@COMPILER@", "@BUILD_TYPE@", "@sources@"}; }

}  // namespace testbed
]])
