# cpack: a .deb for this system, and an archive that runs where it is unpacked. scripts/package.sh makes both from builds of
# their own; docs/install.md says what is in them.
set(MUSTER_CONTACT "muster maintainers <maintainers@muster.invalid>" CACHE STRING "Who made the package: name <address>")

set(CPACK_GENERATOR TGZ DEB)
set(CPACK_PACKAGE_CONTACT "${MUSTER_CONTACT}")
set(CPACK_PACKAGE_VENDOR muster)
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "launcher for groups of GPU workers")
set(CPACK_PACKAGE_DESCRIPTION
"muster starts one process per GPU on one or many machines, gives each its
rank, its device and its peers' address, keeps them as one group until they
end, and says who failed first and why. It serves PyTorch's rendezvous itself
and takes torchrun's command line; muster-worker proves a group with a
verified all-reduce.")
set(CPACK_STRIP_FILES ON)
string(TOLOWER ${CMAKE_SYSTEM_NAME} system)
set(CPACK_PACKAGE_FILE_NAME muster-${PROJECT_VERSION}-${system}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_LIST_DIR}/PackageGenerator.cmake)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/PackageLayout.cmake)
set(CPACK_MUSTER_SOURCE ${PROJECT_SOURCE_DIR})

# What is opened at run time, if it is there, is no dependency of the binary.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS libhwloc15)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "openssh-client, libpmix2t64 | libpmix2, gdb")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)
