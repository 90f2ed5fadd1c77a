/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A machine as text, one thing a line, parents before children; topo/README.md has the form. */
#ifndef SHMEMHI_TOPO_TEXT_H
#define SHMEMHI_TOPO_TEXT_H

#include <stdio.h>
#include "topo/machine.h"

/* Read a machine. name: what the error calls the input.
 * Returns  SHMEMH_OK; ERR_ARGUMENT: a line in err with its number, what is wrong with it and what
 *          is allowed; ERR_SYSTEM: the input cannot be read, or is too large. */
int shmemhi_machine_parse(FILE *in, const char *name, shmemhi_machine_t *m, shmemhi_err_t *err);

/* Write a machine so that it reads back equal. */
void shmemhi_machine_print(const shmemhi_machine_t *m, FILE *out);

/* The words of the text for a port. */
const char *shmemhi_port_state_name(int state);
const char *shmemhi_link_name(int link);

#endif
