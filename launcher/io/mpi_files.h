/* mpi_files.h - the private folders of an MPI job on this node: one for sockets and session
 * files, one in shared memory for what ranks map together. Removed with all that is in them.
 */
#ifndef MUSTER_LAUNCHER_IO_MPI_FILES_H
#define MUSTER_LAUNCHER_IO_MPI_FILES_H

#include "base/err.h"
#include "launcher/io/guard.h"

struct mpi_files {
    char *dir;     /* below $TMPDIR or /tmp; NULL = not made */
    char *shm_dir; /* below /dev/shm; NULL = cannot be had */
};

/* Makes both, mode 0700, and tells the guard (may be NULL), which removes them if muster is
 * killed. 0, or -1 with ERR_SYSTEM when dir cannot be made. */
int mpi_files_make(struct mpi_files *f, struct guard *guard, struct err *e);
void mpi_files_remove(struct mpi_files *f);

#endif
