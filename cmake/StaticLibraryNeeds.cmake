# static_library_needs(<library> <needs> <missing>)
#
# What a static library must be linked with. An archive does not record it, and a list written by
# hand is wrong for a user's own build with other compressors. So the archive's undefined symbols
# are asked.
#
#   <library>   path of the archive; for anything that is not an archive both results are empty
#   <needs>     variable that gets the full paths of the libraries
#   <missing>   variable that gets the names and Debian packages of those that are not installed

# static_library_defines(<library> <symbol> <defines>)
#
# Sets the variable <defines> to whether the archive defines the symbol; true, when the archive cannot be read.

# Part of the name of an undefined symbol; the library that has it; the Debian package of that
# library.
set(_static_library_table
  "U snappy_compress" snappy libsnappy-dev
  "U _ZN6snappy" snappy libsnappy-dev
  "U LZ4_" lz4 liblz4-dev
  "U ZSTD_" zstd libzstd-dev
  "U deflate" z zlib1g-dev
  "U BZ2_bz" bz2 libbz2-dev
  "U io_uring_" uring liburing-dev
  "U _ZN6google" gflags libgflags-dev
  "U _ZN6gflags" gflags libgflags-dev
  "U numa_" numa libnuma-dev
  "U _ZN3tbb" tbb libtbb-dev
  "U mallctl" jemalloc libjemalloc-dev
  "U crypto_aead" sodium libsodium-dev)

function(static_library_needs library needs missing)
  set(found)
  set(absent)
  if(library MATCHES "\\.a$")
    execute_process(COMMAND "${CMAKE_NM}" --undefined-only "${library}"
                    OUTPUT_VARIABLE symbols RESULT_VARIABLE failed ERROR_QUIET)
    if(failed)
      message(WARNING "${CMAKE_NM} cannot read ${library}: what it must be linked with is unknown.")
    endif()
    set(table ${_static_library_table})
    while(table)
      list(POP_FRONT table symbol name package)
      string(FIND "${symbols}" "${symbol}" at)
      if(at GREATER_EQUAL 0)
        find_library(NEEDED_${name}_LIBRARY ${name})
        mark_as_advanced(NEEDED_${name}_LIBRARY)
        if(NEEDED_${name}_LIBRARY)
          list(APPEND found "${NEEDED_${name}_LIBRARY}")
        else()
          list(APPEND absent "lib${name} (Debian package ${package})")
        endif()
      endif()
    endwhile()
    list(REMOVE_DUPLICATES found)
    list(REMOVE_DUPLICATES absent)
    list(JOIN absent ", " absent)
  endif()
  set(${needs} "${found}" PARENT_SCOPE)
  set(${missing} "${absent}" PARENT_SCOPE)
endfunction()

function(static_library_defines library symbol defines)
  execute_process(COMMAND "${CMAKE_NM}" --defined-only "${library}"
                  OUTPUT_VARIABLE symbols RESULT_VARIABLE failed ERROR_QUIET)
  string(FIND "${symbols}" "${symbol}" at)
  if(failed OR at GREATER_EQUAL 0)
    set(${defines} TRUE PARENT_SCOPE)
  else()
    set(${defines} FALSE PARENT_SCOPE)
  endif()
endfunction()
