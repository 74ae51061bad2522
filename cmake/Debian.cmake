# Debian packages: `cpack -G DEB` in the build folder makes one of the command and one of what programs embed,
# after a build of the targets testbed, testbed_man and testbed_development. dpkg-shlibdeps (Debian: dpkg-dev) finds
# the libraries that they need.
set(CPACK_PACKAGE_NAME testbed)
set(CPACK_PACKAGE_CONTACT "The testbed developers <testbed@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_COMPONENTS_ALL command development)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_COMMAND_PACKAGE_NAME testbed)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libtestbed-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libfmt-dev, libbpf-dev, liburing-dev, libxxhash-dev, liblz4-dev, libzstd-dev, libfuse3-dev")
include(CPack)
