#include "launcher/io/mpi_files.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "launcher/io/folder.h"

static char *make_below(const char *parent)
{
    char *dir = mem_printf("%s/muster-mpi-XXXXXX", parent);
    if (mkdtemp(dir))
        return dir;
    int why = errno;
    free(dir);
    errno = why;
    return NULL;
}

int mpi_files_make(struct mpi_files *f, struct guard *guard, struct err *e)
{
    const char *tmp = getenv("TMPDIR");
    tmp = tmp && *tmp ? tmp : "/tmp";
    f->dir = make_below(tmp);
    if (!f->dir)
        return err_sys(e, errno, "cannot make a folder below %s for MPI", tmp);
    guard_note_folder(guard, f->dir);
    f->shm_dir = make_below("/dev/shm");
    if (f->shm_dir)
        guard_note_folder(guard, f->shm_dir);
    return 0;
}

static void remove_one(char **dir)
{
    if (*dir)
        folder_remove(*dir);
    free(*dir);
    *dir = NULL;
}

void mpi_files_remove(struct mpi_files *f)
{
    remove_one(&f->dir);
    remove_one(&f->shm_dir);
}
