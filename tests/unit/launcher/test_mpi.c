/* mpi: which process manager a program wants, and what the end of a rank means. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/core/mpi.h"

static void modes(void **state)
{
    (void)state;
    enum mpi_mode mode = MPI_MODE_AUTO;
    for (int i = 0; i < MPI_MODE_COUNT; i++) {
        assert_int_equal(mpi_mode_parse(str_from(mpi_mode_name((enum mpi_mode)i)), &mode), 0);
        assert_int_equal(mode, i);
    }
    assert_int_equal(mpi_mode_parse(str_from("pmix2"), &mode), -1);
    assert_int_equal(mpi_mode_parse(str_from(""), &mode), -1);
}

static void libraries(void **state)
{
    (void)state;
    assert_int_equal(mpi_mode_of_library(str_from("libmpi.so.40")), MPI_MODE_PMIX);
    assert_int_equal(mpi_mode_of_library(str_from("libmpich.so.12")), MPI_MODE_PMI);
    assert_int_equal(mpi_mode_of_library(str_from("libmpi.so.12")), MPI_MODE_PMI);
    assert_int_equal(mpi_mode_of_library(str_from("libmpi.so")), MPI_MODE_NONE);
    assert_int_equal(mpi_mode_of_library(str_from("libmpi_cxx.so.40")), MPI_MODE_NONE);
    assert_int_equal(mpi_mode_of_library(str_from("libc.so.6")), MPI_MODE_NONE);
    assert_int_equal(mpi_mode_of_library((struct str){NULL, 0}), MPI_MODE_NONE);
}

/* The least of an ELF file: one loaded segment that is the whole file, and its dynamic part. */
struct program {
    Elf64_Ehdr header;
    Elf64_Phdr load, dynamic;
    Elf64_Dyn needed[2], names, end;
    char text[48];
};

enum { BASE = 0x1000 };

static void make_program(struct program *p, const char *library)
{
    memset(p, 0, sizeof *p);
    memcpy(p->header.e_ident, ELFMAG, SELFMAG);
    p->header.e_ident[EI_CLASS] = ELFCLASS64;
    p->header.e_phoff = offsetof(struct program, load);
    p->header.e_phnum = 2;
    p->header.e_phentsize = sizeof p->load;
    p->load = (Elf64_Phdr){.p_type = PT_LOAD, .p_vaddr = BASE, .p_filesz = sizeof *p};
    p->dynamic = (Elf64_Phdr){.p_type = PT_DYNAMIC,
                              .p_offset = offsetof(struct program, needed),
                              .p_filesz = 4 * sizeof(Elf64_Dyn)};
    memcpy(p->text + 1, "libc.so.6", 10);
    strcpy(p->text + 16, library);
    p->needed[0] = (Elf64_Dyn){.d_tag = DT_NEEDED, .d_un.d_val = 1};
    p->needed[1] = (Elf64_Dyn){.d_tag = DT_NEEDED, .d_un.d_val = 16};
    p->names =
        (Elf64_Dyn){.d_tag = DT_STRTAB, .d_un.d_ptr = BASE + offsetof(struct program, text)};
}

static void programs(void **state)
{
    (void)state;
    if (sizeof(void *) != 8)
        skip();
    struct program p;
    struct str library = {NULL, 0};
    make_program(&p, "libmpi.so.40");
    assert_int_equal(mpi_mode_of_program(&p, sizeof p, &library), MPI_MODE_PMIX);
    assert_true(str_eq(library, "libmpi.so.40"));
    make_program(&p, "libmpich.so.12");
    assert_int_equal(mpi_mode_of_program(&p, sizeof p, &library), MPI_MODE_PMI);
    assert_false(mpi_library_needs_pmix(&p, sizeof p));
    make_program(&p, "libpmix.so.2");
    assert_true(mpi_library_needs_pmix(&p, sizeof p));
    assert_false(mpi_library_needs_pmix(&p, sizeof p / 2));
    make_program(&p, "libm.so.6");
    assert_int_equal(mpi_mode_of_program(&p, sizeof p, &library), MPI_MODE_NONE);
    assert_int_equal(mpi_mode_of_program("#!/bin/sh\n", 10, &library), MPI_MODE_NONE);
    assert_int_equal(mpi_mode_of_program("", 0, &library), MPI_MODE_NONE);
}

