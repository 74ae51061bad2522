# Installs what programs embed, in three components of the package: account, btree and engines (with c).
# Each has an export file of its own, so that a program that wants one needs the libraries of that one alone.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/testbed)
set(headers_dir ${CMAKE_INSTALL_INCLUDEDIR}/testbed)

# Public headers lie in testbed/; what they include lies apart, in testbed/tree/, as it does in this tree.
target_include_directories(testbed_account INTERFACE
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}> $<INSTALL_INTERFACE:${headers_dir}/tree>)
target_include_directories(testbed_c INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
function(testbed_export component)
  foreach(target IN LISTS ARGN)
    string(REPLACE "testbed_" "" name ${target})
    set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  endforeach()
  install(TARGETS ${ARGN} EXPORT testbed-${component} COMPONENT development
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT testbed-${component} NAMESPACE testbed:: DESTINATION ${package_dir} COMPONENT development)
endfunction()
testbed_export(account testbed_account)
testbed_export(btree testbed_log testbed_interface testbed_btree)
testbed_export(engines testbed_device testbed_engines testbed_c)
add_custom_target(testbed_development DEPENDS testbed_c testbed_engines testbed_btree $<TARGET_NAME_IF_EXISTS:testbed_shared>)
# The shared library joins no export: C programs find it by pkg-config, Python by its name.
if(TARGET testbed_shared)
  install(TARGETS testbed_shared COMPONENT development LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} NAMELINK_COMPONENT development)
  install(FILES ${PROJECT_SOURCE_DIR}/python/testbed_engine.py DESTINATION ${CMAKE_INSTALL_DATADIR}/testbed/python COMPONENT development)
endif()

install(DIRECTORY ${PROJECT_SOURCE_DIR}/embed/testbed/
  DESTINATION ${headers_dir} COMPONENT development)
configure_file(${PROJECT_SOURCE_DIR}/embed/version.h.in ${CMAKE_CURRENT_BINARY_DIR}/version.h @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/version.h DESTINATION ${headers_dir} COMPONENT development)
foreach(folder device device/account device/file device/log device/os engines)
  file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.h)
  install(FILES ${headers} DESTINATION ${headers_dir}/tree/${folder} COMPONENT development)
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/engines/btree/btree_engine.h
  DESTINATION ${headers_dir}/tree/engines/btree COMPONENT development)

# The package's own file finds the libraries of others anew on the machine that uses it.
get_property(libraries GLOBAL PROPERTY TESTBED_ENGINE_LIBRARIES)
list(REMOVE_DUPLICATES libraries)
set(engine_libraries "")
foreach(library IN LISTS libraries)
  string(REPLACE "testbed::" "" name "${library}")
  get_property(described GLOBAL PROPERTY TESTBED_LIBRARY_${name} SET)
  if(described)
    get_property(words GLOBAL PROPERTY TESTBED_LIBRARY_${name})
    list(JOIN words " " words)
    string(APPEND engine_libraries "  testbed_library(${words})\n")
  elseif(library MATCHES "^([A-Za-z]+)::")
    string(APPEND engine_libraries "  testbed_package(${CMAKE_MATCH_1})\n")
  endif()
endforeach()
foreach(root ROCKSDB_ROOT WIREDTIGER_ROOT)  # where a build of the user's own was found
  set(${root}_line "")
  if(${root})
    set(${root}_line "if(NOT ${root})\n  set(${root} \"${${root}}\")\nendif()\n")
  endif()
endforeach()
configure_file(${PROJECT_SOURCE_DIR}/embed/testbedConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/testbedConfig.cmake @ONLY)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/testbedConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/testbedConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/testbedConfigVersion.cmake
  ${PROJECT_SOURCE_DIR}/cmake/FindRocksDB.cmake ${PROJECT_SOURCE_DIR}/cmake/FindWiredTiger.cmake
  ${PROJECT_SOURCE_DIR}/cmake/StaticLibraryNeeds.cmake DESTINATION ${package_dir} COMPONENT development)

# They tell the prefix from where they lie, so that it may be chosen when it is installed.
file(RELATIVE_PATH to_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
foreach(name account btree engine)
  configure_file(${PROJECT_SOURCE_DIR}/embed/testbed-${name}.pc.in ${CMAKE_CURRENT_BINARY_DIR}/testbed-${name}.pc @ONLY)
  if(NOT name STREQUAL engine OR TARGET testbed_shared)
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/testbed-${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
  endif()
endforeach()
