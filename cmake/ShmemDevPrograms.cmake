# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# One source, two programs: NAME runs on the CPU, NAME_gpu on GPUs.

# The same .c file compiled as CUDA: a .cu file that includes it, because a source's language is
# a property of a whole directory in CMake.
function(shmem_dev_cuda_source out source)
    get_filename_component(path ${source} ABSOLUTE)
    get_filename_component(name ${source} NAME_WE)
    set(unit ${CMAKE_CURRENT_BINARY_DIR}/cuda/${name}.cu)
    file(CONFIGURE OUTPUT ${unit} CONTENT "#include \"${path}\"\n")
    set(${out} ${unit} PARENT_SCOPE)
endfunction()

# shmem_dev_program(NAME source LIBRARY lib): an executable that uses the device API. With a CUDA
# toolkit also NAME_gpu, linked with LIBRARY_gpu.
function(shmem_dev_program name source)
    cmake_parse_arguments(arg "" "" "LIBRARY" ${ARGN})
    add_executable(${name} ${source})
    target_compile_definitions(${name} PRIVATE _GNU_SOURCE=)
    target_compile_options(${name} PRIVATE ${SHMEM_DEV_SANITIZE_FLAGS})
    target_link_options(${name} PRIVATE ${SHMEM_DEV_SANITIZE_FLAGS})
    target_link_libraries(${name} PRIVATE ${arg_LIBRARY} shmem_sim shmem_host)
    if(SHMEM_DEV_HAS_CUDA)
        shmem_dev_cuda_source(unit ${source})
        get_filename_component(path ${source} ABSOLUTE)
        get_filename_component(dir ${path} DIRECTORY)
        add_executable(${name}_gpu ${unit})
        target_include_directories(${name}_gpu PRIVATE ${dir})
        if(arg_LIBRARY)
            target_link_libraries(${name}_gpu PRIVATE ${arg_LIBRARY}_gpu)
        endif()
        target_link_libraries(${name}_gpu PRIVATE shmem_dev shmem_host)
    endif()
endfunction()
