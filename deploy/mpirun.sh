#!/bin/sh
# Measures eight cards of each machine in HOSTFILE by Open MPI, and judges them.
#
#     HOSTFILE=hosts RESULTS=/shared/coalesce deploy/mpirun.sh
#
# Without HOSTFILE: eight ranks on this machine. With a program that is built with the feature mpi, RUN_OPTIONS=--together
# makes all ranks begin each pass at the same time.
set -u
COALESCE=${COALESCE:-coalesce}
RESULTS=${RESULTS:-$PWD/coalesce-results}
DEVICE=${DEVICE:-cuda}
RANKS=${RANKS:-8}
RUN_ID=${RUN_ID:-mpi-$(date +%Y%m%dT%H%M%S)}

mpirun ${HOSTFILE:+--hostfile "$HOSTFILE"} --map-by ppr:8:node --bind-to none -n "$RANKS" ${MPI_OPTIONS:-} \
    "$COALESCE" run --fleet "$RESULTS" --device "$DEVICE" --run-id "$RUN_ID" --replace ${RUN_OPTIONS:-}
ranks=$?
"$COALESCE" fleet "$RESULTS/$RUN_ID" --prometheus "$RESULTS/coalesce.prom"
judged=$?
[ "$judged" -gt "$ranks" ] && exit "$judged"
exit "$ranks"
