#!/bin/sh
# The paper's experiment with a task of Slurm for each of its runs, as many at a time as there is
# room for. Its arguments are those of `sweetspot paper`:
#   examples/slurm/paper-array.sh --partition cpu --time 0:30:00
#   examples/slurm/paper-array.sh --partition cpu --quick
# To be run where sbatch works, in a folder that all nodes see. The trials are kept in SWEETSPOT_DB,
# else in a file on this machine's disk.
exec "${SWEETSPOT:-sweetspot}" paper --cluster slurm \
  --db "${SWEETSPOT_DB:-sqlite:${TMPDIR:-/var/tmp}/sweetspot-paper-$(id -un).db}" "$@"
