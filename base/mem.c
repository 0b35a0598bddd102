#include "base/mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((noreturn)) static void die(void)
{
    static const char line[] = "muster: out of memory\n";
    ssize_t n = write(2, line, sizeof line - 1);
    (void)n;
    _exit(125);
}

static unsigned long fail_in;

static void *check(void *p)
{
    if (p && !(fail_in && --fail_in == 0))
        return p;
    die();
}

static size_t product(size_t n, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes) || bytes > PTRDIFF_MAX)
        die();
    return bytes ? bytes : 1;
}

void *mem_alloc(size_t n, size_t size)
{
    return check(calloc(1, product(n, size)));
}

void *mem_realloc(void *p, size_t n, size_t size)
{
    return check(realloc(p, product(n, size)));
}

char *mem_strdup(const char *s)
{
    return s ? mem_dup(s, strlen(s) + 1) : NULL;
}

void *mem_dup(const void *p, size_t n)
{
    void *copy = check(malloc(n ? n : 1));
    if (n)
        memcpy(copy, p, n);
    return copy;
}

char *mem_printf(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    size_t size = n < 0 ? 1 : (size_t)n + 1;
    char *s = mem_alloc(size, 1);
    va_start(ap, fmt);
    vsnprintf(s, size, fmt, ap);
    va_end(ap);
    return s;
}

void mem_grow(void **items, size_t len, size_t *cap, size_t size)
{
    if (len < *cap)
        return;
    size_t want = *cap ? *cap * 2 : 8;
    *items = mem_realloc(*items, want, size);
    *cap = want;
}

void mem_fail_at(unsigned long k)
{
    fail_in = k;
}
