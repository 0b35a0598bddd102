"""mpi4py: the same training as elsewhere, averaged by MPI. What counts here is who made the group: MPI_Init asks the
launcher (PMI, PMIx), and a program that finds none becomes a group of one, silently. This script says so instead."""
import os
import sys

import numpy as np
from mpi4py import MPI

STEPS = 50


def main():
    comm = MPI.COMM_WORLD
    rank, world = comm.Get_rank(), comm.Get_size()
    # Without a place in MPI's group, MUSTER_JOB_ID says how many there should have been.
    if "MUSTER_JOB_ID" in os.environ and world == 1 and int(os.environ["WORLD_SIZE"]) > 1:
        sys.exit(f"MPI made a group of 1 where muster started {os.environ['WORLD_SIZE']}: start MPI programs with mpirun")

    first = np.random.default_rng(0)  # the same start on every rank
    a, b = first.normal(size=(8, 32)) / 3, first.normal(size=(32, 1)) / 6
    data = np.random.default_rng(1000 + rank)  # other data on every rank
    for step in range(1, STEPS + 1):
        x = data.normal(size=(64, 8))
        hidden = np.tanh(x @ a)
        error = hidden @ b - np.tanh(x.sum(1, keepdims=True))
        out = 2 * error / len(x)
        slopes = [x.T @ ((out @ b.T) * (1 - hidden**2)), hidden.T @ out, np.array([np.mean(error**2)])]
        for slope in slopes:
            comm.Allreduce(MPI.IN_PLACE, slope)
        a, b = a - 0.1 * slopes[0] / world, b - 0.1 * slopes[1] / world
        if rank == 0 and step in (1, STEPS):
            print(f"step {step} loss {slopes[2].item() / world:.9f}", flush=True)
    print(f"rank {rank} of {world}: {MPI.Get_library_version().split(',')[0].strip()}", flush=True)


if __name__ == "__main__":
    main()
