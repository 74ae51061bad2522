# Leaves the library of `engine` to the programs that do not bring another of their own. The expression is
# evaluated for the program that is linked at last.
function(testbed_replaceable engine out)
  set(libraries "")
  foreach(library IN LISTS ARGN)
    list(APPEND libraries
      "$<$<NOT:$<STREQUAL:$<TARGET_PROPERTY:TESTBED_BRINGS>,${engine}>>:$<LINK_ONLY:${library}>>")
  endforeach()
  set(${out} "${libraries}" PARENT_SCOPE)
endfunction()
