# What is installed beside the programs: man pages, completions, documents. All of it stands in the tree, so that installing
# runs nothing that was built.
file(READ ${PROJECT_SOURCE_DIR}/launcher/core/command_page.h table)
string(REGEX MATCHALL "\n +X\\([a-z]+\\)" rows "${table}")
list(TRANSFORM rows REPLACE "\n +X\\(([a-z]+)\\)" "muster-\\1.1")
set(MUSTER_MAN_PAGES muster.1 muster-worker.1 ${rows})
set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS launcher/core/command_page.h)

option(MUSTER_TORCHRUN "Install muster under the name torchrun, too (it may then stand before PyTorch's own)" OFF)
set(MUSTER_ZSH_FUNCTIONS ${CMAKE_INSTALL_DATADIR}/zsh/site-functions CACHE STRING "Where zsh looks for completions")

# install_link(NAME): another name of muster.
function(install_link name)
  set(links ${PROJECT_BINARY_DIR}/links)
  file(MAKE_DIRECTORY ${links})
  file(CREATE_LINK muster ${links}/${name} SYMBOLIC)
  install(FILES ${links}/${name} DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT names)
endfunction()

if(SKBUILD) # a wheel has no links
  install(PROGRAMS ${PROJECT_SOURCE_DIR}/share/muster-torchrun DESTINATION ${CMAKE_INSTALL_BINDIR})
else()
  install_link(muster-torchrun)
  if(MUSTER_TORCHRUN)
    install_link(torchrun)
  endif()
endif()

list(TRANSFORM MUSTER_MAN_PAGES PREPEND ${PROJECT_SOURCE_DIR}/share/man/ OUTPUT_VARIABLE pages)
install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${PROJECT_SOURCE_DIR}/share/completions/muster.bash RENAME muster
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${PROJECT_SOURCE_DIR}/share/completions/_muster DESTINATION ${MUSTER_ZSH_FUNCTIONS})
install(FILES ${PROJECT_SOURCE_DIR}/share/completions/muster.fish
  DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
file(GLOB documents CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/*.md)
install(FILES ${documents} DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs)
