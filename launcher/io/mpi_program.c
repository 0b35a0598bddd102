#include "launcher/io/mpi_program.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "launcher/core/mpi.h"

#if defined __aarch64__
#define TRIPLET "aarch64-linux-gnu"
#else
#define TRIPLET "x86_64-linux-gnu"
#endif

static const char system_folders[] =
    "/lib/" TRIPLET ":/usr/lib/" TRIPLET ":/lib64:/usr/lib64:/usr/lib:/usr/local/lib";

/* A mapped file; p is NULL if it cannot be had. */
static struct str map_file(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return (struct str){NULL, 0};
    void *image = MAP_FAILED;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
        image = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    return image == MAP_FAILED ? (struct str){NULL, 0}
                               : (struct str){image, (size_t)st.st_size};
}

static void unmap_file(struct str file)
{
    munmap((void *)(uintptr_t)file.p, file.n);
}

/* The first of that name in a list of folders. */
static struct str map_library(const char *folders, struct str name)
{
    struct str rest = str_from(folders), folder, file = {NULL, 0};
    while (!file.p && str_split(&rest, ':', &folder)) {
        char *path = folder.n ? mem_printf("%.*s/%.*s", STR_ARG(folder), STR_ARG(name)) : NULL;
        if (path)
            file = map_file(path);
        free(path);
    }
    return file;
}

static bool is_for_pmix(struct str library, const struct facts *facts)
{
    const char *own = facts_getenv(facts, "LD_LIBRARY_PATH");
    struct str file = map_library(own ? own : "", library);
    if (!file.p)
        file = map_library(system_folders, library);
    if (!file.p)
        return false;
    bool is = mpi_library_needs_pmix(file.p, file.n);
    unmap_file(file);
    return is;
}

enum mpi_mode mpi_program_mode(const char *program, const struct facts *facts)
{
    struct str library, file = map_file(program);
    if (!file.p)
        return MPI_MODE_NONE;
    enum mpi_mode mode = mpi_mode_of_program(file.p, file.n, &library);
    if (mode == MPI_MODE_PMI && is_for_pmix(library, facts))
        mode = MPI_MODE_PMIX;
    unmap_file(file);
    return mode;
}
