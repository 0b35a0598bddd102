# Third-party libraries as imported targets dep_uv, dep_sodium, dep_jansson, dep_hwloc. Static archives are preferred for
# the first three: a launcher that starts in milliseconds cannot afford to resolve libraries it hardly uses, and one file
# can be carried to another machine. Of hwloc only the headers are taken: muster opens the library when a binding is asked
# for, and runs without it.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

# muster_dep(TARGET MODULE ARCHIVE...)
function(muster_dep target module)
  pkg_check_modules(${target} REQUIRED IMPORTED_TARGET ${module})
  add_library(dep_${target} INTERFACE)
  find_library(${target}_ARCHIVE NAMES ${ARGN} HINTS ${${target}_LIBDIR})
  if(MUSTER_STATIC_DEPS AND ${target}_ARCHIVE)
    target_include_directories(dep_${target} SYSTEM INTERFACE ${${target}_INCLUDE_DIRS})
    target_link_libraries(dep_${target} INTERFACE ${${target}_ARCHIVE} Threads::Threads ${CMAKE_DL_LIBS})
  else()
    target_link_libraries(dep_${target} INTERFACE PkgConfig::${target})
  endif()
endfunction()

muster_dep(uv "libuv>=1.44" libuv_a.a libuv.a) # Debian 12; Debian 13
muster_dep(sodium "libsodium>=1.0.18" libsodium.a)
muster_dep(jansson "jansson>=2.13" libjansson.a)

pkg_check_modules(hwloc REQUIRED hwloc>=2.1)
add_library(dep_hwloc INTERFACE)
target_include_directories(dep_hwloc SYSTEM INTERFACE ${hwloc_INCLUDE_DIRS})
target_link_libraries(dep_hwloc INTERFACE ${CMAKE_DL_LIBS})

# Of PMIx, too, only the headers: the library is opened when a job is an Open MPI program. dep_pmix exists if they do.
if(NOT MUSTER_PMIX STREQUAL "OFF")
  if(MUSTER_PMIX STREQUAL "ON")
    pkg_check_modules(pmix REQUIRED pmix>=4)
  else()
    pkg_check_modules(pmix QUIET pmix>=4)
  endif()
  if(pmix_FOUND)
    add_library(dep_pmix INTERFACE)
    target_include_directories(dep_pmix SYSTEM INTERFACE ${pmix_INCLUDE_DIRS})
    target_link_libraries(dep_pmix INTERFACE ${CMAKE_DL_LIBS})
  endif()
endif()
