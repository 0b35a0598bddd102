/* pmi_server.h - PMI-1 for the ranks of a node: one socket pair a rank, of which the worker
 * inherits one end. Carries bytes; core/pmi_job answers.
 */
#ifndef MUSTER_LAUNCHER_IO_PMI_SERVER_H
#define MUSTER_LAUNCHER_IO_PMI_SERVER_H

#include "launcher/io/mpi_service.h"

extern const struct mpi_service pmi_service;

#endif
