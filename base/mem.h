/* mem.h - allocation that succeeds or ends the program.
 *
 * For the launcher and the worker: out of memory ends the process with status 125, in one
 * place. Code that must survive it (the store server) bounds its buffers instead and refuses
 * before it allocates. Tests make the k-th allocation fail.
 */
#ifndef MUSTER_BASE_MEM_H
#define MUSTER_BASE_MEM_H

#include <stddef.h>

/* Zeroed memory; free with free(). n may be 0. Overflow of n * size ends the program too. */
void *mem_alloc(size_t n, size_t size);

/* As realloc(p, n * size); the new part is not zeroed. */
void *mem_realloc(void *p, size_t n, size_t size);

/* Copies; free with free(). mem_strdup(NULL) is NULL. */
char *mem_strdup(const char *s);
void *mem_dup(const void *p, size_t n);

/* A new string from a format; free with free(). */
char *mem_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Makes room for one more element in the array *items of *cap elements, len of them used.
 * Doubles. */
void mem_grow(void **items, size_t len, size_t *cap, size_t size);
#define array_grow(items, len, cap) mem_grow((void **)&(items), (len), &(cap), sizeof *(items))

/* Test seam: the k-th allocation from now (1 = the next) is treated as failed; 0 switches it
 * off. */
void mem_fail_at(unsigned long k);

#endif
