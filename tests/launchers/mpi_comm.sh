#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# mpi_comm.sh source-root library: examples/bootstraps/shmem_mpi.h under mpirun.
set -eu
root=$1 library=$2
# mpicc comes with openmpi-bin, mpi.h with libopenmpi-dev.
if ! command -v mpirun >/dev/null ||
	! echo '#include <mpi.h>' | mpicc -xc -fsyntax-only /dev/stdin 2>/dev/null; then
	echo "skipped: no mpirun, mpicc or mpi.h (openmpi-bin, libopenmpi-dev)"
	exit 77
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mpicc -std=c11 -Wall -Wextra -Werror -I"$root/include" -I"$root/examples/bootstraps" \
	"$root/tests/launchers/mpi_comm.c" "$library" -o "$dir/mpi_comm"
# As run_as.sh does: without ssh, and with fewer cores than PEs.
LD_LIBRARY_PATH=$(dirname "$library")
export OMPI_MCA_plm_rsh_agent=false LD_LIBRARY_PATH
mpirun --allow-run-as-root --oversubscribe --bind-to none -np 4 "$dir/mpi_comm"
