#include "launcher/core/gpu_error.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

static const char *const error_names[] = {[GPU_OK] = "OK",
#define X(name) [GPU_E_##name] = "E_" #name,
                                          GPU_ERRORS(X)
#undef X
};
static_assert(sizeof error_names / sizeof error_names[0] == GPU_ERROR_COUNT, "one name each");

static const char *const warning_names[] = {
#define X(name) [GPU_W_##name] = "W_" #name,
    GPU_WARNINGS(X)
#undef X
};
static_assert(sizeof warning_names / sizeof warning_names[0] == GPU_WARNING_COUNT,
              "one name each");

void gpu_one_line(char *text)
{
    for (char *p = text; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            *p = '?';
}

int gpu_fail(struct gpu_fault *f, enum gpu_error class, const char *fmt, ...)
{
    f->class = class;
    if (!f->e)
        return -1;
    char text[sizeof f->e->text];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    gpu_one_line(text);
    return err_set(f->e, ERR_GPU_REQUEST, "%s", text);
}

const char *gpu_error_name(enum gpu_error class)
{
    return error_names[class];
}

const char *gpu_warning_name(enum gpu_warning w)
{
    return warning_names[w];
}
