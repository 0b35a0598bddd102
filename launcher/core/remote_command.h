/* remote_command.h - the command lines by which engines start `muster agent` on other nodes.
 *
 * Owns the words and their order, nothing else: whoever runs them is io. The secret is in none
 * of them; it travels in the boot record, over the command's standard input.
 */
#ifndef MUSTER_LAUNCHER_CORE_REMOTE_COMMAND_H
#define MUSTER_LAUNCHER_CORE_REMOTE_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* A command line; words is NULL-terminated, all owned. */
struct argv {
    char **words;
    size_t n, cap;
};

/* Frees the words; the list is empty then. Zero-initialised memory is an empty list. */
void argv_fini(struct argv *argv);

enum { REMOTE_TOKEN_DIGITS = 16 };

/* One agent on one host. */
struct remote_ssh {
    const char *ssh; /* --ssh, a program; NULL = ssh */
    const char *const
        *args;          /* --ssh-arg, NULL-terminated, first: ssh keeps the first setting */
    uint16_t port;      /* 0 = not given */
    const char *user;   /* NULL = not given */
    const char *host;   /* without brackets */
    const char *muster; /* its path there, absolute */
    const char *token;  /* REMOTE_TOKEN_DIGITS lower-case hexadecimal digits; NULL with words */
    const char *const *words; /* NULL-terminated: run these of muster instead of an agent */
};

/* All fill out and return 0, or -1 with ERR_USAGE where a word could be taken for an option or
 * the path cannot be quoted; then there is nothing to free. */
int remote_ssh_argv(const struct remote_ssh *r, struct argv *out, struct err *e);

/* One agent on each of nnodes nodes of the allocation. */
struct remote_srun {
    uint32_t nnodes;
    const char *nodelist; /* NULL = any of the allocation */
    uint32_t gpus;        /* of each node, SLURM_GPUS_ON_NODE; 0 = none asked for */
    const char *muster, *token;
};
int remote_srun_argv(const struct remote_srun *r, struct argv *out, struct err *e);

/* Variables that must not reach srun: with them a step gets one GPU a node. NULL-terminated. */
const char *const *remote_srun_hidden(void);

/* The same by Open MPI or PRRTE, or by Hydra. */
struct remote_mpi {
    bool is_hydra;
    const char *launcher; /* NULL = mpirun, mpiexec.hydra */
    uint32_t nnodes;
    const char *hosts; /* commas between; NULL = those that the launcher knows of */
    const char *muster;
    const char *boot_file; /* absolute; standard input reaches rank 0 only */
};
int remote_mpi_argv(const struct remote_mpi *r, struct argv *out, struct err *e);

#endif
