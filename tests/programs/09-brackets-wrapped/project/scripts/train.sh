#!/usr/bin/env bash
# usage: scripts/train.sh BATCH [more flags]
set -euo pipefail
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-4}
export PYTHONPATH=${PYTHONPATH:-}:$PWD
BATCH=$1; shift

echo "=== $(date) on $(hostname) ==="
echo "+ batch $BATCH, 4 threads, 2 workers"
echo
exec /usr/bin/python3 -m pix.main --data ./data --workers 2 -b "$BATCH" "$@"
