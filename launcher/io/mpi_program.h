/* mpi_program.h - which process manager a program's file asks for.
 */
#ifndef MUSTER_LAUNCHER_IO_MPI_PROGRAM_H
#define MUSTER_LAUNCHER_IO_MPI_PROGRAM_H

#include "launcher/core/facts.h"
#include "launcher/core/mpi_mode.h"

/* By the libraries that the program names. MPICH may have been built for PMI-1 or for PMIx,
 * which its own file tells, looked for in LD_LIBRARY_PATH and where the system has its
 * libraries; PMI-1 where it is not found. MPI_MODE_NONE for what is no MPI program, or cannot
 * be read. */
enum mpi_mode mpi_program_mode(const char *program, const struct facts *facts);

#endif
