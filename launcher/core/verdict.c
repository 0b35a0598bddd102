#include "launcher/core/verdict.h"

#include <errno.h>
#include <stdlib.h>

void verdict_fini(struct verdict *v)
{
    free(v->host);
    free(v->gpu);
    free(v->tail);
    free(v->error);
    free(v->cause);
    free(v->differs);
    free(v->stacks);
    *v = (struct verdict){0};
}

static int worker_status(const struct worker_end *end)
{
    switch (end->kind) {
    case END_EXIT:
        return end->code;
    case END_SIGNAL:
        return 128 + end->code;
    case END_EXEC:
        if (end->code == ENOENT || end->code == ENOTDIR)
            return err_exit_status(ERR_NOT_FOUND);
        if (end->code == EACCES || end->code == ENOEXEC || end->code == EISDIR
            || end->code == EPERM)
            return err_exit_status(ERR_NOT_EXECUTABLE);
        return err_exit_status(ERR_SYSTEM);
    case END_UNKNOWN:
        break;
    }
    return err_exit_status(ERR_SYSTEM);
}

int verdict_exit_status(const struct verdict *v)
{
    switch (v->kind) {
    case VERDICT_OK:
        return 0;
    case VERDICT_WORKER:
        return worker_status(&v->end);
    case VERDICT_SIGNAL:
        return 128 + v->signo;
    case VERDICT_ERROR:
    case VERDICT_NODE_LOST:
        return err_exit_status(v->err.code);
    case VERDICT_TIME_LIMIT:
    case VERDICT_HANG:
        return err_exit_status(ERR_TIME_LIMIT);
    }
    return err_exit_status(ERR_INTERNAL);
}
