# What the tests of several machines stand on: see tests/lab/netlab.sh and tests/system/lab.bash.
add_executable(delay_proxy lab/delay_proxy.c)
target_link_libraries(delay_proxy PRIVATE muster_flags base)
add_library(clock_shift MODULE lab/clock_shift.c)
# Loaded into programs of all kinds, so never built with sanitizers.
target_compile_options(clock_shift PRIVATE -Wall -Wextra -Wconversion)
target_compile_definitions(clock_shift PRIVATE _GNU_SOURCE)
set_target_properties(clock_shift PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
