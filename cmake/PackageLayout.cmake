# Run by cpack when all is installed into a folder of its own. Of a .deb: Debian's places and forms (policy 12.1, 12.5, 12.7).
if(NOT CPACK_GENERATOR STREQUAL "DEB")
  return()
endif()
set(share ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr/share)
set(doc ${share}/doc/muster)

function(compress)
  execute_process(COMMAND gzip -9n ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

if(EXISTS ${share}/zsh/site-functions)
  file(RENAME ${share}/zsh/site-functions ${share}/zsh/vendor-completions)
endif()
file(GLOB pages ${share}/man/man1/*.1)
compress(${pages})

file(REMOVE ${doc}/LICENSE)
configure_file(${CPACK_MUSTER_SOURCE}/share/debian/copyright ${doc}/copyright COPYONLY)
file(RENAME ${doc}/CHANGELOG.md ${doc}/changelog)
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC) # SOURCE_DATE_EPOCH counts
file(WRITE ${doc}/changelog.Debian "muster (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium

  * Built from the sources of muster ${CPACK_PACKAGE_VERSION}; its own changes are in changelog.gz.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
compress(${doc}/changelog ${doc}/changelog.Debian)
file(CHMOD_RECURSE ${share}
  FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ
  DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