/* Cut anywhere, and with any one byte wrong: an answer, and no read outside (sanitizers). */
static void broken_programs(void **state)
{
    (void)state;
    struct program p;
    struct str library;
    make_program(&p, "libmpi.so.40");
    for (size_t n = 0; n < sizeof p; n++) {
        unsigned char *copy = mem_dup(&p, n ? n : 1);
        mpi_mode_of_program(copy, n, &library);
        mpi_library_needs_pmix(copy, n);
        free(copy);
    }
    unsigned char *copy = mem_dup(&p, sizeof p);
    for (size_t i = 0; i < sizeof p; i++)
        for (int value = 0x7f; value <= 0xff; value += 0x80) {
            unsigned char was = copy[i];
            copy[i] = (unsigned char)value;
            mpi_mode_of_program(copy, sizeof p, &library);
            mpi_library_needs_pmix(copy, sizeof p);
            copy[i] = was;
        }
    free(copy);
}

static const char *judge(enum mpi_state rank, int abort_code, struct worker_end *end)
{
    static char text[256];
    struct buf why;
    buf_init(&why, 0);
    mpi_judge_end(rank, abort_code, end, &why);
    strncpy(text, buf_str(&why), sizeof text - 1);
    buf_fini(&why);
    return text;
}

static void assert_end(const struct worker_end *end, enum end_kind kind, int code)
{
    assert_int_equal(end->kind, kind);
    assert_int_equal(end->code, code);
}

static void ends_that_stay(void **state)
{
    (void)state;
    static const struct worker_end ends[] = {
        {END_EXIT, 0, false}, {END_EXIT, 3, false}, {END_SIGNAL, 9, false}};
    for (size_t i = 0; i < 3; i++) {
        struct worker_end end = ends[i];
        assert_string_equal(judge(MPI_STATE_OUTSIDE, 0, &end), "");
        assert_string_equal(judge(MPI_STATE_FINALIZED, 0, &end), "");
        assert_end(&end, ends[i].kind, ends[i].code);
    }
    struct worker_end end = {END_EXIT, 3, false};
    assert_string_equal(judge(MPI_STATE_INSIDE, 0, &end), "");
    assert_end(&end, END_EXIT, 3);
    end = (struct worker_end){END_SIGNAL, 11, true};
    assert_string_equal(judge(MPI_STATE_INSIDE, 0, &end), "");
    assert_end(&end, END_SIGNAL, 11);
}

static void ends_that_change(void **state)
{
    (void)state;
    struct worker_end end = {END_EXIT, 0, false};
    assert_non_null(strstr(judge(MPI_STATE_INSIDE, 0, &end), "without MPI_Finalize"));
    assert_end(&end, END_EXIT, 1);
    end = (struct worker_end){END_SIGNAL, 6, true};
    assert_string_equal(judge(MPI_STATE_ABORTED, 7, &end), "it called MPI_Abort with code 7");
    assert_end(&end, END_EXIT, 7);
    end = (struct worker_end){END_EXIT, 0, false};
    judge(MPI_STATE_ABORTED, 0, &end);
    assert_end(&end, END_EXIT, 1);
    judge(MPI_STATE_ABORTED, 256, &end); /* a process can say 8 bits, and 0 is success */
    assert_end(&end, END_EXIT, 1);
    judge(MPI_STATE_ABORTED, -1, &end);
    assert_end(&end, END_EXIT, 255);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modes),          cmocka_unit_test(libraries),
        cmocka_unit_test(programs),       cmocka_unit_test(broken_programs),
        cmocka_unit_test(ends_that_stay), cmocka_unit_test(ends_that_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
