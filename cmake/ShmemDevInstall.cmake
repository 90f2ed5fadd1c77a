# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# What `cmake --install` copies. Nothing in it names the place it was installed to: the tree may be
# moved afterwards.
include(CMakePackageConfigHelpers)

set(modules shmem_dev shmem_host shmem_sim)
set(header_dirs include/ runtime/sim/include/)
if(TARGET shmem_mlx5sw)
    list(APPEND modules shmem_mlx5sw)
    list(APPEND header_dirs runtime/mlx5sw/include/)
endif()
install(DIRECTORY ${header_dirs} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h")
install(TARGETS ${modules} EXPORT shmem_devTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})

# pkg-config: paths relative to where the .pc file is.
set(pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
foreach(dir INCLUDEDIR LIBDIR)
    file(RELATIVE_PATH pc_to_${dir} /prefix/${pc_dir} /prefix/${CMAKE_INSTALL_${dir}})
endforeach()
foreach(module IN LISTS modules)
    configure_file(pkgconfig/${module}.pc.in pkgconfig/${module}.pc @ONLY)
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/pkgconfig/${module}.pc DESTINATION ${pc_dir})
endforeach()

# CMake: find_package(shmem_dev) gives shmem::dev, shmem::host, shmem::sim and shmem::mlx5sw.
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/shmem_dev)
install(EXPORT shmem_devTargets NAMESPACE shmem:: DESTINATION ${package_dir})
configure_package_config_file(cmake/shmem_devConfig.cmake.in shmem_devConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(shmem_devConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/shmem_devConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/shmem_devConfigVersion.cmake
        DESTINATION ${package_dir})
