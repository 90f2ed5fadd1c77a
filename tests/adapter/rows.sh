#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# rows.sh source-directory: check that the adapter's README lists every row and fault, every row
# that lint reports, and every variable that the adapter reads, and that each test that it names
# exists.
cd "$1" || exit 1
readme=runtime/mlx5sw/README.md
bad=0

complain() {
	echo "$readme: $*" >&2
	bad=1
}

numbers() {
	i=1
	while [ $i -le "$2" ]; do
		echo "$1$i"
		i=$((i + 1))
	done
}

for row in $(numbers W 16) $(numbers R 7) $(numbers D 14) $(numbers C 12) $(numbers M 12) \
	$(numbers S 13) $(numbers F 20); do
	grep -q "^| ${row} " $readme || complain "no row $row"
done
for row in $(grep -hoE '"[A-Z][0-9]+"' runtime/mlx5sw/*/*.c | tr -d '"' | sort -u); do
	grep -q "^| $row | .* | .*L.* | " $readme || complain "$row is reported, but has no L"
done
for name in $(grep -hoE '"MLX5SW_[A-Z_]+' runtime/mlx5sw/*/*.[ch] | tr -d '"' | sort -u); do
	grep -q "^| \`$name\` |" $readme || complain "no variable $name"
done
# Names of tests have two words or more; they are in the last cell.
for name in $(sed -n 's/^| [A-Z][0-9]* .* | //p' $readme | tr -c 'a-z0-9_' '\n' |
	grep _ | sort -u); do
	grep -qE "(TEST|cmocka_unit_test[a-z_]*)\(${name}[,)]" tests/adapter/test_*.c ||
		complain "no test $name"
done
exit $bad
