# GPU inventory and selection: unit tests, fakes of NVML and libcuda, fuzz target.
include(${PROJECT_SOURCE_DIR}/launcher/devices.cmake)

# The launcher's libraries where they exist, else the same sources in one library of the tests' own.
if(TARGET muster_core AND TARGET muster_io)
  set(devices_libs muster_io muster_core base)
else()
  list(TRANSFORM MUSTER_DEVICE_CORE PREPEND ${PROJECT_SOURCE_DIR}/launcher/ OUTPUT_VARIABLE devices_core)
  list(TRANSFORM MUSTER_DEVICE_IO PREPEND ${PROJECT_SOURCE_DIR}/launcher/ OUTPUT_VARIABLE devices_io)
  muster_layer(devices_under_test ${devices_core} ${devices_io})
  target_link_libraries(devices_under_test PUBLIC base dep_jansson ${CMAKE_DL_LIBS})
  set(devices_libs devices_under_test)
endif()

muster_layer(devices_vector unit/launcher_devices/vector.c)
target_include_directories(devices_vector PUBLIC unit/launcher_devices)
target_compile_definitions(devices_vector PRIVATE TESTS_DIR="${CMAKE_CURRENT_SOURCE_DIR}")
target_link_libraries(devices_vector PUBLIC ${devices_libs})

muster_unit_tests(launcher_devices devices_vector)
