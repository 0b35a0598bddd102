#include "launcher/core/mpi.h"

#include <elf.h>
#include <string.h>

/* Names that their distributions agree on: libmpi.so.40 is Open MPI since version 3,
 * libmpi.so.12 the ABI that MPICH 3 and 4, Intel MPI and MVAPICH share, libmpich Debian's name
 * for it. A bare libmpi.so says nothing. */
static const struct {
    const char *prefix;
    enum mpi_mode mode;
} libraries[] = {
    {"libmpi.so.40", MPI_MODE_PMIX},
    {"libmpi.so.12", MPI_MODE_PMI},
    {"libmpich.so.", MPI_MODE_PMI},
};

enum mpi_mode mpi_mode_of_library(struct str soname)
{
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        if (str_starts(soname, libraries[i].prefix))
            return libraries[i].mode;
    return MPI_MODE_NONE;
}

/* ---- the ELF file: every offset in it may be wrong ---- */

#if UINTPTR_MAX > UINT32_MAX
typedef Elf64_Ehdr elf_header;
typedef Elf64_Phdr elf_segment;
typedef Elf64_Dyn elf_entry;
enum { ELF_CLASS = ELFCLASS64 };
#else
typedef Elf32_Ehdr elf_header;
typedef Elf32_Phdr elf_segment;
typedef Elf32_Dyn elf_entry;
enum { ELF_CLASS = ELFCLASS32 };
#endif

static int copy_at(struct str image, uint64_t offset, void *to, size_t n)
{
    if (offset > image.n || image.n - offset < n)
        return -1;
    memcpy(to, image.p + offset, n);
    return 0;
}

static int segment_at(struct str image, const elf_header *header, unsigned i,
                      elf_segment *segment)
{
    if (header->e_phentsize < sizeof *segment)
        return -1;
    return copy_at(image, header->e_phoff + (uint64_t)i * header->e_phentsize, segment,
                   sizeof *segment);
}

/* The part of the file from a virtual address on, to the end of its segment. */
static struct str at_address(struct str image, const elf_header *header, uint64_t address)
{
    elf_segment s;
    for (unsigned i = 0; i < header->e_phnum && segment_at(image, header, i, &s) == 0; i++) {
        uint64_t skip = address - s.p_vaddr;
        if (s.p_type != PT_LOAD || address < s.p_vaddr || skip >= s.p_filesz
            || s.p_offset > image.n || skip >= image.n - s.p_offset)
            continue;
        uint64_t left = s.p_filesz - skip, have = image.n - s.p_offset - skip;
        return (struct str){image.p + s.p_offset + skip, (size_t)(left < have ? left : have)};
    }
    return (struct str){NULL, 0};
}

static int find_dynamic(struct str image, const elf_header *header, elf_segment *out)
{
    for (unsigned i = 0; i < header->e_phnum && segment_at(image, header, i, out) == 0; i++)
        if (out->p_type == PT_DYNAMIC)
            return 0;
    return -1;
}

static int entry_at(struct str image, const elf_segment *dynamic, size_t i, elf_entry *out)
{
    if (i >= dynamic->p_filesz / sizeof *out || dynamic->p_offset > image.n
        || copy_at(image, dynamic->p_offset + i * sizeof *out, out, sizeof *out) < 0)
        return -1;
    return out->d_tag == DT_NULL ? -1 : 0;
}

static struct str name_at(struct str names, uint64_t offset)
{
    if (offset >= names.n)
        return (struct str){NULL, 0};
    const char *end = memchr(names.p + offset, '\0', (size_t)(names.n - offset));
    const char *start = names.p + offset;
    return end ? (struct str){start, (size_t)(end - start)} : (struct str){NULL, 0};
}

/* The libraries that a file names itself, one after the other. */
struct needed {
    struct str file, names;
    elf_segment dynamic;
    size_t next;
};

static int needed_open(struct needed *n, const void *image, size_t size)
{
    elf_header header;
    elf_entry entry;
    *n = (struct needed){.file = {image, size}};
    if (copy_at(n->file, 0, &header, sizeof header) < 0
        || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELF_CLASS
        || find_dynamic(n->file, &header, &n->dynamic) < 0)
        return -1;
    for (size_t i = 0; entry_at(n->file, &n->dynamic, i, &entry) == 0; i++)
        if (entry.d_tag == DT_STRTAB) {
            n->names = at_address(n->file, &header, entry.d_un.d_ptr);
            return 0;
        }
    return -1;
}

static bool needed_next(struct needed *n, struct str *name)
{
    elf_entry entry;
    while (entry_at(n->file, &n->dynamic, n->next, &entry) == 0) {
        n->next++;
        if (entry.d_tag != DT_NEEDED)
            continue;
        *name = name_at(n->names, entry.d_un.d_val);
        return true;
    }
    return false;
}

enum mpi_mode mpi_mode_of_program(const void *image, size_t size, struct str *library)
{
    struct needed n;
    enum mpi_mode mode = MPI_MODE_NONE;
    if (needed_open(&n, image, size) < 0)
        return mode;
    while (mode == MPI_MODE_NONE && needed_next(&n, library))
        mode = mpi_mode_of_library(*library);
    return mode;
}

bool mpi_library_needs_pmix(const void *image, size_t size)
{
    struct needed n;
    struct str name;
    if (needed_open(&n, image, size) < 0)
        return false;
    while (needed_next(&n, &name))
        if (str_starts(name, "libpmix.so."))
            return true;
    return false;
}

/* ---- the end of a rank ---- */

static void set_exit(struct worker_end *end, int code)
{
    *end = (struct worker_end){.kind = END_EXIT, .code = code};
}

void mpi_judge_end(enum mpi_state state, int abort_code, struct worker_end *end,
                   struct buf *why)
{
    switch (state) {
    case MPI_STATE_OUTSIDE:
    case MPI_STATE_FINALIZED:
        return;
    case MPI_STATE_INSIDE:
        if (end->kind != END_EXIT || end->code != 0)
            return;
        buf_adds(why, "it exited with 0 after MPI_Init and without MPI_Finalize; the other "
                      "ranks would have waited for it, so this counts as 1");
        set_exit(end, 1);
        return;
    case MPI_STATE_ABORTED:
        buf_addf(why, "it called MPI_Abort with code %d", abort_code);
        set_exit(end, abort_code & 0xff ? abort_code & 0xff : 1);
        return;
    }
}
