# muster_flags: the one carrier of the project's language level, warnings and sanitizers.
# muster_layer(NAME SOURCES...): a static library of one layer with those flags.
add_library(muster_flags INTERFACE)
target_compile_features(muster_flags INTERFACE c_std_11)
target_compile_definitions(muster_flags INTERFACE _GNU_SOURCE MUSTER_VERSION="${PROJECT_VERSION}")
# Assertions guard invariants of the machines and stay on in every build.
target_compile_options(muster_flags INTERFACE $<$<COMPILE_LANGUAGE:C>:-UNDEBUG>)
target_include_directories(muster_flags INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(muster_flags INTERFACE
  $<$<COMPILE_LANGUAGE:C>:-Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes
    -Wmissing-prototypes -Wformat=2 -Wundef -Wvla -Wcast-qual -Wimplicit-fallthrough>)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  target_compile_options(muster_flags INTERFACE
    $<$<COMPILE_LANGUAGE:C>:-Wlogical-op -Wduplicated-cond -Wduplicated-branches>)
endif()
if(MUSTER_WERROR)
  target_compile_options(muster_flags INTERFACE $<$<COMPILE_LANGUAGE:C>:-Werror>)
endif()
if(MUSTER_SANITIZE)
  target_compile_options(muster_flags INTERFACE
    -fsanitize=${MUSTER_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(muster_flags INTERFACE -fsanitize=${MUSTER_SANITIZE})
endif()
if(MUSTER_FUZZ)
  # Instrument every layer; only the fuzz targets link the fuzzer's main().
  target_compile_options(muster_flags INTERFACE $<$<COMPILE_LANGUAGE:C>:-fsanitize=fuzzer-no-link>)
  target_link_options(muster_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

function(muster_layer name)
  add_library(${name} STATIC ${ARGN})
  target_link_libraries(${name} PUBLIC muster_flags)
endfunction()
