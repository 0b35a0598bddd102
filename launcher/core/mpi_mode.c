#include "launcher/core/mpi_mode.h"

#include <assert.h>

#define X(name, spelling) [MPI_MODE_##name] = spelling,
static const char *const mode_names[] = {MPI_MODES(X)};
#undef X
static_assert(sizeof mode_names / sizeof *mode_names == MPI_MODE_COUNT, "one name each");

const char *mpi_mode_name(enum mpi_mode mode)
{
    return mode_names[mode];
}

int mpi_mode_parse(struct str s, enum mpi_mode *out)
{
    for (int i = 0; i < MPI_MODE_COUNT; i++) {
        if (!str_eq(s, mode_names[i]))
            continue;
        *out = (enum mpi_mode)i;
        return 0;
    }
    return -1;
}
