# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# One source, two programs: NAME runs on the CPU, NAME_gpu on GPUs.

# Flags of every C program and library of ours, except the emulator.
function(shmem_dev_c_target name)
    target_compile_definitions(${name} PRIVATE _GNU_SOURCE=)
    target_compile_options(${name} PRIVATE ${SHMEM_DEV_SANITIZE_FLAGS})
    target_link_options(${name} PRIVATE ${SHMEM_DEV_SANITIZE_FLAGS})
endfunction()

# The same .c files compiled as CUDA: .cu files that include them, because a source's language is
# a property of a whole directory in CMake.
function(shmem_dev_cuda_sources out)
    set(units)
    foreach(source IN LISTS ARGN)
        get_filename_component(path ${source} ABSOLUTE)
        get_filename_component(name ${source} NAME_WE)
        set(unit ${CMAKE_CURRENT_BINARY_DIR}/cuda/${name}.cu)
        file(CONFIGURE OUTPUT ${unit} CONTENT "#include \"${path}\"\n")
        list(APPEND units ${unit})
    endforeach()
    set(${out} ${units} PARENT_SCOPE)
endfunction()

# shmem_dev_gpu_target(NAME EXECUTABLE|STATIC sources...): a program for GPUs, or a library of such
# programs. With SHMEM_DEV_PTX_ONLY its sources are only compiled, to PTX: nothing can run it here,
# and nvcc takes half the time without its passes for the host.
function(shmem_dev_gpu_target name kind)
    if(SHMEM_DEV_PTX_ONLY)
        add_library(${name} OBJECT ${ARGN})
        set_target_properties(${name} PROPERTIES CUDA_PTX_COMPILATION ON)
    elseif(kind STREQUAL "EXECUTABLE")
        add_executable(${name} ${ARGN})
    else()
        add_library(${name} ${kind} ${ARGN})
    endif()
endfunction()

# shmem_dev_support(NAME sources... [LINK libraries...]): what several programs share; with a CUDA
# toolkit also NAME_gpu. The directory of the sources is on the include path of whoever links.
function(shmem_dev_support name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LINK")
    set(sources ${arg_UNPARSED_ARGUMENTS})
    list(GET sources 0 first)
    get_filename_component(dir ${first} DIRECTORY)
    add_library(${name} STATIC ${sources})
    shmem_dev_c_target(${name})
    target_include_directories(${name} PUBLIC ${dir})
    target_link_libraries(${name} PUBLIC ${arg_LINK} shmem_sim shmem_host)
    if(SHMEM_DEV_HAS_CUDA)
        shmem_dev_cuda_sources(units ${sources})
        shmem_dev_gpu_target(${name}_gpu STATIC ${units})
        target_include_directories(${name}_gpu PUBLIC ${dir})
        list(TRANSFORM arg_LINK REPLACE "_common$" "_common_gpu")
        target_link_libraries(${name}_gpu PUBLIC ${arg_LINK} shmem_host)
    endif()
endfunction()

# shmem_dev_program(NAME source support): a program that uses the device API; with a CUDA toolkit
# also NAME_gpu, linked with support_gpu.
function(shmem_dev_program name source support)
    add_executable(${name} ${source})
    shmem_dev_c_target(${name})
    target_link_libraries(${name} PRIVATE ${support})
    if(SHMEM_DEV_HAS_CUDA)
        shmem_dev_cuda_sources(unit ${source})
        shmem_dev_gpu_target(${name}_gpu EXECUTABLE ${unit})
        target_link_libraries(${name}_gpu PRIVATE ${support}_gpu)
    endif()
endfunction()

# shmem_dev_run_test(NAME target LABELS ... HOW ... [ARGUMENTS ...]): run a program, started in that
# way (tests/run_as.sh has the list), with 4 PEs unless the way has another number.
function(shmem_dev_run_test name target)
    cmake_parse_arguments(PARSE_ARGV 2 arg "" "HOW" "LABELS;ARGUMENTS")
    if(SHMEM_DEV_PTX_ONLY AND arg_HOW MATCHES "^gpu")
        return()
    endif()
    add_test(NAME ${name} COMMAND sh ${PROJECT_SOURCE_DIR}/tests/run_as.sh ${arg_HOW}
             $<TARGET_FILE:shmem-launch> $<TARGET_FILE:${target}> ${arg_ARGUMENTS})
    set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" SKIP_RETURN_CODE 77)
    if(NOT arg_HOW MATCHES "sim$")
        # Each PE is a process that polls. ctest runs twice as many tests at a time as there are
        # cores (dev), and counts such a test as two. With 2 cores two of them run together: three
        # would take many times as long, and one alone leaves a core idle while it starts and ends.
        set_tests_properties(${name} PROPERTIES PROCESSORS 2)
    endif()
    if(arg_HOW MATCHES "ib|netns")
        set_tests_properties(${name} PROPERTIES ENVIRONMENT
                             ADAPTER_LIBRARY=$<TARGET_FILE:shmem_mlx5sw>)
    endif()
    if(arg_HOW MATCHES "^gpu")
        # One after the other: each fills GPU memory and spins on all GPUs.
        set_tests_properties(${name} PROPERTIES RESOURCE_LOCK gpu)
    endif()
endfunction()
