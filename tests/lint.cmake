# Label lint: what a reviewer should not have to look for. Each check is a test of its own; one whose
# tool is not installed is shown as skipped. Those that could pass by mistake check themselves first.
set(LINT ${CMAKE_CURRENT_SOURCE_DIR}/lint)
find_package(Python3 COMPONENTS Interpreter)

function(muster_lint name)
  add_test(NAME lint/${name} COMMAND ${ARGN} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(lint/${name} PROPERTIES LABELS lint TIMEOUT 900 SKIP_RETURN_CODE 77
    ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)
endfunction()

# A check by a tool that may be absent: muster_lint_tool(NAME "tool names" command with the path in place of TOOL).
function(muster_lint_tool name tools)
  find_program(LINT_${name} NAMES ${tools} HINTS $ENV{MUSTER_TOOLS}/bin $ENV{HOME}/.cache/muster/tools/bin)
  if(LINT_${name})
    list(TRANSFORM ARGN REPLACE "^TOOL$" "${LINT_${name}}")
    muster_lint(${name} ${ARGN})
  else()
    list(GET tools 0 first)
    muster_lint(${name} bash ${LINT}/absent.sh ${first})
  endif()
endfunction()

# Generated documents: printed from the tables that the code reads, kept in the tree, compared here;
# which man pages there are says COMMAND_TABLE (cmake/MusterInstall.cmake).
add_executable(gen_docs tools/gen_docs.c)
target_link_libraries(gen_docs PRIVATE muster_core)
add_executable(gen_worker_man tools/gen_worker_man.c)
target_link_libraries(gen_worker_man PRIVATE worker_core muster_core)
set(docs_commands)
function(muster_page file name) # the command that prints it
  set(docs_commands ${docs_commands} COMMAND ${ARGN} > ${PROJECT_SOURCE_DIR}/${file} PARENT_SCOPE)
  muster_lint(docs-${name} bash ${LINT}/docs.sh ${file} $<TARGET_FILE:${ARGV2}> ${ARGV3})
endfunction()
muster_page(docs/errors.md errors gen_docs errors)
muster_page(docs/environment.md environment gen_docs environment)
muster_page(docs/doctor.md doctor gen_docs doctor)
foreach(page ${MUSTER_MAN_PAGES})
  if(page STREQUAL "muster-worker.1")
    muster_page(share/man/${page} ${page} gen_worker_man)
  else()
    muster_page(share/man/${page} ${page} gen_docs ${page})
  endif()
endforeach()
foreach(shell bash=muster.bash zsh=_muster fish=muster.fish)
  string(REPLACE "=" ";" shell ${shell})
  list(GET shell 0 name)
  list(GET shell 1 file)
  muster_page(share/completions/${file} completion-${name} gen_docs ${name})
endforeach()
add_custom_target(docs ${docs_commands} COMMENT "Writing docs/errors.md, docs/environment.md, docs/doctor.md, share/man, share/completions" VERBATIM)

foreach(check doclinks guarantees includes names pictures words)
  muster_lint(${check}-self Python3::Interpreter ${LINT}/${check}.py --self)
  muster_lint(${check} Python3::Interpreter ${LINT}/${check}.py)
endforeach()
muster_lint(budget Python3::Interpreter ${LINT}/budget.py)

# Purity. Sanitizers and fuzzing add calls of their own, so those builds leave it to the plain one.
muster_lint(purity-self Python3::Interpreter ${LINT}/purity.py --self ${LINT}/permitted.txt)
if(NOT MUSTER_SANITIZE AND NOT MUSTER_FUZZ)
  set(archives)
  foreach(pair base=base rendezvous=rendezvous_core core=muster_core)
    string(REPLACE "=" ";" pair ${pair})
    list(GET pair 0 layer)
    list(GET pair 1 target)
    if(TARGET ${target})
      list(APPEND archives ${layer}=$<TARGET_FILE:${target}>)
    else()
      list(APPEND archives ${layer}=${target})
    endif()
  endforeach()
  muster_lint(purity Python3::Interpreter ${LINT}/purity.py ${CMAKE_NM} ${LINT}/permitted.txt ${archives})
endif()

# What a program needs at run time, by name: the core, the client and the worker link no library of another's.
foreach(pair "muster=libcuda|libnccl|libmpi|libnvidia-ml" "muster-worker=libuv|libsodium|libhwloc|libjansson|libnccl|libcuda[.]|libmpi")
  string(REPLACE "=" ";" pair "${pair}")
  list(GET pair 0 program)
  list(GET pair 1 forbidden)
  if(TARGET ${program})
    muster_lint(links-${program} bash ${LINT}/links.sh $<TARGET_FILE:${program}> "${forbidden}")
  endif()
endforeach()

muster_lint_tool(format clang-format-14 Python3::Interpreter ${LINT}/format.py TOOL)
muster_lint_tool(tidy clang-tidy-14 Python3::Interpreter ${LINT}/tidy.py TOOL ${PROJECT_BINARY_DIR})
muster_lint_tool(man mandoc bash ${LINT}/man.sh TOOL)
muster_lint_tool(shell shellcheck Python3::Interpreter ${LINT}/shell.py TOOL)
muster_lint_tool(spelling codespell Python3::Interpreter ${LINT}/spelling.py TOOL)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/lint-cppcheck)
muster_lint_tool(cppcheck cppcheck TOOL --quiet -j2 --cppcheck-build-dir=${PROJECT_BINARY_DIR}/lint-cppcheck
  --enable=warning,portability --inline-suppr --error-exitcode=1 --std=c11 -D_GNU_SOURCE
  --suppressions-list=${LINT}/cppcheck.txt -I ${PROJECT_SOURCE_DIR} base rendezvous launcher worker)
# DL3008 (pin package versions): a pinned version leaves the archive with the next security update.
muster_lint_tool(docker hadolint TOOL --ignore DL3008 docker/Dockerfile.cpu docker/Dockerfile.cuda)
muster_lint(docker-run-lines bash ${PROJECT_SOURCE_DIR}/docker/test_run_lines.sh)
set_tests_properties(lint/tidy PROPERTIES COST 400 TIMEOUT 2400)
set_tests_properties(lint/docker-run-lines PROPERTIES COST 300) # the longest one first, beside the others
