# Label image: docker/Dockerfile.cpu is built and run, without docker. It downloads a system and compiles, so it is asked for.
add_test(NAME image/cpu COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/images/images.sh)
set_tests_properties(image/cpu PROPERTIES LABELS image TIMEOUT 3600 SKIP_RETURN_CODE 77)
