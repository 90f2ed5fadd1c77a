# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# What the Makefiles of the examples share. name: the example; modules: further modules of
# pkg-config; extra: further sources.
#     make      ./NAME, on the emulator
#     make gpu  ./NAME_gpu
# Needs PKG_CONFIG_PATH if the library is not in /usr. Where the software adapter is installed, the
# PEs of one process can have its NICs (run_emulate in run.h).
sources = $(name).c ../common/run.c $(extra)
adapter = $(shell pkg-config --exists shmem_mlx5sw && echo shmem_mlx5sw)
cpu = $(shell pkg-config --cflags --libs shmem_dev shmem_host shmem_sim $(adapter) $(modules))
gpu = $(shell pkg-config --cflags --libs shmem_dev shmem_host $(modules))

$(name): $(sources)
	$(CC) -O2 $(if $(adapter),-DRUN_MLX5SW) -I../common $(sources) -o $@ $(cpu)
gpu: $(sources)
	nvcc -O2 -arch=native -I../common -x cu $(sources) -o $(name)_gpu $(gpu)
.PHONY: gpu
