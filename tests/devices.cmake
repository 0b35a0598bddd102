# GPU inventory and selection: unit tests, fakes of NVML and libcuda, fuzz target.
set(devices_libs muster_io muster_core base)

# Fakes: libraries of the vendor's names that answer from a JSON file. Without sanitizers, so that any program can
# load them.
function(muster_fake target output source)
  add_library(${target} SHARED fakes/${source} fakes/fake_gpus.c
    ${PROJECT_SOURCE_DIR}/launcher/io/probe_fake.c ${PROJECT_SOURCE_DIR}/launcher/core/device.c
    ${PROJECT_SOURCE_DIR}/base/err.c ${PROJECT_SOURCE_DIR}/base/mem.c ${PROJECT_SOURCE_DIR}/base/buf.c
    ${PROJECT_SOURCE_DIR}/base/str.c)
  set_target_properties(${target} PROPERTIES PREFIX "" SUFFIX "" OUTPUT_NAME ${output}
    C_VISIBILITY_PRESET hidden LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fakes)
  target_compile_features(${target} PRIVATE c_std_11)
  target_compile_definitions(${target} PRIVATE _GNU_SOURCE)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR} fakes)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wconversion)
  target_link_libraries(${target} PRIVATE PkgConfig::jansson Threads::Threads)
endfunction()
muster_fake(fake_nvml libnvidia-ml.so.1 fake_nvml.c)
muster_fake(fake_cuda libcuda.so.1 fake_cuda.c)

muster_layer(devices_vector unit/launcher_devices/vector.c)
target_include_directories(devices_vector PUBLIC unit/launcher_devices)
target_compile_definitions(devices_vector PRIVATE TESTS_DIR="${CMAKE_CURRENT_SOURCE_DIR}")
target_compile_definitions(devices_vector PUBLIC
  FAKE_NVML="$<TARGET_FILE:fake_nvml>" FAKE_CUDA="$<TARGET_FILE:fake_cuda>")
add_dependencies(devices_vector fake_nvml fake_cuda)
target_link_libraries(devices_vector PUBLIC tests_tsv ${devices_libs} ${CMAKE_DL_LIBS})

pkg_check_modules(devices_hwloc REQUIRED IMPORTED_TARGET hwloc) # to read topology-2x8x2.xml
muster_unit_tests(launcher_devices devices_vector PkgConfig::devices_hwloc)

if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/fuzz_target.cmake)
  include(fuzz_target.cmake)
  muster_fuzz_target(device_select ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/fuzz_device_select.c ${devices_libs})
endif()
