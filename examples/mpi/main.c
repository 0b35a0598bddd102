/* An MPI program: every rank says who it is, passes a message round the ring and adds up all
 * ranks.
 *
 *     mpi-hello            exit 0
 *     mpi-hello CASE [N]   the rank N (default 1) does something else after MPI_Init, while the
 *                          others wait for it: abort (MPI_Abort with 7), exit (3, without
 *                          MPI_Finalize), leave (0, likewise), wait (all wait for a signal)
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int ring(int rank, int size)
{
    int token = rank, left = (rank + size - 1) % size, right = (rank + 1) % size;
    MPI_Sendrecv_replace(&token, 1, MPI_INT, right, 0, left, 0, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
    return token == left;
}

static void misbehave(const char *name)
{
    if (strcmp(name, "abort") == 0)
        MPI_Abort(MPI_COMM_WORLD, 7);
    if (strcmp(name, "exit") == 0)
        exit(3);
    if (strcmp(name, "leave") == 0)
        exit(0);
    if (strcmp(name, "wait") == 0)
        for (;;)
            pause();
}

static void announce(int rank)
{
    char path[32];
    snprintf(path, sizeof path, "up.%d", rank);
    FILE *file = fopen(path, "w");
    if (file) {
        fprintf(file, "%d\n", (int)getpid());
        fclose(file);
    }
}

int main(int argc, char **argv)
{
    int rank, size, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 1) {
        if (strcmp(argv[1], "wait") == 0)
            announce(rank);
        if (strcmp(argv[1], "wait") == 0 || rank == (argc > 2 ? atoi(argv[2]) : 1))
            misbehave(argv[1]);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    int is_passed = ring(rank, size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("rank %d of %d: sum of ranks %d, ring %s\n", rank, size, sum,
           is_passed ? "ok" : "broken");
    MPI_Finalize();
    return is_passed && sum == size * (size - 1) / 2 ? 0 : 1;
}
